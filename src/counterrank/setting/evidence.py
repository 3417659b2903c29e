"""What an estimator is given: the counted log, with policies on its pairs."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from counterrank.policy import BoundPolicy, Logged, Policy
from counterrank.setting.cache import Cache, Same
from counterrank.statistics.counts import Counts
from counterrank.statistics.pairs import Table, sum_by

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
    shown_by_logging: Table  # (P, K) π(a, k | q); zeros where nobody needs marginals
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
        shown = target.marginals() if self.marginals else self.shown_by_logging
        return Evidence(**mine, target=target, shown_by_target=shown, policy=policy)

    def key(self, target: bool, clip: bool) -> tuple[object, ...]:
        """What a result that several share depends on, see `shared`; of what is judged it knows nothing."""
        return Same(self.counts), Same(self.features), self.model, self.clip if clip else None

    def per_query(self, table: NDArray[np.float64] | NDArray[np.int64]) -> Vector:
        """Σ over the pairs (and positions) of each query, (Q,)."""
        flat = table
        if table.ndim == 2:
            flat = table[:, 0] if table.shape[1] == 1 else table.sum(axis=1)
        return sum_by(self.counts.pairs.queries, flat, len(self.counts.impressions))

    def by_position(self, table: NDArray[np.float64] | NDArray[np.int64]) -> Table:
        """Σ over the pairs of each query, (Q, K)."""
        if table.shape[1] == 1:
            return self.per_query(table)[:, None]
        return np.add.reduceat(table, self.counts.pairs.starts[:-1], axis=0)

    def mean(self, per_query: Vector) -> float:
        """The mean over impressions of something that each query has one of."""
        return float(per_query @ self.counts.impressions / self.counts.total)


@dataclass(frozen=True, kw_only=True)
class Evidence(LogEvidence):
    """Evidence on a policy. `same`: it is the logging policy itself, so that every weight is 1."""

    target: BoundPolicy
    shown_by_target: Table  # (P, K) h(a, k | q)
    same: bool = False
    policy: Policy | None = None  # the policy that is judged, as it was given; None where it is the logging policy

    def key(self, target: bool, clip: bool) -> tuple[object, ...]:
        return (*super().key(target, clip), *((Same(self.target), self.same) if target else ()))

    def ratio(self, target: Vector, logging: Vector, shown: NDArray[np.bool_]) -> tuple[Vector, NDArray[np.bool_]]:
        """Importance weights clipped, and which of them were."""
        if self.same:
            raw = (shown | (logging > 0)).astype(np.float64)
        else:
            shape = np.broadcast_shapes(target.shape, logging.shape)
            raw = np.divide(target, logging, out=np.zeros(shape), where=logging > 0)
        clipped = raw > self.clip * (1 + ROUNDING)
        return np.where(clipped, self.clip, raw) if clipped.any() else raw, clipped
