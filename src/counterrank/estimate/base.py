"""What an estimator is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate._influence import Influence
from counterrank.policy import BoundPolicy
from counterrank.statistics.counts import Counts
from counterrank.statistics.histogram import Spreads
from counterrank.statistics.pairs import Table, sum_by

Vector = NDArray[np.float64]
ROUNDING = 1e-12  # relative: what is above a clip, or above 0, by less is so by rounding


@dataclass(frozen=True)
class Evidence:
    """The counted log, the two policies on its pairs, and what a click is worth.

    `shares`: marginals of the logging policy are shares in the log, so that weights and clicks come from the same rows;
    `estimated`: so are the chances of rankings (they may be known, from the log's propensities).
    `same`: the target is the logging policy, so that every weight is 1.
    """

    counts: Counts
    target: BoundPolicy
    logging: BoundPolicy
    shown_by_target: Table  # (P, K) h(a, k | q)
    shown_by_logging: Table  # (P, K) π(a, k | q)
    weights: Vector  # (K,) θ
    examination: Vector  # (K,) p
    positions: int  # K as asked for: --top, which may be longer than any logged list
    looks_below: tuple[float, float] = (0.0, 0.0)  # Σθ∘p and Σθ of positions that no list reaches
    clip: float = np.inf
    shares: bool = True
    estimated: bool = True
    same: bool = False
    fitted: list[str] = field(default_factory=list)  # what the fit of the examination curve has to say
    of_clicks: bool = True  # the reward is the weighted sum of clicks
    by_propensity: bool = False  # rankings carry the chance that the log gives for them
    features: Table | None = None  # (P, F)
    featureless: NDArray[np.bool_] | None = None  # (P,) pairs without features
    model: str = "ridge"  # the regression on features
    limits: tuple[float, float] | None = None  # between what numbers rewards can lie, where users say
    memo: dict[str, object] = field(default_factory=dict, repr=False)  # what several estimators share

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

    def ratio(self, target: Vector, logging: Vector, shown: NDArray[np.bool_]) -> tuple[Vector, NDArray[np.bool_]]:
        """Importance weights clipped, and which of them were."""
        if self.same:
            raw = shown.astype(np.float64)
        else:
            there = logging > 0
            whole = there.all()
            raw = target / logging if whole else np.where(there, target, 0.0) / np.where(there, logging, 1.0)
        clipped = raw > self.clip * (1 + ROUNDING)
        return np.where(clipped, self.clip, raw) if clipped.any() else raw, clipped


@dataclass(frozen=True)
class Page:
    """How far target and logging policy are apart for a page-level estimate (swaminathan2017, section 3.2)."""

    sigma2: float  # E[qᵀΓ†q]: the average mismatch
    rho: float  # the largest |qᵀΓ†1_A|: the worst mismatch
    rho_bar: float  # the mean over impressions of their query's largest
    kappa: float  # the logging policy's pair marginals are at least κ times those of uniform rankings


@dataclass(frozen=True)
class Model:
    """Which regression was fitted, and what it is good for: `r2` is of rewards of queries that it was not fitted on."""

    name: str
    chosen: list[str]  # hyper-parameters of the folds' fits
    folds: int
    r2: float | None


@dataclass(frozen=True)
class Estimate:
    """A policy's value by one estimator. `second_moment` is Σψ², ψ being each impression's influence."""

    value: float | None
    per_query: Vector  # (Q,) NaN where a query has no value of its own
    second_moment: float | None
    effective_sample_size: float | None
    clipped: float
    unsupported: float
    warnings: list[str] = field(default_factory=list)
    mean_weight: float | None = None
    expected_weight: float | None = None  # what the mean weight should be, if the logging policy is the one that logged
    page: Page | None = None  # what the pseudoinverse estimators add
    model: Model | None = None  # what the estimators with a regression add
    spreads: Callable[[], Spreads] | None = None  # how influences, terms and weights are spread over impressions
    width: float | None = None  # how far apart two impressions' terms can lie, where the value is their mean
    reach: tuple[float, float] | None = None  # between what numbers its weights lie, where the value is such a mean
    influence: Influence | None = None  # ψ by groups of rankings, where it goes by those
    own: Influence | None = None  # the same on each query's own value, where that is not ψ less its mean there
    sizes: Vector | None = None  # (Q,) effective sample sizes of the queries
    within: Vector | None = None  # (Q,) Σψ² of each query's own value


@dataclass(frozen=True)
class Thin:
    """What Σψ² lacks because rates were estimated from few impressions: Σ weight²·variance, over rates."""

    weight: Table | Vector
    variance: Table | Vector

    def total(self) -> float:
        return float((self.weight**2 * self.variance).sum())

    def less(self, other: Thin) -> Thin:
        """Of the difference of two estimates from the same rates; where a weight is 0 its variance does not matter."""
        variance = np.where(self.weight != 0, self.variance, other.variance)
        return Thin(self.weight - other.weight, variance)


@dataclass(frozen=True)
class Linear:
    """An estimate that is linear in an impression's clicks, waiting for the second pass over the rows.

    The influence of an impression of query q is Σₖ scaleₖ·weightₖ·clickₖ − offsetₖ + constant[q].
    """

    value: float | None
    per_query: Vector
    weight: Table
    scale: Vector
    offset: Table
    constant: Vector
    thin: Thin | None
    clipped: float
    unsupported: float
    warnings: list[str] = field(default_factory=list)
    expected_weight: float | None = None
    bounded: bool = True  # the value is the mean of one bounded term per impression

    def finished(self, moments: NDArray[np.float64], spreads: Spreads, counts: Counts) -> Estimate:
        """The estimate, given Σr, Σr², Σw̄, Σw̄² of every query, and how influences are spread."""
        r, r2, w, w2 = moments.T
        impressions = counts.impressions
        second = float((r2 + 2 * self.constant * r + self.constant**2 * impressions).sum())
        second += self.thin.total() if self.thin is not None else 0.0
        size = float(w.sum() ** 2 / w2.sum()) if w2.sum() > 0 else None
        return Estimate(
            self.value,
            self.per_query,
            second if self.value is not None else None,
            size,
            self.clipped,
            self.unsupported,
            self.warnings,
            float(w.sum() / impressions.sum()),
            self.expected_weight,
            spreads=lambda: spreads,
            width=self._width(counts) if self.bounded else None,
            sizes=np.divide(w**2, w2, out=np.zeros_like(w), where=w2 > 0),
            within=self._within(r, r2, counts) if self.bounded else None,
        )

    def less(self, other: Linear) -> Linear:
        """The difference of two estimates of the same impressions; each impression's influence is that of both."""
        value = None if self.value is None or other.value is None else self.value - other.value
        thin = self.thin.less(other.thin) if self.thin is not None and other.thin is not None else None
        return Linear(
            value,
            self.per_query - other.per_query,
            self.weight * self.scale - other.weight * other.scale,
            np.ones_like(self.scale),
            self.offset - other.offset,
            self.constant - other.constant,
            thin,
            max(self.clipped, other.clipped),
            max(self.unsupported, other.unsupported),
            bounded=self.bounded and other.bounded,
        )

    def _width(self, counts: Counts) -> float:
        """All terms lie between the sums of the least and of the largest weighted click of each position."""
        least, most = np.zeros((2, len(counts.impressions), self.weight.shape[1]))
        np.minimum.at(least, counts.pairs.queries, self.weight * self.scale)
        np.maximum.at(most, counts.pairs.queries, self.weight * self.scale)
        return float(most.sum(axis=1).max() - least.sum(axis=1).min())

    def _within(self, r: Vector, r2: Vector, counts: Counts) -> Vector:
        """Σψ² of each query's own value."""
        n = counts.impressions
        thin = np.zeros(len(n))
        if self.thin is not None:
            lacking = self.thin.weight**2 * self.thin.variance
            thin = sum_by(counts.pairs.queries, lacking.sum(axis=1) if lacking.ndim == 2 else lacking, len(n))
        return np.maximum(r2 - r**2 / n, 0.0) + thin
