"""Impressions that depend on each other count as one: what clusters bring to an estimate, and how large they are."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from counterrank.records import dataclass
from counterrank.statistics.query_terms import QueryUnits
from counterrank.statistics.terms import Units

Vector = NDArray[np.float64]
SPARE = 0.01  # the share of impressions that a cap may take, at most
SMALL = 0.1  # a cluster up to this many roots of the impressions limits no bet


@dataclass(frozen=True)
class ClusterTerms:
    """Of one estimator: Σ over clusters of (Σψ)², and the clusters by size and by the bucket of their terms' sum."""

    squares: float
    units: QueryUnits  # as if of one query

    def second_moment(self, impressions: int) -> float:
        """What Σψ² would be of independent impressions with this error: Σ(Σψ)²/n² · C/(C − 1) is the variance."""
        number, n = float(self.units.counts.sum()), float(impressions)
        return self.squares * number / (number - 1) * (n - 1) / n if number > 1 else math.nan


@dataclass(frozen=True)
class ClusterSizes:
    """How many clusters have so many impressions.

    >>> ClusterSizes.of(np.array([1, 3, 1, 5])).told()
    '4 clusters of 1 to 5 impressions, 2.5 on average'
    """

    sizes: Vector
    counts: Vector

    @classmethod
    def of(cls, sizes: NDArray[np.int64] | Vector) -> ClusterSizes:
        """From the number of impressions of each cluster; those of none are left out."""
        found, often = np.unique(sizes[sizes > 0], return_counts=True)
        return cls(found.astype(np.float64), often.astype(np.float64))

    @property
    def number(self) -> int:
        return int(self.counts.sum())

    @property
    def impressions(self) -> float:
        return float(self.counts @ self.sizes)

    @property
    def alone(self) -> bool:
        """Whether every impression is a cluster of its own, so that clusters change nothing."""
        return bool(self.sizes[-1] <= 1)

    def told(self) -> str:
        low, high, mean = self.sizes[0], self.sizes[-1], self.impressions / self.number
        if self.number == 1:
            return f"one cluster of {high:,.0f} impressions"
        return f"{self.number:,} clusters of {low:,.0f} to {high:,.0f} impressions, {mean:.3g} on average"


def cap_of(sizes: Vector, counts: Vector) -> float:
    """The largest number of impressions that a cluster counts for in a bet, by the sizes of all clusters alone.

    The largest cluster limits every bet. It does not matter up to a tenth of √n. Beyond, what a cluster has above the
    cap counts for nothing, and the cap is so large that this takes one impression in a hundred at most.

    >>> cap_of(np.array([1.0, 50.0]), np.array([9950.0, 1.0]))
    10.0
    >>> cap_of(np.array([1.0, 5000.0]), np.array([5000.0, 1.0]))
    4900.0
    """
    largest, n = float(sizes.max(initial=1.0)), float(counts @ sizes)
    order = np.argsort(-sizes)
    size, often = sizes[order], np.cumsum(counts[order])
    beyond = np.cumsum(counts[order] * size) - often * np.append(size[1:], 0.0)  # where the cap is the next size
    at = int(np.searchsorted(beyond, SPARE * n, side="right"))
    taken = float(np.cumsum(counts[order] * size)[at]) if at < len(size) else 0.0
    least = (taken - SPARE * n) / float(often[at]) if at < len(size) else 0.0
    return min(largest, max(float(math.ceil(least)), SMALL * math.sqrt(n)))


def capped(units: Units) -> tuple[Units, list[str]]:
    """Clusters above the cap brought down to it, and what was done, in words."""
    cap = cap_of(units.sizes, units.counts)
    over = units.sizes > cap
    if not over.any():
        return units, []
    part = np.where(over, cap / units.sizes, 1.0)
    n, lost = float(units.counts @ units.sizes), float(units.counts @ (units.sizes * (1 - part)))
    said = (
        f"{units.counts[over].sum():,.0f} clusters of more than {cap:,.0f} impressions, the largest of "
        f"{units.sizes.max():,.0f}, count in the bets as {cap:,.0f} each, which takes {lost / n:.2%} of the impressions"
    )
    cut = Units(units.counts, units.sums * part, units.low * part, units.high * part, units.sizes * part)
    return cut, [said]
