"""Terms by query: how many units of each query fell into each bucket, and their sums. Parts add up to the whole."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.histogram import BUCKETS, bucket_of
from counterrank.statistics.terms import Units, edges

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class QueryUnits:
    """Filled buckets only, one row each, by query, size and bucket: how many units, and the sum of their terms.

    >>> part = QueryUnits.of(np.array([1, 0, 1]), np.array([2.0, 0.0, 2.0]))
    >>> part.queries.tolist(), (part + part).counts.tolist(), part.sums.tolist()
    ([0, 1], [2.0, 4.0], [0.0, 4.0])
    """

    queries: NDArray[np.int32]
    sizes: Vector  # impressions of a unit
    buckets: NDArray[np.int32]
    counts: Vector
    sums: Vector

    @classmethod
    def of(
        cls, queries: Codes, values: Vector, counts: Vector | None = None, sizes: Vector | float = 1.0
    ) -> QueryUnits:
        """Of terms, each as often as `counts` says."""
        n = np.ones(len(values)) if counts is None else np.asarray(counts, dtype=np.float64)
        return cls.gathered(queries, np.broadcast_to(sizes, len(values)), bucket_of(values), n, n * values)

    @classmethod
    def gathered(cls, queries: Codes, sizes: Vector, buckets: Codes, counts: Vector, sums: Vector) -> QueryUnits:
        """From rows in any order, repeats allowed."""
        used = np.flatnonzero(counts > 0)
        queries, buckets = queries[used], buckets[used]
        sizes, counts, sums = sizes[used], counts[used], sums[used]
        place = np.asarray(queries, dtype=np.int64) * BUCKETS + buckets
        alike = not len(sizes) or bool((sizes == sizes[0]).all())
        order = np.argsort(place, kind="stable") if alike else np.lexsort((buckets, sizes, queries))
        place, sized = place[order], sizes[order]
        first = np.flatnonzero(np.r_[True, (place[1:] != place[:-1]) | (sized[1:] != sized[:-1])][: len(place)])
        total = [np.add.reduceat(each[order], first) if len(first) else each[:0] for each in (counts, sums)]
        every = np.broadcast_to(sized[:1].copy(), len(first)) if alike and len(first) else sized[first]
        of, bucket = (each[order][first].astype(np.int32) for each in (queries, buckets))
        return cls(of, every, bucket, total[0], total[1])

    @classmethod
    def joined(cls, parts: Sequence[QueryUnits]) -> QueryUnits:
        """All units. Parts of other queries each are put one after the other, without sorting their rows anew."""
        names = ("queries", "sizes", "buckets", "counts", "sums")
        some = sorted((part for part in parts if len(part)), key=lambda part: int(part.queries[0]))
        if some and all(one.queries[-1] < other.queries[0] for one, other in pairwise(some)):
            return cls(*(_strung([getattr(part, name) for part in some]) for name in names))
        return cls.gathered(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def __add__(self, other: QueryUnits) -> QueryUnits:
        return QueryUnits.joined([self, other])

    def __len__(self) -> int:
        return len(self.queries)

    def at(self, rows: slice) -> QueryUnits:
        """Some of the rows."""
        return QueryUnits(self.queries[rows], self.sizes[rows], self.buckets[rows], self.counts[rows], self.sums[rows])

    def starts(self, queries: int) -> Codes:
        """Where the rows of each of so many queries begin, and the end."""
        return np.searchsorted(self.queries, np.arange(queries + 1))

    def units(self) -> Units:
        """The rows as units between the edges of their buckets."""
        low, high = edges(self.buckets)
        return Units(self.counts, self.sums, low, high, self.sizes)


@dataclass(frozen=True)
class QueryTerms:
    """As `Terms`, of each query."""

    for_lower: QueryUnits
    for_upper: QueryUnits
    least: Vector  # (Q,)
    most: Vector  # (Q,)


def _strung(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One after the other; a single number that all of them repeat is kept once."""
    first = parts[0]
    if all(each.strides == (0,) and each[0] == first[0] for each in parts):
        return np.broadcast_to(first[:1], sum(map(len, parts)))
    return np.concatenate(parts)
