"""How numbers are spread: counts and sums in buckets of a fixed relative width. Parts add up to the whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.records import dataclass

SHIFT = 49  # of a 64-bit number, the sign, the exponent and three bits more remain: buckets are up to 1/8 wide
BUCKETS = 1 << (64 - SHIFT)
EQUAL = 1e-12  # relative: a variance below it is one of rounding
NUDGE = 1 + 2.0**-30  # buckets begin a little below 1, 1.125, 1.25, …: whether a sum is 1 or 1 − 2⁻⁵³ must not matter


@dataclass(frozen=True)
class Histogram:
    """Filled buckets only: their numbers ascending, how many numbers fell in, and their sum.

    >>> part = Histogram.of([1.0, 1.01, -3.0])
    >>> part.counts.tolist(), (part + part).sums.round(2).tolist()
    ([2.0, 1.0], [4.02, -6.0])
    """

    buckets: Codes
    counts: NDArray[np.float64]
    sums: NDArray[np.float64]

    @classmethod
    def of(cls, values: Iterable[float], counts: Iterable[float] | None = None) -> Histogram:
        """Of numbers, each as often as `counts` says."""
        v = np.ascontiguousarray(values, dtype=np.float64)
        n = np.ones(len(v)) if counts is None else np.asarray(counts, dtype=np.float64)
        return cls.filled(bucket_of(v), n, n * v)

    @classmethod
    def filled(cls, buckets: Codes, counts: NDArray[np.float64], sums: NDArray[np.float64]) -> Histogram:
        """From buckets in any order, repeats allowed."""
        n, total = (np.bincount(buckets, each, 1).astype(np.float64, copy=False) for each in (counts, sums))
        kept = np.flatnonzero(n > 0)
        return cls(kept, n[kept], total[kept])

    @classmethod
    def dense(cls, tables: NDArray[np.float64], *which: int) -> Histogram:
        """From tables[:, *which], (parts, BUCKETS, 2): counts and sums, which are added up over the parts."""
        room, buckets = np.empty((2, BUCKETS)), np.empty(BUCKETS, dtype=np.int64)
        size = _filled(tables, *which, buckets, *room)
        return cls(buckets[:size].copy(), room[0, :size].copy(), room[1, :size].copy())

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram.filled(
            np.concatenate([self.buckets, other.buckets]),
            np.concatenate([self.counts, other.counts]),
            np.concatenate([self.sums, other.sums]),
        )

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean of each bucket."""
        return self.sums / self.counts

    @property
    def total(self) -> float:
        return float(self.counts.sum())

    def largest(self, number: int) -> float:
        """About the sum of the so many largest absolute numbers: within a bucket all count as its mean."""
        order = np.argsort(-np.abs(self.means))
        before = np.concatenate([[0.0], np.cumsum(self.counts[order])[:-1]])
        taken = np.clip(number - before, 0.0, self.counts[order])
        return float(taken @ np.abs(self.means[order]))


@dataclass(frozen=True)
class Spreads:
    """How an estimator's numbers are spread over impressions."""

    influence: Histogram
    term: Histogram  # an impression's weighted reward
    weight: Histogram  # its mean weight

    @classmethod
    def dense(cls, tables: NDArray[np.float64]) -> list[Spreads]:
        """One of each estimator, from (parts, E, 3, BUCKETS, 2) tables, as `add_groups` fills one of them."""
        return [cls(*(Histogram.dense(tables, e, i) for i in range(3))) for e in range(tables.shape[1])]

    def __add__(self, other: Spreads) -> Spreads:
        return Spreads(self.influence + other.influence, self.term + other.term, self.weight + other.weight)


@njit(nogil=True)
def _filled(tables: Any, e: Any, i: Any, buckets: Any, counts: Any, sums: Any) -> Any:  # pragma: no cover
    """Which buckets are filled, with their counts and sums over all parts; how many they are."""
    size = 0
    for bucket in range(tables.shape[3]):
        count = total = 0.0
        for part in range(len(tables)):
            count += tables[part, e, i, bucket, 0]
            total += tables[part, e, i, bucket, 1]
        if count > 0:
            buckets[size], counts[size], sums[size] = bucket, count, total
            size += 1
    return size


@njit(nogil=True)
def add_groups(
    n: Any, f: Any, f2: Any, from_zero: Any, slope: Any, level: Any, term: Any, weight: Any, out: Any
) -> None:  # fmt: skip  # pragma: no cover
    """Add the impressions of groups to `out`, (3, BUCKETS, 2): count and sum of slope·reward + level, of slope·reward +
    term, and of the weight. Of a group its impressions n, Σ reward f and Σ reward² f2 are known, as of two rewards.

    From zero, these are 0 and f2/f, which is what happened where a page has one click or none. Else the mean, more and
    less by the standard deviation.
    """
    nudged = np.empty(3)
    bits = nudged.view(np.uint64)
    shift = np.uint64(SHIFT)
    for g in range(len(n)):
        if from_zero:
            low = 0.0
            high = f2[g] / f[g] if f[g] > 0 else 0.0
            often = min(f[g] / high, n[g]) if high > 0 else 0.0
        else:
            mean, square = f[g] / n[g], f2[g] / n[g]
            variance = square - mean**2
            deviation = np.sqrt(variance) if variance > EQUAL * square else 0.0
            low, high, often = mean - deviation, mean + deviation, n[g] / 2
        for number in range(2):
            reward, count = (low, n[g] - often) if number == 0 else (high, often)
            if count == 0:
                continue
            part = slope[g] * reward
            nudged[0], nudged[1] = (part + level[g]) * NUDGE, (part + term[g]) * NUDGE
            bucket = np.int64(bits[0] >> shift)
            out[0, bucket, 0] += count
            out[0, bucket, 1] += count * (part + level[g])
            bucket = np.int64(bits[1] >> shift)
            out[1, bucket, 0] += count
            out[1, bucket, 1] += count * (part + term[g])
        nudged[2] = weight[g] * NUDGE
        bucket = np.int64(bits[2] >> shift)
        out[2, bucket, 0] += n[g]
        out[2, bucket, 1] += n[g] * weight[g]


def bucket_of(values: NDArray[np.float64]) -> Codes:
    """The bucket of each number."""
    nudged = np.ascontiguousarray(values, dtype=np.float64) * NUDGE
    return (nudged.view(np.uint64) >> np.uint64(SHIFT)).astype(np.int64)
