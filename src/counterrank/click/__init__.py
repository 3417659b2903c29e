"""Click models: how users turn a ranking into clicks."""

from __future__ import annotations

from typing import Any, cast

from counterrank.click.base import ClickModel
from counterrank.click.bayesian import DynamicBayesian, fit_bayesian, fit_simplified
from counterrank.click.cascade import Cascade, fit_cascade
from counterrank.click.click_chain import ClickChain, fit_click_chain
from counterrank.click.counts import ClickCounts
from counterrank.click.curve import Curve, fit_curve
from counterrank.click.dependent import DependentClick, fit_dependent, fit_dependent_ml
from counterrank.click.empirical import EmpiricalFit, fit_empirical
from counterrank.click.examination import ExaminationFit, fit_examination
from counterrank.click.fit import Fit, Fitter, Looks, Options, Scope
from counterrank.click.harvest import harvest_examination
from counterrank.click.position_based import (
    PositionBased,
    fit_position_based,
    fit_position_based_empirical,
    fit_position_based_paper,
)
from counterrank.click.rates import (
    GlobalRate,
    ItemRate,
    RankRate,
    fit_global_rate,
    fit_item_rate,
    fit_rank_rate,
)
from counterrank.click.user_browsing import UserBrowsing, fit_user_browsing
from counterrank.registry import Registry, subclass_of

CLICK_MODELS: dict[str, type[ClickModel]] = {
    "ctr": GlobalRate,
    "rank-ctr": RankRate,
    "item-ctr": ItemRate,
    "cm": Cascade,
    "dcm": DependentClick,
    "pbm": PositionBased,
    "ubm": UserBrowsing,
    "dbn": DynamicBayesian,
    "ccm": ClickChain,
}


def _admit(name: str, value: Any) -> Fitter:
    """How a click model of another package is fitted."""
    return cast(Fitter, subclass_of(ClickModel)(name, value).fit)


FITS: Registry[Fitter] = Registry("click model", "counterrank.click_models", _admit, {
    "ctr": fit_global_rate,
    "rank-ctr": fit_rank_rate,
    "item-ctr": fit_item_rate,
    "cm": fit_cascade,
    "dcm": fit_dependent,
    "dcm-ml": fit_dependent_ml,
    "pbm": fit_position_based,
    "pbm-paper": fit_position_based_paper,
    "ubm": fit_user_browsing,
    "sdbn": fit_simplified,
    "dbn": fit_bayesian,
    "ccm": fit_click_chain,
})  # fmt: skip
EMPIRICAL: dict[str, Fitter] = {"pbm": fit_position_based_empirical}  # with a prior of attractions fitted along
CLOSED = ("ctr", "rank-ctr", "item-ctr", "cm", "dcm", "pbm-paper", "sdbn")  # no iterations, no patterns


def fit_clicks(
    model: str,
    counts: ClickCounts,
    *,
    prior: tuple[float, float] = (1.0, 1.0),
    scope: Scope = "pooled",
    iterations: int | None = None,
) -> Fit:
    """Fit the model of this name: posterior means under Beta(`prior`), position parameters pooled or per query.

    >>> from counterrank.setting.click_counts import count_clicks
    >>> log = {"query": ["q"] * 4, "items": [["a", "b"]] * 4, "clicks": [[1, 0], [0, 1], [0, 0], [1, 1]]}
    >>> fit_clicks("cm", count_clicks(log)).model.attraction.tolist()
    [0.5, 0.5]
    """
    if model not in FITS:
        raise FITS.unknown(model)
    options = Options(prior, scope) if iterations is None else Options(prior, scope, iterations)
    return FITS[model](counts, options)


__all__ = [
    "CLICK_MODELS",
    "CLOSED",
    "EMPIRICAL",
    "FITS",
    "Cascade",
    "ClickChain",
    "ClickCounts",
    "ClickModel",
    "Curve",
    "DependentClick",
    "DynamicBayesian",
    "EmpiricalFit",
    "ExaminationFit",
    "Fit",
    "GlobalRate",
    "ItemRate",
    "Looks",
    "Options",
    "PositionBased",
    "RankRate",
    "Scope",
    "UserBrowsing",
    "fit_clicks",
    "fit_curve",
    "fit_empirical",
    "fit_examination",
    "harvest_examination",
]
