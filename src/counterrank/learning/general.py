"""The general policy: the user's own, or a model of features that was trained, judged and served."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.errors import InputError, Unanswerable
from counterrank.learning.examples import Examples
from counterrank.learning.ground import Ground, Part
from counterrank.learning.models import MODELS, Fitted
from counterrank.limits import LEAST
from counterrank.log.features import Features
from counterrank.policy import Policy, Scores
from counterrank.records import dataclass
from counterrank.statistics.draws import drawn
from counterrank.words import counted

Vector = NDArray[np.float64]
GIVEN = "given"


@dataclass(frozen=True)
class Version:
    """A policy on the pairs: its rank weights (the logging policy's where it has no ranking), and what it says."""

    policy: Policy
    weight: Vector  # (P,)
    says: Vector  # (P,) scores, or rank weights; NaN where it says nothing
    has: NDArray[np.bool_]  # (Q,)

    @classmethod
    def of(cls, policy: Policy, ground: Ground, says: Vector | None = None) -> Version:
        pairs, known = ground.pairs, policy.queries()
        has = np.ones(len(pairs.query_ids), dtype=bool)
        if known is not None:
            has = pc.is_in(pairs.query_ids.texts, value_set=known).to_numpy(zero_copy_only=False)
        of_pair = has[pairs.queries]
        own = policy.bind(pairs).exposure(ground.weights)
        said = np.where(of_pair, own, np.nan) if says is None else says
        return cls(policy, np.where(of_pair, own, ground.logged), said, has)


@dataclass(frozen=True, kw_only=True)
class General:
    """`judged` was trained on the training part, `served` on both."""

    model: str
    judged: Version
    served: Version
    validation_queries: int = 0
    curve: list[dict[str, Any]] = field(default_factory=list)
    chosen: str = ""
    notes: list[str] = field(default_factory=list)


def given(policy: Policy, ground: Ground) -> General:
    """The user's own ranker: nothing is trained."""
    version = Version.of(policy, ground)
    return General(model=GIVEN, judged=version, served=version)


def naming(features: Features) -> Scores:
    """All items that have features, so that their pairs are known."""
    return Scores(features.query, features.item, np.zeros(len(features)))


def trained(
    ground: Ground, features: Features, model: str, *, validation_share: float, seed: int, progress: Any = None
) -> General:
    """A model of features, trained twice: on the training part, and on both with the hyper-parameters of the first.

    So what is served differs from what is judged by the clicks it saw, not by what a second choice would change.
    """
    pairs = ground.pairs
    table, absent = features.on(pairs)
    table[np.abs(table) < LEAST] = 0.0  # numbers whose reciprocals are none
    if not (~absent & ground.shown).any():
        raise InputError("`features` has none of the (query, item) pairs of the log: are their ids the same?")
    held = drawn(pairs.query_ids.texts, validation_share, seed)
    examples = [_examples(ground, part, table, features.names) for part in (ground.train, ground.whole)]
    fitted: list[Fitted] = []
    for each in examples:
        validation = each.of(held) if held.any() else None
        like = fitted[0] if fitted else None
        options = {"weights": ground.weights, "seed": seed, "progress": progress, "like": like}
        fitted.append(_fit(model, each.of(~held), validation, **options))
    versions = [_version(fit, ground, features, table, absent) for fit in fitted]
    without = int(pc.sum(pc.invert(pc.is_in(pairs.query_ids.texts, value_set=features.query.unique()))).as_py() or 0)
    notes = list(dict.fromkeys(note for fit in fitted for note in fit.notes))
    if without:
        lacking = counted(without, "query", "queries")
        notes.append(f"{lacking} of the log have no features: no general policy acts there")
    return General(
        model=model,
        judged=versions[0],
        served=versions[1],
        validation_queries=int(held.sum()),
        curve=fitted[1].curve,
        chosen=fitted[1].chosen,
        notes=notes,
    )


def _fit(model: str, train: Examples, validation: Examples | None, **options: Any) -> Fitted:
    try:
        return MODELS[model].fit(train, validation, **options)
    except Exception as error:  # LightGBM's own kind, of a package that need not be there
        if type(error).__name__ != "LightGBMError":
            raise
        raise Unanswerable(
            f"`model={model}` finds nothing to learn from in `features`: give more, or another"
        ) from None


def _version(
    fit: Fitted, ground: Ground, features: Features, table: NDArray[np.float64], absent: NDArray[np.bool_]
) -> Version:
    says = np.full(len(absent), np.nan)
    says[~absent] = fit.policy.score(table[~absent])
    return Version.of(fit.policy.scoring(features), ground, says)


def _examples(ground: Ground, part: Part, table: NDArray[np.float64], names: list[str]) -> Examples:
    return Examples(
        starts=ground.pairs.starts,
        features=table,
        names=names,
        worth=ground.worth(part),
        clicks=part.clicks.astype(np.float64),
        shown=part.shown.astype(np.float64),
        impressions=part.impressions.astype(np.float64),
        propensity=ground.propensity,
    ).known()
