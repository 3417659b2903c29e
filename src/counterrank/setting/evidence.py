"""What an estimator is given: the counted log, with policies on its pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.policy import BoundPolicy, Logged, Policy
from counterrank.policy.base import BLOCK
from counterrank.records import dataclass
from counterrank.setting.cache import Cache, Same
from counterrank.statistics.cells import Cells
from counterrank.statistics.counts import Counts
from counterrank.statistics.item_chances import Trimmed
from counterrank.statistics.pairs import Table, sum_runs

Vector = NDArray[np.float64]
ROUNDING = 1e-12  # relative: what is above a clip, or above 0, by less is so by rounding


@dataclass(frozen=True, kw_only=True)
class LogEvidence:
    """The counted log, the logging policy on its pairs, and what a click is worth: all but the policy that is judged.

    `shares`: marginals of the logging policy are shares in the log, so that weights and clicks come from the same rows;
    `estimated`: so are the chances of rankings (they may be known, from the log's propensities).
    """

    counts: Counts
    logging: BoundPolicy
    given: Policy | None = None  # the logging policy as it was given; None for shares in the log
    shown_by_logging: Vector  # (C,) π(a, k | q) of what the log shows; zeros where nobody needs marginals
    marginals: bool = True  # whether somebody does
    weights: Vector  # (K,) θ
    examination: Vector  # (K,) p
    examination_kind: str = "given"  # reciprocal, eb, em or given
    examination_spread: Table | None = None  # (K, K) its covariance, where it is fitted
    positions: int  # K as asked for: `top`, which may be longer than any logged list
    looks_below: tuple[float, float] = (0.0, 0.0)  # Σθ∘p and Σθ of positions that no list reaches
    clip: float = np.inf
    shares: bool = True
    estimated: bool = True
    by_propensity: bool = False  # rankings carry the chance that the log gives for them
    by_item: bool = False  # impressions carry the propensities of their items
    trimmed: Callable[[Vector], Trimmed] | None = field(default=None, repr=False)  # their sums with a floor, (C,)
    cut: bool = False  # they would, but only parts of them are judged
    fitted: list[str] = field(default_factory=list)  # what is wrong with the examination curve, where it is fitted
    told: list[str] = field(default_factory=list)  # how the curve was chosen
    of_clicks: bool = True  # the reward is the weighted sum of clicks
    features: Table | None = None  # (P, F)
    featureless: NDArray[np.bool_] | None = None  # (P,) pairs without features
    model: str = "ridge"  # the regression on features
    limits: tuple[float, float] | None = None  # between what numbers rewards can lie, where users say
    cache: Cache = field(default_factory=Cache, repr=False)

    def judging(self, policy: Policy) -> Evidence:
        """The same evidence, on this policy."""
        mine = {each.name: getattr(self, each.name) for each in fields(LogEvidence)}
        if isinstance(policy, Logged) or policy is self.given:
            known = {"estimated": self.given is None, "by_propensity": False}  # every weight is 1
            return Evidence(**mine | known, target=self.logging, shown_by_target=self.shown_by_logging, same=True)
        target = policy.bind(self.counts.pairs)
        shown = target.on(self.cells) if self.marginals else self.shown_by_logging
        return Evidence(**mine, target=target, shown_by_target=shown, policy=policy)

    def key(self, target: bool, clip: bool) -> tuple[object, ...]:
        """What a result that several share depends on, see `shared`; of what is judged it knows nothing."""
        return Same(self.counts), Same(self.features), self.model, self.clip if clip else None

    @property
    def cells(self) -> Cells:
        """What the log shows where."""
        return self.counts.cells

    def per_query(self, values: NDArray[Any]) -> Vector:
        """Σ over the pairs of each query, (Q,)."""
        return sum_runs(self.counts.pairs.starts, values)

    def cells_per_query(self, values: NDArray[Any]) -> Vector:
        """Σ over the cells of each query, (Q,)."""
        return sum_runs(self.cells.starts[self.counts.pairs.starts], values)

    def mean(self, per_query: Vector) -> float:
        """The mean over impressions of something that each query has one of."""
        return float(per_query @ self.counts.impressions / self.counts.total)


@dataclass(frozen=True, kw_only=True)
class Evidence(LogEvidence):
    """Evidence on a policy. `same`: it is the logging policy itself, so that every weight is 1."""

    target: BoundPolicy
    shown_by_target: Vector  # (C,) h(a, k | q) of what the log shows
    same: bool = False
    policy: Policy | None = None  # the policy that is judged, as it was given; None where it is the logging policy

    def key(self, target: bool, clip: bool) -> tuple[object, ...]:
        return (*super().key(target, clip), *((Same(self.target), self.same) if target else ()))

    def tables(self) -> Iterator[tuple[slice, Table, Table]]:
        """What target and logging policy show at any position, some queries at a time: the rows of their pairs first.

        Needed only where the logging policy is given: shares are of what the log shows.
        """
        pairs = self.counts.pairs
        for first, last in pairs.blocks(BLOCK):
            mine = slice(int(pairs.starts[first]), int(pairs.starts[last]))
            yield mine, self.target.part(first, last), self.logging.part(first, last)

    def ratio(self, target: Vector, logging: Vector) -> tuple[Vector, NDArray[np.bool_]]:
        """Importance weights clipped, and which of them were; the logging policy's own are 1."""
        raw = np.ones(target.shape) if self.same else ratios(target, logging)
        clipped = raw > self.clip * (1 + ROUNDING)
        return np.where(clipped, self.clip, raw) if clipped.any() else raw, clipped


def ratios(top: Vector, bottom: Vector) -> Vector:
    """0 where there is nothing to divide by."""
    return np.divide(top, bottom, out=np.zeros(np.broadcast_shapes(top.shape, bottom.shape)), where=bottom > 0)
