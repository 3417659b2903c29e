"""What a model of features learns from: debiased clicks of the items of queries, with their features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.sorting import falling

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Examples:
    """Pairs (query, item), query after query, with what clicks say of each: genspec2021, eqs. 8 and 9.

    worth: Σ click / propensity over the impressions that are learnt from, the propensity clipped from below where that
    was asked for. The counterfactual value of scores is Σ worth · λ(rank) / impressions: unbiased where propensities
    are right. With `naive()` the worth is the number of clicks, as if all that is shown were looked at.
    """

    starts: Codes  # (Q+1,) where the pairs of each query begin
    features: Matrix  # (P, F), NaN where a pair has none
    names: list[str]  # of the features
    worth: Vector  # (P,)
    clicks: Vector  # (P,)
    shown: Vector  # (P,) impressions that showed the pair
    impressions: Vector  # (Q,)
    propensity: Vector | None = None  # (P,) the chance to be shown and looked at; 0: nothing can be learnt of the pair

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> Codes:
        """How many items each query has, (Q,)."""
        return np.diff(self.starts)

    @property
    def queries(self) -> Codes:
        """(P,) the query of each pair."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @property
    def longest(self) -> int:
        """The most items that a query has."""
        return int(self.sizes.max(initial=0))

    def naive(self) -> Examples:
        """The same with raw clicks for worth: what to compare with."""
        return replace(self, worth=self.clicks.astype(np.float64))

    def of(self, queries: Codes | NDArray[np.bool_]) -> Examples:
        """Some of the queries, by number or as a mask."""
        chosen = np.arange(len(self))[queries]
        sizes = self.sizes[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows = np.arange(starts[-1]) - np.repeat(starts[:-1] - self.starts[:-1][chosen], sizes)
        return self._with(starts, rows, self.impressions[chosen])

    def known(self) -> Examples:
        """Without the pairs of which nothing can be learnt: those without features, and those of propensity 0."""
        good = np.isfinite(self.features).all(axis=1)
        if self.propensity is not None:
            good &= self.propensity > 0
        if good.all():
            return self
        starts = np.concatenate([[0], np.cumsum(good)])[self.starts].astype(np.int64)
        return self._with(starts, np.flatnonzero(good), self.impressions)

    def _with(self, starts: Codes, rows: Codes, impressions: Vector) -> Examples:
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in ("features", "worth", "clicks", "shown")}
        propensity = None if self.propensity is None else self.propensity[rows]
        return replace(self, starts=starts, impressions=impressions, propensity=propensity, **columns)

    def values(self, scores: Vector, weights: Vector) -> Vector:
        """(Q,): Σ worth · λ(rank) of each query, ranked by these scores, highest first.

        weights: (K,) λ at positions 1..K; beyond, 0. Items with equal scores share the mean of their weights, as they
        would on average over all ways to break the tie.

        >>> both = Examples(
        ...     starts=np.array([0, 3]), features=np.zeros((3, 1)), names=["f"], worth=np.array([2.0, 0.0, 4.0]),
        ...     clicks=np.array([2.0, 0.0, 1.0]), shown=np.ones(3), impressions=np.ones(1))
        >>> both.values(np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.5, 0.25])).tolist()
        [3.5]
        """
        out = np.zeros(len(self))
        worth, scores = (np.ascontiguousarray(each, dtype=np.float64) for each in (self.worth, scores))
        ranked_worth(self.starts, scores, worth, summed(weights, self.longest), out)
        return out

    def value(self, scores: Vector, weights: Vector) -> float:
        """The counterfactual value of an impression: Σ worth · λ(rank) / impressions; ties as in `values`."""
        return float(self.values(scores, weights).sum() / max(self.impressions.sum(), 1.0))


def summed(weights: Vector, longest: int) -> Vector:
    """Σ of the first 0, 1, … position weights: a tied block's mean is a difference of two over their number."""
    padded = np.zeros(max(longest, 1))
    padded[: min(len(weights), longest)] = weights[:longest]
    return np.concatenate([[0.0], np.cumsum(padded)])


@njit(nogil=True)
def ranked_worth(starts: Any, scores: Any, worth: Any, upto: Any, out: Any) -> None:  # pragma: no cover
    """(Q,) into out: Σ worth · weight of the position, of each query; upto: see `summed`."""
    for q in range(len(starts) - 1):
        first, last = starts[q], starts[q + 1]
        order = falling(scores[first:last])
        low, total = 0, 0.0
        while low < last - first:
            high, block = low, 0.0
            while high < last - first and scores[first + order[high]] == scores[first + order[low]]:
                block += worth[first + order[high]]
                high += 1
            total += block * (upto[high] - upto[low]) / (high - low)
            low = high
        out[q] = total
