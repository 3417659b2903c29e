"""A bound policy that is another one for each query."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.ids import Codes, Ids
from counterrank.policy._pairs import PairMarginals
from counterrank.policy.base import BoundPolicy, missing_query
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.pairs import Table as PairTable


class BoundChoice(BoundPolicy):
    """`by` (Q,) is the part that acts for each query, -1: none. Each part is bound to the queries it acts for alone."""

    def __init__(self, pairs: Pairs, by: Codes, bind: Sequence[Callable[[Pairs], BoundPolicy]]) -> None:
        self.pairs, self._by = pairs, by
        self._local: Codes = np.full(len(by), -1, dtype=np.int64)  # of each query, its code in its part
        self._row: Codes = np.full(len(pairs) + 1, -1, dtype=np.int64)  # of each pair, its row there; -1 of row -1
        self._parts: list[tuple[BoundPolicy, Codes] | None] = []  # with the pair of each row
        for part, act in enumerate(bind):
            queries = np.flatnonzero(by == part)
            rows = np.flatnonzero((by == part)[pairs.queries])
            self._local[queries], self._row[rows] = np.arange(len(queries)), np.arange(len(rows))
            self._parts.append((act(_only(pairs, queries, rows)), np.append(rows, -1)) if len(queries) else None)

    def part(self, first: int, last: int) -> PairTable:
        start = self.pairs.starts[first]
        out = np.zeros((self.pairs.starts[last] - start, self.pairs.positions))
        for part, held in enumerate(self._parts):
            mine = first + np.flatnonzero(self._by[first:last] == part)
            if held is not None and len(mine):
                low, high = int(self._local[mine[0]]), int(self._local[mine[-1]]) + 1
                rows = held[1][held[0].pairs.starts[low] : held[0].pairs.starts[high]]
                out[rows - start] = held[0].part(low, high)
        return out

    def at(self, rows: Codes, positions: Codes) -> NDArray[np.float64]:
        out, by = np.zeros(len(rows)), self._by[self.pairs.queries]
        for part, held in enumerate(self._parts):
            if held is not None:
                mine = np.flatnonzero(by[rows] == part)
                out[mine] = held[0].at(self._row[rows[mine]], positions[mine])
        return out

    def exposure(self, looks: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._all(lambda bound: bound.exposure(looks))

    def squares(self) -> NDArray[np.float64]:
        return self._all(lambda bound: bound.squares())

    def _all(self, ask: Callable[[BoundPolicy], NDArray[np.float64]]) -> NDArray[np.float64]:
        """(P,) from what each part says of its own pairs."""
        out = np.zeros(len(self.pairs))
        for held in self._parts:
            if held is not None:
                out[held[1][:-1]] = ask(held[0])
        return out

    def probability(self, queries: Codes, rankings: Codes) -> NDArray[np.float64]:
        out = np.zeros(len(queries))
        for part, held in enumerate(self._parts):
            if held is None:
                continue
            own = np.append(self._by[self.pairs.queries] == part, True)[rankings].all(axis=1)
            mine = np.flatnonzero((self._by[queries] == part) & own)
            out[mine] = held[0].probability(self._local[queries[mine]], self._row[rankings[mine]])
        return out

    def support(self) -> tuple[Codes, Codes, NDArray[np.float64]] | None:
        found = []
        for part, held in enumerate(self._parts):
            if held is not None:
                listed = held[0].support()
                if listed is None:
                    return None
                found.append((np.flatnonzero(self._by == part)[listed[0]], held[1][listed[1]], listed[2]))
        if not found:
            return None
        queries, rankings, chances = (np.concatenate(each) for each in zip(*found, strict=True))
        return queries, rankings, chances

    def pair_marginals(self, query: int) -> PairMarginals:
        acting = self.acting(query)
        if acting is None:
            size = int(self.pairs.sizes[query] * min(self.pairs.lengths[query], self.pairs.positions))
            return PairMarginals(np.zeros((size, size)))
        return acting[0].pair_marginals(acting[1])

    def acting(self, query: int) -> tuple[BoundPolicy, int] | None:
        """The policy that acts for a query, and the query's code there."""
        part = int(self._by[query])
        held = self._parts[part] if part >= 0 else None
        return (held[0], int(self._local[query])) if held is not None else None

    def sample(self, queries: Codes, rng: np.random.Generator) -> Codes:
        return self._each(queries, lambda bound, some: bound.sample(some, rng))

    def best(self, queries: Codes) -> Codes:
        return self._each(queries, lambda bound, some: bound.best(some))

    def _each(self, queries: Codes, act: Callable[[BoundPolicy, Codes], Codes]) -> Codes:
        if (self._by[queries] < 0).any():
            raise missing_query(self.pairs, queries[self._by[queries] < 0])
        out = np.full((len(queries), self.pairs.positions), -1, dtype=np.int64)
        for part, held in enumerate(self._parts):
            mine = np.flatnonzero(self._by[queries] == part)
            if held is not None and len(mine):
                out[mine] = held[1][act(held[0], self._local[queries[mine]])]
        return out


def _only(pairs: Pairs, queries: Codes, rows: Codes) -> Pairs:
    """The pairs of some queries, as a run of their own."""
    ids = Ids(pairs.query_ids.texts.take(pa.array(queries)), pairs.query_ids.integer)
    starts = np.concatenate([[0], np.cumsum(pairs.sizes[queries])])
    return Pairs(ids, pairs.item_ids, starts, pairs.items[rows], pairs.lengths[queries], pairs.positions)
