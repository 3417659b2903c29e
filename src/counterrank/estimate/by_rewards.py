"""What the estimators that weigh rewards of whole pages have in common: a member says what its weights are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np

from counterrank.estimate.base import Distance, Estimate, Limits, Vector
from counterrank.estimate.estimator import Estimator
from counterrank.estimate.group_terms import NO_MEAN, NO_RANGE, group_terms
from counterrank.estimate.groups import spreads
from counterrank.estimate.influence import Influence
from counterrank.estimate.list_sums import ListSums
from counterrank.estimate.spread import width_of_products
from counterrank.records import dataclass
from counterrank.setting.evidence import Evidence
from counterrank.statistics.rankings import Rankings


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """What was summed over groups of rankings, with the weights of an estimator.

    `influence` gives, for a shift, a value and a gain, the influence of each impression on gain·w·(reward − shift) less
    the value.
    """

    sums: ListSums
    influence: Callable[[float, Vector | float, float], Influence]
    chunks: Callable[[], Iterator[Rankings]]
    reach: tuple[float, float]  # between what numbers a weight can lie, or, where nobody can tell, does
    limits: Limits  # between what numbers it can lie, infinite where nobody can tell
    expected: float | None  # what the mean weight should be
    undefined: str  # why there is no value where the weights sum to 0
    own: Callable[[], Influence] | None = None  # on each query's own value, self-normalised
    drawn: float = 0.0  # variance of V from rankings drawn to know the logging policy
    distance: Distance | None = None
    same: float = 1.0  # every weight, where target and logging policy are one


class ByRewards(Estimator):
    """V = 1/n Σᵢ wᵢ·rewardᵢ, or, self-normalised, Σᵢ wᵢ·rewardᵢ / Σᵢ wᵢ.

    Rewards are counted from the log's origin, so that sums of squares lose no digits; V is put back to 0.
    """

    nothing: ClassVar[float] = 0.0  # a mean weight up to it is 0 but for rounding

    @abstractmethod
    def weighed(self, evidence: Evidence) -> Weighed:
        """The sums with this estimator's weights."""

    def estimate(self, evidence: Evidence) -> Estimate:
        found, counts, n = self.weighed(evidence), evidence.counts, evidence.counts.total
        sums, mass = found.sums, float(found.sums.mass.sum())
        per_query, clipped = self.per_query(evidence, sums.credit, sums.mass), sums.clipped / n
        if self.self_normalised:
            if abs(mass) <= self.nothing * n:
                said = [*sums.warnings, f"undefined: {found.undefined}"]
                return Estimate(
                    value=None,
                    per_query=per_query,
                    second_moment=None,
                    effective_sample_size=None,
                    clipped=clipped,
                    unsupported=sums.unsupported,
                    warnings=said,
                    distance=found.distance,
                )
            shift, level, gain = float(sums.credit.sum() / mass), 0.0, n / mass
            value = counts.origin + shift
        else:
            value = float((sums.credit.sum() + counts.origin * mass) / n)
            shift, level, gain = -counts.origin, value, 1.0
        influence = found.influence(shift, level, gain)
        terms = None if self.self_normalised else group_terms(evidence, found.chunks, influence, found.limits)
        second = sums.second_moment(evidence, shift, level) + found.drawn * n * (n - 1)
        return Estimate(
            value=value,
            per_query=per_query,
            second_moment=float(second * np.float64(gain) ** 2),
            effective_sample_size=sums.effective_sample_size(),
            clipped=clipped,
            unsupported=sums.unsupported,
            warnings=sums.warnings,
            mean_weight=mass / n,
            expected_weight=found.expected,
            distance=found.distance,
            spreads=lambda: spreads(evidence, found.chunks, influence),
            width=None if self.self_normalised else width_of_products(found.reach, evidence),
            reach=None if self.self_normalised else found.reach,
            influence=influence,
            own=found.own() if self.self_normalised and found.own is not None else None,
            unseen=sums.unseen,
            sizes=sums.effective_sizes() if found.own is not None or not self.self_normalised else None,
            limits=None if self.self_normalised else found.limits,
            terms=terms.whole if terms is not None else None,
            query_terms=terms.by_query if terms is not None else None,
            no_terms=NO_MEAN if self.self_normalised else NO_RANGE,
        )

    def per_query(self, evidence: Evidence, credit: Vector, mass: Vector) -> Vector:
        """(Q,) from Σ w·reward and Σ w of each query."""
        n = evidence.counts.impressions
        if not self.self_normalised:
            return (credit + evidence.counts.origin * mass) / n
        known = np.abs(mass) > self.nothing * n
        mean = np.divide(credit, mass, out=np.full(len(mass), np.nan), where=known)
        return np.asarray(mean + evidence.counts.origin)
