"""What units bring to a mean: their numbers and sums between known edges, and how far a unit can reach at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.records import dataclass
from counterrank.statistics.histogram import NUDGE, SHIFT, Histogram

Vector = NDArray[np.float64]
SIGN = 1 << (63 - SHIFT)  # buckets from here on are of negative numbers


@dataclass(frozen=True)
class Units:
    """`counts` units of `sizes` impressions each, whose terms lie between two edges and have this sum.

    A unit is an impression, or a cluster of impressions that depend on each other.
    """

    counts: Vector
    sums: Vector
    low: Vector
    high: Vector
    sizes: Vector

    @classmethod
    def of(cls, histogram: Histogram, size: float = 1.0) -> Units:
        """Of a histogram of terms, between the edges of its buckets.

        >>> part = Units.of(Histogram.of([0.0, 0.0, 1.0, -1.2]))
        >>> part.low.round(6).tolist(), part.high.round(6).tolist()
        ([0.0, 1.0, -1.25], [0.0, 1.125, -1.125])
        """
        low, high = edges(histogram.buckets)
        return cls(histogram.counts, histogram.sums, low, high, np.full(len(low), float(size)))

    @classmethod
    def joined(cls, parts: Sequence[Units]) -> Units:
        names = ("counts", "sums", "low", "high", "sizes")
        return cls(*(np.concatenate([getattr(part, name) for part in parts] or [np.zeros(0)]) for name in names))

    @property
    def mean(self) -> float:
        """Per impression."""
        return float(self.sums.sum() / (self.counts @ self.sizes))

    def mirrored(self) -> Units:
        """The same units with the sign of every term changed."""
        return Units(self.counts, -self.sums, -self.high, -self.low, self.sizes)

    def within(self, least: float | Vector, most: float | Vector) -> Units:
        """With edges no further out than a term per impression can reach; no sum is left outside by rounding."""
        mean = self.sums / self.counts
        low = np.minimum(np.maximum(self.low, least * self.sizes), mean)
        return Units(
            self.counts, self.sums, low, np.maximum(np.minimum(self.high, most * self.sizes), mean), self.sizes
        )


@dataclass(frozen=True)
class Terms:
    """The terms whose mean is an estimate, and the least and the largest that one of an impression can be.

    What is known of the terms may be rounded in two ways, each to the safe side of one bound. `least` and `most` go by
    weights and policies, whatever the log shows; infinite where nobody can tell.
    """

    for_lower: Units
    for_upper: Units
    least: float
    most: float
    notes: list[str] = field(default_factory=list)  # what was done to the units


def edges(buckets: NDArray[np.signedinteger[Any]]) -> tuple[Vector, Vector]:
    """Between what numbers those of each bucket of a histogram lie."""
    negative = buckets >= SIGN
    size = np.where(negative, buckets - SIGN, buckets)
    inner, outer = _edge(size), _edge(size + 1)
    return np.where(negative, -outer, inner), np.where(negative, -inner, outer)


def _edge(buckets: NDArray[np.signedinteger[Any]]) -> Vector:
    """The least number of 0 or more that falls into a bucket or behind it: numbers are nudged before they fall."""
    nudged = (buckets.astype(np.uint64) << np.uint64(SHIFT)).view(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        found = nudged / NUDGE
        found = np.where(found * NUDGE < nudged, np.nextafter(found, np.inf), found)
        below = np.nextafter(found, 0.0)
        return np.where((below * NUDGE >= nudged) & (nudged > 0), below, found)
