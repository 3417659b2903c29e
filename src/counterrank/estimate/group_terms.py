"""The terms of groups of impressions of which only the number, sum and sum of squares of rewards are known."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from counterrank.estimate.base import Limits, Vector
from counterrank.estimate.groups import Chunks
from counterrank.estimate.influence import Influence
from counterrank.estimate.spread import NOTHING
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.setting.evidence import Evidence
from counterrank.statistics.histogram import Histogram
from counterrank.statistics.query_terms import QueryTerms, QueryUnits
from counterrank.statistics.terms import Terms, Units

Range = tuple[float, float]
NO_RANGE = "it needs to know between what numbers rewards can lie: give `reward_range`"
NO_MEAN = "the value is divided by the sum of its weights, so it is no mean of one bounded term per impression"


def reward_limits(evidence: Evidence) -> Range | None:
    """The least and the largest reward that an impression can have; None where nobody said."""
    return (0.0, float(evidence.weights.sum())) if evidence.of_clicks else evidence.limits


@dataclass(frozen=True)
class GroupTerms:
    """What an impression brings to the value: its weight, within `weights`, times its reward, within `rewards`.

    Of a group, the two rewards with its sums that speak least for a high mean are the least possible one and another;
    those that speak least for a low mean are the largest possible one and another. That is so because the third
    derivative of the logarithm is positive (Chebyshev, Markov and Krein on moments).
    """

    evidence: Evidence
    chunks: Chunks
    influence: Influence
    weights: Limits
    rewards: Range

    def whole(self) -> Terms:
        """Of all impressions."""
        found = [NOTHING, NOTHING]
        for side, _, values, often in self._points():
            found[side] += Histogram.of(values, often)
        least, most = self._reach()
        return Terms(Units.of(found[0]), Units.of(found[1]), float(least.min()), float(most.max()))

    def by_query(self) -> QueryTerms:
        """Of each query."""
        found: list[list[QueryUnits]] = [[], []]
        for side, queries, values, often in self._points():
            found[side].append(QueryUnits.of(queries, values, often))
        return QueryTerms(QueryUnits.joined(found[0]), QueryUnits.joined(found[1]), *self._reach())

    def _reach(self) -> tuple[Vector, Vector]:
        """(Q,) the least and the largest term."""
        none = np.zeros(len(self.evidence.counts.impressions))
        products = [none + w * r for w in self.weights for r in self.rewards if r != 0] + [none] * (0.0 in self.rewards)
        return np.minimum.reduce(products), np.maximum.reduce(products)

    def _points(self) -> Iterator[tuple[int, Codes, Vector, Vector]]:
        """For each bound, 0 the lower and 1 the upper: queries, terms and how often each came."""
        inside = tuple(end - self.evidence.counts.origin for end in self.rewards)
        for chunk in self.chunks():
            moved = self.influence(chunk)
            sums = chunk.impressions, chunk.reward, chunk.reward2
            least, most = _from_least(*sums, *inside), _from_most(*sums, *inside)
            rising, queries = moved.slope >= 0, np.tile(chunk.queries, 2)
            for side, (one, other) in enumerate(((least, most), (most, least))):
                reward, often = (np.where(rising, a, b) for a, b in zip(one, other, strict=True))
                yield side, queries, (moved.slope * reward + moved.term).ravel(), often.ravel()


def group_terms(evidence: Evidence, chunks: Chunks, influence: Influence, weights: Limits) -> GroupTerms | None:
    """None where nobody said between what numbers rewards can lie."""
    rewards = reward_limits(evidence)
    return GroupTerms(evidence, chunks, influence, weights, rewards) if rewards is not None else None


def _from_least(n: Vector, f: Vector, f2: Vector, low: float, high: float) -> tuple[Vector, Vector]:
    """Two rewards a group, (2, G), of which one is `low`, and how often each came."""
    total, squares = np.maximum(f - n * low, 0.0), np.maximum(f2 - 2 * low * f + n * low**2, 0.0)
    raised = np.divide(squares, total, out=np.zeros_like(f), where=total > 0)
    raised = np.clip(raised, total / n, max(high - low, 0.0))
    often = np.divide(total, raised, out=np.zeros_like(f), where=raised > 0)
    often = np.minimum(often, n)
    return np.stack([np.full_like(f, low), low + raised]), np.stack([n - often, often])


def _from_most(n: Vector, f: Vector, f2: Vector, low: float, high: float) -> tuple[Vector, Vector]:
    """The same where one is `high`."""
    reward, often = _from_least(n, -f, f2, -high, -low)
    return -reward, often
