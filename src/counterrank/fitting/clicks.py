"""Click models fitted to a log and compared on clicks that they were not fitted to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from counterrank.click import EMPIRICAL, FITS, Fit, Options
from counterrank.click.counts import ClickCounts
from counterrank.click.fit import ITERATIONS, Scope
from counterrank.click.score import FLOOR, Score, score
from counterrank.engine import Engine, open_engine
from counterrank.errors import InputError
from counterrank.fitting.curve import position_curve
from counterrank.fitting.holdout import Halves, part
from counterrank.fitting.result import ClickComparison, ModelRow
from counterrank.log import read_log
from counterrank.posterior import choose_prior, read_prior
from counterrank.setting.options import check_top
from counterrank.statistics.patterns import Patterns

MANY_UNSEEN = 0.05


def clicks(
    log: Any,
    *,
    test: Any = None,
    holdout: float = 0.2,
    split: str = "impression",
    models: str | Sequence[str] | None = None,
    top: int | None = None,
    prior: str | tuple[float, float] = "fit",
    scope: Scope = "pooled",
    iterations: int = ITERATIONS,
    engine: str | Engine = "duckdb",
) -> ClickComparison:
    """Fit click models and compare them by held-out log-likelihood, with perplexity beside it.

    Judged on `test`, another log, or on a part of the log: `holdout` of its impressions by hash, or its last days with
    `split="day"`. Pairs that were not in the part fitted to get the prior's mean. `prior`: `"fit"` and `"grid"` choose
    one for attractions by empirical Bayes (for `pbm` together with the curve), and 1, 1 for other chances; (α, β) holds
    for every chance.

    >>> log = {"query": ["q"] * 40, "items": [["a", "b"], ["b", "a"]] * 20, "clicks": [[1, 0], [0, 1]] * 20}
    >>> clicks(log, models="rank-ctr,item-ctr").best
    'item-ctr'
    """
    names = model_names(models)
    check_top(top)
    halves = part(read_log(log), None if test is None else read_log(test), holdout, split, top, open_engine(engine))
    return judge(halves, names, read_prior(prior) if isinstance(prior, str) else prior, scope, iterations)


def judge(
    halves: Halves,
    names: Sequence[str],
    prior: str | tuple[float, float],
    scope: Scope,
    iterations: int,
    tell: Callable[[str], object] = lambda what: None,
) -> ClickComparison:
    """Fit to one half, judge on the other; `tell` hears what begins."""
    fits, scores, priors = {}, {}, {}
    for name in names:
        tell(f"fitting {name}")
        fits[name], priors[name] = _fit(name, halves.train, prior, scope, iterations)
        scores[name] = score(fits[name].model, halves.test)
    best = {
        "perplexity": min(names, key=lambda name: scores[name].perplexity),
        "log_likelihood": max(names, key=lambda name: scores[name].log_likelihood),
    }
    rows = [
        _row(name, fits[name], priors[name], scores, best)
        for name in sorted(names, key=lambda name: -scores[name].log_likelihood)
    ]
    tell("the position curve")
    curve, notes = position_curve(halves.log, _fit("pbm", halves.log, prior, "pooled", iterations)[0])
    return ClickComparison(
        impressions=halves.train.total,
        test_impressions=halves.test.total,
        queries=int((halves.train.impressions > 0).sum()),
        pairs=int((np.diff(halves.train.cells.starts) > 0).sum()),
        positions=halves.pairs.positions,
        judged_on=halves.told,
        prior=prior if isinstance(prior, str) else (float(prior[0]), float(prior[1])),
        scope=scope,
        best=best["log_likelihood"],
        best_perplexity=best["perplexity"],
        models=rows,
        curve=curve,
        notes=[
            *_unseen(halves, priors[best["log_likelihood"]], isinstance(prior, str)),
            *notes,
            *halves.reading.notes,
        ],
        reading=halves.reading,
        attractions=lambda: _attractions(halves.whole(), list(names), prior, scope, iterations),
    )


def model_names(models: str | Sequence[str] | None) -> list[str]:
    """Names of click models as users write them; all where none are given."""
    given = FITS.usual() if models is None else models.split(",") if isinstance(models, str) else list(models)
    names = list(dict.fromkeys(name.strip() for name in given if name.strip()))
    for name in names:
        if name not in FITS:
            raise FITS.unknown(name)
    if not names:
        raise InputError(f"no click model was named: choose from {', '.join(FITS.names())}")
    return names


def _fit(
    name: str, counts: ClickCounts, prior: str | tuple[float, float], scope: Scope, iterations: int
) -> tuple[Fit, tuple[float, float]]:
    """A model fitted, and the prior of its attractions; where that is chosen from the evidence, in two rounds."""
    chosen = (1.0, 1.0) if isinstance(prior, str) else prior
    if prior == "fit" and scope == "pooled" and name in EMPIRICAL:
        fit = EMPIRICAL[name](counts, Options(iterations=iterations))
        return fit, (fit.looks.prior if fit.looks is not None else None) or chosen
    fit = FITS[name](counts, Options(chosen, scope, iterations))
    if not isinstance(prior, str):
        return fit, chosen
    for _ in range(2):
        if fit.looks is None:
            break
        found = choose_prior(prior, fit.looks.clicks, fit.looks.looks, counts.pairs.starts, "global").pair
        chosen = found if found is not None else chosen
        fit = FITS[name](counts, Options(chosen, scope, iterations, others=(1.0, 1.0)))
    return fit, chosen


def _row(name: str, fit: Fit, prior: tuple[float, float], scores: dict[str, Score], best: dict[str, str]) -> ModelRow:
    own = scores[name]
    behind, behind_error = scores[best["perplexity"]].better(own)["perplexity"]
    less, error = scores[best["log_likelihood"]].better(own)["log_likelihood"]
    notes = list(fit.notes)
    if own.impossible:
        notes.append(
            f"gave no chance to what happened on {own.impossible:,} of {int(own.impressions.sum()):,} held-out "
            f"impressions (a chance below {FLOOR:g} counts as {FLOOR:g})"
        )
    return ModelRow(
        model=name,
        assumption=fit.model.assumption,
        perplexity=own.perplexity,
        log_likelihood=own.log_likelihood,
        perplexity_behind=behind,
        perplexity_behind_stderr=behind_error,
        log_likelihood_behind=0.0 - less,
        log_likelihood_behind_stderr=error,
        perplexity_by_position=[None if np.isnan(x) else float(x) for x in own.by_position],
        prior=prior,
        impossible=own.impossible,
        iterations=fit.iterations,
        converged=fit.converged,
        notes=notes,
    )


def _unseen(halves: Halves, prior: tuple[float, float], chosen: bool) -> list[str]:
    """How much of what was judged was never seen in what was fitted to."""
    test: Patterns = halves.test
    seen = np.append(np.diff(halves.train.cells.starts) > 0, True)
    shown = test.coded >= 0
    new = (~seen[test.coded >> 1] & shown).sum(axis=1) @ test.impressions
    if not new:
        return []
    share = new / (shown.sum(axis=1) @ test.impressions)
    mean = prior[0] / sum(prior) if sum(prior) else 0.5
    said = f"{share:.1%}" if share >= 0.001 else "fewer than 0.1%"
    said += " of the held-out (query, item) shows were never seen in what was fitted to: "
    said += f"their attraction is the prior's mean, {mean:.3g}"
    rate = halves.train.clicked.sum() / halves.train.shown.sum()
    if not chosen and share > MANY_UNSEEN and mean > 3 * rate:
        said += f", far above the click rate of {rate:.2g}: `prior='fit'` suits such a log better"
    return [said]


def _attractions(
    counts: ClickCounts, names: list[str], prior: str | tuple[float, float], scope: Scope, iterations: int
) -> pa.Table:
    """Attractions by every model that has them, fitted to the whole log."""
    pairs = counts.pairs
    columns: dict[str, Any] = {
        "query": pairs.query_ids.column().take(pa.array(pairs.queries)),
        "item": pairs.item_ids.column().take(pa.array(pairs.items)),
        "shown": counts.cells.by_pair(counts.shown),
        "clicks": counts.clicks,
    }
    for name in names:
        fit, _ = _fit(name, counts, prior, scope, iterations)
        if fit.looks is not None:
            columns[name] = fit.model.attraction  # type: ignore[attr-defined]
    return pa.table(columns)
