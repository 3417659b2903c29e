"""What scores, Plackett–Luce and uniform policies share: each query's candidates, best first, of which L are shown."""

from __future__ import annotations

from abc import abstractmethod
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.policy.base import BoundPolicy, missing_query
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.sorting import falling

_CHUNK = 1 << 22  # candidates drawn at a time: bounds the memory of sample()


class OrderedCandidates(BoundPolicy):
    """Every ranking of query q shows min(lengths[q], number of candidates) of its candidates.

    `rows` are the candidates as rows of `pairs`, `worth` a number each. They are kept by query, the largest worth
    first and equal ones by row; those of query q are at starts[q]:starts[q+1].
    """

    def __init__(self, pairs: Pairs, rows: Codes, worth: NDArray[np.float64]) -> None:
        self.pairs = pairs
        order = np.lexsort((rows, -worth, pairs.queries[rows]))
        self.queries: Codes = pairs.queries[rows[order]]
        self.starts: Codes = np.searchsorted(self.queries, np.arange(len(pairs.query_ids) + 1)).astype(np.int64)
        self.rows, self.worth = rows[order], worth[order]
        self.sizes: Codes = np.diff(self.starts)
        self.shown: Codes = np.minimum(np.minimum(pairs.lengths, self.sizes), pairs.positions).astype(np.int64)
        self.place: Codes = np.full(len(pairs), -1, dtype=np.int64)  # of each pair, its index among the candidates
        self.place[self.rows] = np.arange(len(self.rows))

    @abstractmethod
    def arrivals(self, candidates: Codes, rng: np.random.Generator) -> NDArray[np.float64]:
        """A random number per candidate such that their ascending order is a draw from the policy."""

    def possible(self, query: int) -> NDArray[np.bool_]:
        """(candidates, places) of a query: where each may stand. Every way of filling the places so can be shown."""
        return np.ones((int(self.sizes[query]), int(self.shown[query])), dtype=bool)

    def sample(self, queries: Codes, rng: np.random.Generator) -> Codes:
        sizes = self.sizes[queries]
        if (sizes == 0).any():
            raise missing_query(self.pairs, queries[sizes == 0])
        out = np.full((len(queries), self.pairs.positions), -1, dtype=np.int64)
        upto = np.concatenate([[0], np.cumsum(sizes)])
        edges = np.unique(np.searchsorted(upto, np.arange(0, upto[-1] + _CHUNK, _CHUNK)).clip(max=len(queries)))
        for low, high in pairwise(edges):
            some, offsets = queries[low:high], upto[low : high + 1] - upto[low]
            shift = np.repeat(self.starts[some] - offsets[:-1], sizes[low:high])
            early = -self.arrivals(np.arange(offsets[-1]) + shift, rng)
            _first_arrivals(self.starts, self.rows, self.shown, some, offsets, early, out[low:high])
        return out

    def best(self, queries: Codes) -> Codes:
        if (self.sizes[queries] == 0).any():
            raise missing_query(self.pairs, queries[self.sizes[queries] == 0])
        place = np.arange(self.pairs.positions)
        shown = place < self.shown[queries][:, None]
        return np.where(shown, self.rows[np.where(shown, self.starts[queries][:, None] + place, 0)], -1)


@njit(nogil=True)
def _first_arrivals(
    starts: Any, rows: Any, shown: Any, queries: Any, offsets: Any, early: Any, out: Any
) -> None:  # pragma: no cover
    for g in range(len(queries)):
        q = queries[g]
        order = falling(early[offsets[g] : offsets[g + 1]])
        for k in range(shown[q]):
            out[g, k] = rows[starts[q] + order[k]]


@njit(nogil=True)
def is_ranking(
    start: Any, stop: Any, shown: Any, ranking: Any, place: Any, stamp: Any, mark: Any
) -> bool:  # pragma: no cover
    """Whether a row of rankings shows exactly `shown` different candidates of its query; stamps them with `mark`."""
    if start == stop or shown > len(ranking):
        return False
    for k in range(np.uint64(len(ranking))):
        row = ranking[k]
        if k >= np.uint64(shown):
            if row >= 0:
                return False
            continue
        at = place[np.uint64(row)] if row >= 0 else np.int64(-1)
        if at < start or at >= stop or stamp[np.uint64(at)] == mark:
            return False
        stamp[np.uint64(at)] = mark
    return True
