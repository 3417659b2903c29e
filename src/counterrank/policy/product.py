"""A bound policy whose positions have items of their own and are filled independently of each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.policy._pairs import PairMarginals, places
from counterrank.policy.base import BoundPolicy, missing_query
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.pairs import Table as PairTable

LISTED = 100_000  # rankings that are listed one by one, at most


class BoundSlots(BoundPolicy):
    """Position k of query q shows one of the items of slot q·K + k, whatever the other positions show.

    `rows` are the items as rows of `pairs`, each with its position (from 0) and its chance; an item has one position.
    Those that can be shown are kept slot by slot, the likeliest first and equal ones by row: those of slot s are at
    starts[s]:starts[s+1]. `sizes` (Q, K) also counts the items of chance 0; `shown` (Q,) is how many slots are filled.
    """

    def __init__(self, pairs: Pairs, rows: Codes, positions: Codes, chances: NDArray[np.float64]) -> None:
        self.pairs = pairs
        queries = pairs.queries[rows]
        inside = positions < np.minimum(pairs.lengths, pairs.positions)[queries]
        rows, positions, queries, chances = rows[inside], positions[inside], queries[inside], chances[inside]
        slots, count = queries * pairs.positions + positions, len(pairs.query_ids) * pairs.positions
        self.sizes: Codes = np.bincount(slots, minlength=count).reshape(-1, pairs.positions)
        self.shown: Codes = (self.sizes > 0).sum(axis=1)
        self.position_of: Codes = np.full(len(pairs), -1, dtype=np.int64)  # of each pair, -1 where it is in no slot
        self.position_of[rows] = positions
        self.chance_of: NDArray[np.float64] = np.zeros(len(pairs))
        self.chance_of[rows] = chances
        order = np.lexsort((rows, -chances, slots))
        order = order[chances[order] > 0]
        self.rows, self.slots = rows[order], slots[order]
        self.starts: Codes = np.searchsorted(self.slots, np.arange(count + 1)).astype(np.int64)

    def part(self, first: int, last: int) -> PairTable:
        rows = slice(self.pairs.starts[first], self.pairs.starts[last])
        own = np.flatnonzero(self.position_of[rows] >= 0)
        out = np.zeros((rows.stop - rows.start, self.pairs.positions))
        out[own, self.position_of[rows][own]] = self.chance_of[rows][own]
        return out

    def at(self, rows: Codes, positions: Codes) -> NDArray[np.float64]:
        return np.where(self.position_of[rows] == positions, self.chance_of[rows], 0.0)

    def exposure(self, looks: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.append(looks, 0.0)[self.position_of] * self.chance_of)

    def squares(self) -> NDArray[np.float64]:
        return np.asarray(self.chance_of**2)

    def probability(self, queries: Codes, rankings: Codes) -> NDArray[np.float64]:
        if len(self.pairs) == 0:
            return np.zeros(len(queries))
        place = np.arange(rankings.shape[1])
        filled = place < self.shown[queries][:, None]
        own = (self.position_of[rankings] == place) & (self.pairs.queries[rankings] == queries[:, None])
        chance = np.where(own & (rankings >= 0), self.chance_of[rankings], 0.0)
        chance = np.where(filled, chance, np.where(rankings >= 0, 0.0, 1.0))
        possible = (chance > 0).all(axis=1) & (self.shown[queries] > 0)
        return np.where(possible, np.maximum(chance.prod(axis=1), 5e-324), 0.0)  # what can be shown is never 0

    def support(self) -> tuple[Codes, Codes, NDArray[np.float64]] | None:
        """Every combination, where they are not too many."""
        wide = np.diff(self.starts).reshape(-1, max(self.pairs.positions, 1))
        counts = np.where(self.shown > 0, np.maximum(wide, 1).prod(axis=1, dtype=np.float64), 0.0)
        if counts.sum() > LISTED:
            return None
        each = counts.astype(np.int64)
        queries = np.repeat(np.arange(len(each)), each)
        left = np.arange(len(queries)) - np.repeat(np.cumsum(each) - each, each)
        rankings = np.full((len(queries), self.pairs.positions), -1, dtype=np.int64)
        for k in reversed(range(self.pairs.positions)):
            size, some = np.maximum(wide[queries, k], 1), wide[queries, k] > 0
            first = self.starts[queries * self.pairs.positions + k]
            rankings[some, k] = self.rows[(first + left % size)[some]]
            left //= size
        return queries, rankings, self.probability(queries, rankings)

    def pair_marginals(self, query: int) -> PairMarginals:
        """Items of two slots stand independently; of one slot, never together."""
        rows, length = slice(self.pairs.starts[query], self.pairs.starts[query + 1]), places(self.pairs, query)
        alone, position = self.chance_of[rows], self.position_of[rows]
        both = np.outer(alone, alone) * (position[:, None] != position)
        np.fill_diagonal(both, alone)
        at = np.flatnonzero(position >= 0)
        cells = at * length + position[at]
        out = np.zeros((len(alone) * length, len(alone) * length))
        out[np.ix_(cells, cells)] = both[np.ix_(at, at)]
        return PairMarginals(out)

    def largest(self, query: int, worth: PairTable) -> float:
        """The largest |Σₖ worth(aₖ, k)| that the query's slots can add up to."""
        high = low = 0.0
        for k in range(int(self.shown[query])):
            slot = query * self.pairs.positions + k
            mine = worth[self.rows[self.starts[slot] : self.starts[slot + 1]] - self.pairs.starts[query], k]
            high, low = high + float(mine.max()), low + float(mine.min())
        return max(high, -low) if self.shown[query] else float("nan")

    def sample(self, queries: Codes, rng: np.random.Generator) -> Codes:
        self._check(queries)
        upto = np.concatenate([[0.0], np.cumsum(self.chance_of[self.rows])])
        out = np.full((len(queries), self.pairs.positions), -1, dtype=np.int64)
        for k in range(self.pairs.positions):
            some = np.flatnonzero(self.shown[queries] > k)
            slot = queries[some] * self.pairs.positions + k
            first, stop = self.starts[slot], self.starts[slot + 1]
            aim = upto[first] + rng.random(len(some)) * (upto[stop] - upto[first])
            drawn = np.searchsorted(upto[1:], aim, side="right")
            out[some, k] = self.rows[np.clip(drawn, first, stop - 1)]  # rounding may step over an edge
        return out

    def best(self, queries: Codes) -> Codes:
        self._check(queries)
        place = np.arange(self.pairs.positions)
        filled = place < self.shown[queries][:, None]
        first = self.starts[queries[:, None] * self.pairs.positions + place]
        return np.where(filled, self.rows[np.where(filled, first, 0)], -1)

    def _check(self, queries: Codes) -> None:
        if (self.shown[queries] == 0).any():
            raise missing_query(self.pairs, queries[self.shown[queries] == 0])
