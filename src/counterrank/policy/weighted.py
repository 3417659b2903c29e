"""A bound policy given as weighted rankings: what a table and the log's own shares come down to."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.policy._pairs import PairMarginals, of_rankings
from counterrank.policy.base import BoundPolicy, missing_query
from counterrank.statistics.cells import Cells
from counterrank.statistics.hashing import ranking_keys
from counterrank.statistics.order import row_order
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.pairs import Table as PairTable


class WeightedRankings(BoundPolicy):
    """Rankings with their probabilities; equal rankings of a query add up, those of probability 0 drop out.

    rankings is (G, K) rows of `pairs`, -1 beyond the end; weights are probabilities, or counts with `totals` (Q,) to
    divide by. A ranking is known by its 64-bit key.
    """

    def __init__(
        self,
        pairs: Pairs,
        queries: Codes,
        rankings: Codes,
        weights: NDArray[np.float64],
        totals: NDArray[np.float64] | None = None,
    ) -> None:
        self.pairs = pairs
        some = np.flatnonzero(weights > 0)
        order, heads = row_order(queries[some], rankings[some])
        order = some[order]
        first = np.minimum.reduceat(order, heads) if len(heads) else order  # the earliest of equal rankings
        summed = np.add.reduceat(weights[order], heads) if len(heads) else np.empty(0)
        self._queries, self._rankings, self._rows = queries[first], rankings[first], first
        self._probabilities = summed if totals is None else summed / totals[self._queries]
        self._starts = np.searchsorted(self._queries, np.arange(len(pairs.query_ids) + 1))
        keys = _keys(self._queries, self._rankings)
        self._by_key = np.argsort(keys)
        self._keys = keys[self._by_key]

    @cached_property
    def _cells(self) -> tuple[Cells, NDArray[np.float64]]:
        """The (pair, position) that its rankings show, and how likely each is."""
        ranking, position = np.nonzero(self._rankings >= 0)
        chances = [self._probabilities[ranking]]
        depth = self.pairs.positions
        cells, (found,) = Cells.added(self._rankings[ranking, position], position, chances, len(self.pairs), depth)
        return cells, found

    def part(self, first: int, last: int) -> PairTable:
        cells, chances = self._cells
        return cells.dense(chances, int(self.pairs.starts[first]), int(self.pairs.starts[last]))

    def at(self, rows: Codes, positions: Codes) -> NDArray[np.float64]:
        cells, chances = self._cells
        return cells.at(chances, rows, positions)

    def on(self, cells: Cells) -> NDArray[np.float64]:
        mine, chances = self._cells
        if len(mine) >= len(cells):
            return mine.at(chances, cells.rows, cells.positions)
        at, out = cells.find(mine.rows, mine.positions), np.zeros(len(cells))
        out[at[at >= 0]] = chances[at >= 0]
        return out

    def exposure(self, looks: NDArray[np.float64]) -> NDArray[np.float64]:
        cells, chances = self._cells
        return cells.weighed(chances, looks)

    quick = True

    def exposure_of(self, looks: NDArray[np.float64], first: int, last: int) -> NDArray[np.float64]:
        cells, chances = self._cells
        return cells.weighed(chances, looks, int(self.pairs.starts[first]), int(self.pairs.starts[last]))

    def squares(self) -> NDArray[np.float64]:
        cells, chances = self._cells
        return cells.by_pair(chances**2)

    def probability(self, queries: Codes, rankings: Codes) -> NDArray[np.float64]:
        if len(self._keys) == 0:
            return np.zeros(len(queries))
        keys = _keys(queries, rankings)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self._probabilities[self._by_key[at]], 0.0)

    def support(self) -> tuple[Codes, Codes, NDArray[np.float64]]:
        return self._queries, self._rankings, self._probabilities

    def pair_marginals(self, query: int) -> PairMarginals:
        mine = slice(self._starts[query], self._starts[query + 1])
        return PairMarginals(of_rankings(self.pairs, query, self._rankings[mine], self._probabilities[mine]))

    def largest(self, query: int, worth: PairTable) -> float:
        """The largest |Σₖ worth(aₖ, k)| of a query's rankings, `worth` being of its items and positions."""
        mine = self._rankings[self._starts[query] : self._starts[query + 1], : worth.shape[1]]
        if len(mine) == 0:
            return float("nan")
        local = np.where(mine >= 0, mine - self.pairs.starts[query], 0)
        return float(np.abs(np.where(mine >= 0, worth[local, np.arange(mine.shape[1])], 0.0).sum(axis=1)).max())

    def sample(self, queries: Codes, rng: np.random.Generator) -> Codes:
        first, stop = self._range(queries)
        upto = np.concatenate([[0.0], np.cumsum(self._probabilities)])
        aim = upto[first] + rng.random(len(queries)) * (upto[stop] - upto[first])
        drawn = np.searchsorted(upto[1:], aim, side="right")
        return np.asarray(self._rankings[np.clip(drawn, first, stop - 1)])  # rounding may step over an edge

    def best(self, queries: Codes) -> Codes:
        first, _ = self._range(queries)
        order = np.lexsort((self._rows, -self._probabilities, self._queries))  # equal ones: as they came
        return np.asarray(self._rankings[order[first]])

    def _range(self, queries: Codes) -> tuple[Codes, Codes]:
        first, stop = self._starts[queries], self._starts[queries + 1]
        if (first == stop).any():
            raise missing_query(self.pairs, queries[first == stop])
        return first, stop


def _keys(queries: Codes, rankings: Codes) -> NDArray[np.uint64]:
    return ranking_keys(queries, rankings, (rankings >= 0).sum(axis=1))
