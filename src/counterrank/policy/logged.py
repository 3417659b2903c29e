"""The logging policy as the log shows it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.policy._pairs import PairMarginals
from counterrank.policy.base import BLOCK, BoundPolicy, Policy
from counterrank.policy.stored import Stored
from counterrank.policy.weighted import WeightedRankings
from counterrank.statistics.cells import Cells
from counterrank.statistics.pairs import FEW, Pairs
from counterrank.statistics.pairs import Table as PairTable


class Logged(Policy):
    """Stands for the logging policy, as shares in the log; the word `logging` means it wherever a policy is asked for.

    It holds no data: a run turns it into `LoggedShares` with the log's counts.

    >>> Logged()
    Logged()
    """

    kind: ClassVar[str] = "logged"

    def stored(self) -> Stored:
        return Stored.of(self.kind)

    @classmethod
    def restored(cls, stored: Stored) -> Logged:
        stored.only()
        return cls()

    def queries(self) -> None:
        return None

    def items(self) -> tuple[pa.Array, pa.Array]:
        return pa.array([], pa.string()), pa.array([], pa.string())

    def bind(self, pairs: Pairs) -> BoundPolicy:
        raise InputError(
            "the logging policy is known from a log only: evaluate it with one, or count the log into LoggedShares"
        )

    def __repr__(self) -> str:
        return "Logged()"


class LoggedShares(BoundPolicy):
    """P(item at k) = impressions of the query with the item at k / impressions of the query; rankings likewise.

    Assumption: the logging policy did not change within the log. Shares estimate its probabilities consistently, but
    what was never logged gets 0: values lean towards what was (li2018, section 6.1, takes these shares as π̂). Over the
    items of a query a position sums to less than 1 where some of its lists were shorter.

    shown: impressions per pair and position, as a table (P, K) or, with `cells`, of these cells alone; per_query: (Q,)
    impressions. Rankings, optional: for each group of identical impressions its query, its ranking (rows of `pairs`, -1
    beyond the end) and its count.

    >>> from counterrank.ids import Ids
    >>> two = np.arange(2)
    >>> pairs = Pairs.build(Ids(pa.array(["q"])), Ids(pa.array(["a", "b"])), 0 * two, two, np.array([1]), positions=1)
    >>> LoggedShares(pairs, shown=np.array([[3], [1]]), per_query=np.array([4])).marginals().tolist()
    [[0.75], [0.25]]
    """

    def __init__(
        self,
        pairs: Pairs,
        shown: NDArray[np.int64] | NDArray[np.float64],
        per_query: NDArray[np.int64] | NDArray[np.float64],
        queries: Codes | None = None,
        rankings: Codes | None = None,
        counts: NDArray[np.int64] | NDArray[np.float64] | None = None,
        *,
        cells: Cells | None = None,
    ) -> None:
        self.pairs = pairs
        self._per_query = np.maximum(per_query, 1).astype(np.float64)
        self.cells, shown = (cells, shown) if cells is not None else _filled(shown)
        of_query = np.diff(self.cells.starts[pairs.starts])  # (Q,) cells
        self.shares: NDArray[np.float64] = shown / np.repeat(self._per_query, of_query)  # (C,)
        self._exposed: dict[bytes, NDArray[np.float64]] = {}  # of few looks, which several estimators ask for
        self._groups: WeightedRankings | None = None
        if queries is not None and rankings is not None and counts is not None:
            self._groups = WeightedRankings(pairs, queries, rankings, counts.astype(np.float64), self._per_query)

    def part(self, first: int, last: int) -> PairTable:
        return self.cells.dense(self.shares, int(self.pairs.starts[first]), int(self.pairs.starts[last]))

    def at(self, rows: Codes, positions: Codes) -> NDArray[np.float64]:
        return self.cells.at(self.shares, rows, positions)

    def on(self, cells: Cells) -> NDArray[np.float64]:
        return self.shares if cells is self.cells else super().on(cells)

    def exposure(self, looks: NDArray[np.float64]) -> NDArray[np.float64]:
        if len(self.shares) > FEW:
            return self.cells.weighed(self.shares, looks)
        key = looks.tobytes()
        if key not in self._exposed:
            self._exposed[key] = self.cells.weighed(self.shares, looks)
        return self._exposed[key]

    quick = True

    def exposure_of(self, looks: NDArray[np.float64], first: int, last: int) -> NDArray[np.float64]:
        return self.cells.weighed(self.shares, looks, int(self.pairs.starts[first]), int(self.pairs.starts[last]))

    def by_position(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        out = np.zeros(self.cells.depth)
        for first, last in self.pairs.blocks(BLOCK):
            mine = slice(int(self.pairs.starts[first]), int(self.pairs.starts[last]))
            cells = self.cells.within(mine)
            shown = self.shares[cells] * values[self.cells.rows_of(mine)]
            out += np.bincount(self.cells.positions[cells], shown, self.cells.depth)
        return out

    def squares(self) -> NDArray[np.float64]:
        return self.cells.by_pair(self.shares**2)

    def probability(self, queries: Codes, rankings: Codes) -> NDArray[np.float64]:
        return self._rankings().probability(queries, rankings)

    def pair_marginals(self, query: int) -> PairMarginals:
        return self._rankings().pair_marginals(query)

    def sample(self, queries: Codes, rng: np.random.Generator) -> Codes:
        return self._rankings().sample(queries, rng)

    def best(self, queries: Codes) -> Codes:
        """The most logged ranking."""
        return self._rankings().best(queries)

    def _rankings(self) -> WeightedRankings:
        if self._groups is None:
            raise InputError("the log's rankings were not counted: give LoggedShares queries, rankings and counts")
        return self._groups


def _filled(table: NDArray[Any]) -> tuple[Cells, NDArray[Any]]:
    cells, (values,) = Cells.of_tables(np.asarray(table))
    return cells, values
