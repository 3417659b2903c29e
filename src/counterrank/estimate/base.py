"""What an estimator is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate import click_sums
from counterrank.estimate.cascade.influence import PatternInfluence
from counterrank.estimate.influence import Influence
from counterrank.estimate.own_propensities import Own, joined
from counterrank.ids import Codes
from counterrank.policy.base import BLOCK
from counterrank.records import dataclass
from counterrank.statistics.cluster_terms import ClusterTerms, capped
from counterrank.statistics.counts import Counts, Part
from counterrank.statistics.histogram import Spreads
from counterrank.statistics.pairs import Table, sum_runs
from counterrank.statistics.query_terms import QueryTerms, QueryUnits
from counterrank.statistics.terms import Terms, Units

Vector = NDArray[np.float64]
Limits = tuple[Vector | float, Vector | float]  # the least and the largest, of all queries or of each, (Q,)

NO_CLUSTERS = "it needs the terms of clusters, which this estimator, going by rankings, does not give"


@dataclass(frozen=True)
class Distance:
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


@dataclass(frozen=True, kw_only=True)
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
    distance: Distance | None = None  # what the pseudoinverse estimators add
    model: Model | None = None  # what the estimators with a regression add
    spreads: Callable[[], Spreads] | None = None  # how influences, terms and weights are spread over impressions
    width: float | None = None  # how far apart two impressions' terms can lie, where the value is their mean
    reach: tuple[float, float] | None = None  # between what numbers its weights lie, where the value is such a mean
    influence: Influence | None = None  # ψ by groups of rankings, where it goes by those
    own: Influence | None = None  # the same on each query's own value, where that is not ψ less its mean there
    sizes: Vector | None = None  # (Q,) effective sample sizes of the queries
    within: Vector | None = None  # (Q,) Σψ² of each query's own value
    unseen: Vector | None = None  # (Q,) of what the policy shows, the share that the log cannot tell; None: none of it
    curve_variance: float = 0.0  # what of the variance of the value is the error of a fitted curve
    by_pattern: PatternInfluence | None = None  # ψ by rankings and clicks, where it goes by those
    limits: Limits | None = None  # between what numbers its weights can lie, whatever the log shows
    terms: Callable[[], Terms] | None = None  # what the value is the mean of, where a term can only reach so far
    query_terms: Callable[[], QueryTerms] | None = None  # the same of each query, where they were asked for
    no_terms: str = "the value is no mean of one bounded term per impression, which it needs"

    def unclustered(self) -> Estimate:
        """What is left of one by groups of rankings, which do not tell clusters apart: no error, no interval."""
        why = "no standard error: it goes by rankings, which do not tell clusters apart; take ip, pbm or item"
        return replace(
            self,
            second_moment=None,
            spreads=None,
            width=None,
            influence=None,
            own=None,
            within=None,
            terms=None,
            query_terms=None,
            no_terms=NO_CLUSTERS,
            warnings=[*self.warnings, why],
        )


Rates = Callable[[Part], tuple[Vector, Vector]]  # of some queries, made anew: what each rate weighs, and its variance


@dataclass(frozen=True)
class Thin:
    """What Σψ² lacks because rates were estimated from few impressions: Σ weight²·variance, over rates.

    There may be many, so that only the sums are kept, and the others made again if need be.
    """

    per_query: Vector  # (Q,) the sums
    rates: Rates
    counts: Counts
    of_pairs: bool  # each pair has one, or each cell

    @classmethod
    def of(cls, rates: Rates, counts: Counts, of_pairs: bool) -> Thin:
        sums = np.empty(len(counts.impressions))
        for part in counts.parts():
            weight, variance = rates(part)
            sums[part.first : part.last] = sum_runs(counts.runs(part, of_pairs), weight**2 * variance)
        return cls(sums, rates, counts, of_pairs)

    def total(self) -> float:
        return float(self.per_query.sum())

    def less(self, other: Thin) -> Thin:
        """Of the difference of two estimates from the same rates; where a weight is 0 its variance does not matter."""

        def rates(part: Part) -> tuple[Vector, Vector]:
            (one, variance), (two, others) = self.rates(part), other.rates(part)
            return one - two, np.where(one != 0, variance, others)

        return Thin.of(rates, self.counts, self.of_pairs)


Weighed = Callable[[Part], tuple[Vector, Vector]]  # weight and offset of the cells of some queries
Blocks = Callable[[int, int], Table]  # of queries first to last: scale·weight of all pairs and positions


@dataclass(frozen=True)
class CurveError:
    """What the error of a fitted curve does to a value, by the delta method: slopeᵀ · spread · slope.

    The curve comes from the same clicks as the value; what they share is left out, which was seen to err on the safe
    side (docs/intervals.md).
    """

    slope: Vector  # (K,) of the value in the curve
    spread: Table  # (K, K) the curve's covariance

    def variance(self) -> float:
        return max(float(self.slope @ self.spread @ self.slope), 0.0)

    def less(self, other: CurveError | None) -> CurveError:
        """Of the difference of two values by the same curve."""
        return self if other is None else CurveError(self.slope - other.slope, self.spread)


@dataclass(frozen=True, kw_only=True)
class LinearEstimate:
    """An estimate that is linear in an impression's clicks, waiting for the second pass over the rows.

    The influence of an impression of query q is Σₖ scaleₖ·weightₖ·clickₖ − offsetₖ + constant[q].
    """

    value: float | None
    per_query: Vector
    counts: Counts  # whose cells it weighs
    weighed: Weighed
    scale: Vector  # (K,)
    constant: Vector
    thin: Thin | None
    clipped: float
    unsupported: float
    warnings: list[str] = field(default_factory=list)
    expected_weight: float | None = None
    bounded: bool = True  # the value is the mean of one bounded term per impression
    blocks: Blocks | None = None  # where clicks can have weight that no cell has
    ends: tuple[Vector, Vector] | None = None  # (Q,) the least and the largest term, where they are known at once
    unseen: Vector | None = None  # (Q,) of what the policy shows, the share that the log never shows; None: nothing
    curve: CurveError | None = None  # where weights go by a curve that was fitted
    own: tuple[Own, ...] = ()  # where weights go by the propensities of impressions

    def finished(
        self,
        moments: NDArray[np.float64],
        spreads: Spreads,
        counts: Counts,
        clusters: ClusterTerms | None = None,
        by_query: QueryUnits | None = None,
    ) -> Estimate:
        """The estimate, given Σr, Σr², Σw̄, Σw̄² of every query, and how influences are spread.

        Where there are `clusters`, (Σψ)² of each stands for ψ² of its impressions.
        """
        r, r2, w, w2 = moments.T
        impressions = counts.impressions
        second = float((r2 + 2 * self.constant * r + self.constant**2 * impressions).sum())
        if clusters is not None:
            second = clusters.second_moment(counts.total)
        second += self.thin.total() if self.thin is not None else 0.0
        if self.curve is not None:
            second += self.curve.variance() * counts.total * (counts.total - 1)
        size = float(w.sum() ** 2 / w2.sum()) if 0 < w2.sum() < np.inf else None
        least, most = self._reach(counts)
        low, high = float(least.min()), float(most.max())

        def terms() -> Terms:
            units, said = (Units.of(spreads.term), []) if clusters is None else capped(clusters.units.units())
            return Terms(units, units, low, high, said)

        queries = QueryTerms(by_query, by_query, least, most) if by_query is not None and self.bounded else None

        return Estimate(
            value=self.value,
            per_query=self.per_query,
            second_moment=second if self.value is not None else None,
            effective_sample_size=size,
            clipped=self.clipped,
            unsupported=self.unsupported,
            warnings=self.warnings,
            mean_weight=float(w.sum() / impressions.sum()),
            expected_weight=self.expected_weight,
            spreads=lambda: spreads,
            width=high - low if self.bounded and clusters is None else None,
            sizes=np.divide(w**2, w2, out=np.zeros_like(w), where=w2 > 0),
            within=self._within(r, r2, counts) if self.bounded and clusters is None else None,
            unseen=self.unseen,
            curve_variance=self.curve.variance() if self.curve is not None else 0.0,
            terms=terms if self.bounded else None,
            query_terms=(lambda: queries) if queries is not None else None,
        )

    def less(self, other: LinearEstimate) -> LinearEstimate:
        """The difference of two estimates of the same impressions; each impression's influence is that of both."""
        value = None if self.value is None or other.value is None else self.value - other.value
        thin = self.thin.less(other.thin) if self.thin is not None and other.thin is not None else None
        return LinearEstimate(
            value=value,
            per_query=self.per_query - other.per_query,
            counts=self.counts,
            weighed=self._gap(other),
            scale=np.ones_like(self.scale),
            constant=self.constant - other.constant,
            thin=thin,
            clipped=max(self.clipped, other.clipped),
            unsupported=max(self.unsupported, other.unsupported),
            bounded=self.bounded and other.bounded,
            blocks=self._apart(other),
            curve=self.curve.less(other.curve) if self.curve is not None else other.curve,
            own=joined(self._own(), tuple(each.negative() for each in other._own())),
        )

    def _gap(self, other: LinearEstimate) -> Weighed:
        """Scaled weights less those of the other, and offsets likewise."""

        def weighed(part: Part) -> tuple[Vector, Vector]:
            (one, offset), (two, theirs) = self._scaled(part), other._scaled(part)
            return one - two, offset - theirs

        return weighed

    def _scaled(self, part: Part) -> tuple[Vector, Vector]:
        """Weights times the scale of their position, and offsets."""
        weight, offset = self.weighed(part)
        return weight * self.scale[self.counts.cells.positions[part.cells]], offset

    def _own(self) -> tuple[Own, ...]:
        return tuple(each.scaled(self.scale[self.counts.cells.positions]) for each in self.own)

    def _block(self) -> Blocks:
        if self.blocks is not None:
            return self.blocks

        def block(first: int, last: int) -> Table:
            part = self.counts.part(first, last)
            return self.counts.cells.of_pairs(part.pairs).dense(self._scaled(part)[0])

        return block

    def _apart(self, other: LinearEstimate) -> Blocks | None:
        if self.blocks is None and other.blocks is None:
            return None
        one, two = (self._block(), other._block())
        return lambda first, last: one(first, last) - two(first, last)

    def _reach(self, counts: Counts) -> tuple[Vector, Vector]:
        """(Q,) the least and the largest term of each query's impressions, whatever they show and whatever is clicked.

        An impression shows one item at a position, and not all are clicked: the sums over positions of the least and of
        the largest weighted click, or of 0.
        """
        if self.ends is not None:
            return self.ends
        least, most = np.zeros((2, len(counts.impressions)))
        if self.blocks is None and not self.own:
            for part in counts.parts():
                starts = counts.runs(part)
                place, (scaled, _) = counts.cells.positions[part.cells], self._scaled(part)
                ends = least[part.first : part.last], most[part.first : part.last]
                click_sums.reach(starts, place, scaled, np.zeros((2, counts.cells.depth)), *ends)
            return least, most
        for first, last in counts.pairs.blocks(BLOCK):
            starts = counts.pairs.starts[first:last] - counts.pairs.starts[first]
            low = high = self._block()(first, last)
            for each in self.own:
                ends = each.reach(first, last)
                low, high = low + ends[0], high + ends[1]
            least[first:last], most[first:last] = reach_of(low, starts)[0], reach_of(high, starts)[1]
        return least, most

    def _within(self, r: Vector, r2: Vector, counts: Counts) -> Vector:
        """Σψ² of each query's own value."""
        n = counts.impressions
        thin = self.thin.per_query if self.thin is not None else 0.0
        return np.maximum(r2 - r**2 / n, 0.0) + thin


def reach_of(table: Table, starts: Codes) -> tuple[Vector, Vector]:
    """Between what numbers the sum of a (pairs, K) table over the places of a page lies, places left out or not.

    One of each query, whose pairs begin at `starts`.
    """
    least, most = np.minimum.reduceat(table, starts, axis=0), np.maximum.reduceat(table, starts, axis=0)
    return np.minimum(least, 0.0).sum(axis=1), np.maximum(most, 0.0).sum(axis=1)
