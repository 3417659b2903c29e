"""A policy written down ranking by ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.policy._coded import Coded, distinct, list_array, locate
from counterrank.policy.base import Id, Policy
from counterrank.policy.stored import Stored
from counterrank.policy.weighted import WeightedRankings
from counterrank.statistics.pairs import Pairs

TOLERANCE = 1e-6  # how far from 1 a query's probabilities may sum


class Table(Policy):
    """Rows of (query, ranking, probability); the probabilities of a query sum to 1.

    Assumption: none, the table is the policy. P(ranking | query) is the sum over the query's rows with that ranking;
    P(item at k) is the sum over its rankings with the item at k. Cutting to length L merges rankings with the same
    first L items. Probabilities are used as given (they may miss 1 by 1e-6). The notation is li2018's h(A | x).

    >>> policy = Table(["q", "q"], [["a", "b", "c"], ["b", "a"]], [0.75, 0.25])
    >>> policy.rank("q")
    ['a', 'b', 'c']
    >>> policy.marginals("q")["b"].tolist()
    [0.25, 0.75, 0.0]
    >>> policy.probability("q", ["b"], length=1)
    0.25
    """

    kind: ClassVar[str] = "table"

    def __init__(self, queries: Any, items: Any, probabilities: Any = None) -> None:
        self._queries = Coded.of(queries, "query")
        if len(self._queries) == 0:
            raise InputError("the policy table has no rows: give at least one (query, items) row")
        lists = list_array(items)
        if len(lists) != len(self._queries):
            raise InputError(
                f"{len(self._queries)} queries but {len(lists)} rankings came: give one ranking per query row"
            )
        self._sizes = np.asarray(pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False), np.int64)
        if not self._sizes.all():
            row = int(np.flatnonzero(self._sizes == 0)[0])
            raise InputError(f"query {self._queries.name(row)!r} has an empty ranking (row {row + 1}): list its items")
        self._offsets = np.concatenate([[0], np.cumsum(self._sizes)])
        flat = lists.flatten()
        if flat.null_count:
            row = int(np.searchsorted(self._offsets, pc.index(pc.is_null(flat), True).as_py(), side="right")) - 1
            raise InputError(
                f"query {self._queries.name(row)!r} ranks an item that is null, empty or holds a zero byte "
                f"(row {row + 1}): leave it out"
            )
        self._items = Coded.of(flat, "item")
        self._reject_repeats()
        self._probabilities = self._checked(probabilities)

    @classmethod
    def from_dict(cls, rankings: Mapping[Id, Sequence[Id]]) -> Table:
        """One sure ranking per query.

        >>> Table.from_dict({7: ["b", "a"]}).rank("7")
        ['b', 'a']
        """
        return cls(list(rankings), list(rankings.values()))

    def queries(self) -> pa.Array:
        return self._queries.texts

    def items(self) -> tuple[pa.Array, pa.Array]:
        queries = Coded(self._queries.texts, np.repeat(self._queries.codes, self._sizes))
        rows = distinct(queries, self._items)
        return queries.take(rows), self._items.take(rows)

    def rankings(self) -> tuple[pa.Array, pa.Array]:
        offsets = pa.array(self._offsets, pa.int32())
        items = self._items.take(np.arange(len(self._items)))
        return self._queries.take(np.arange(len(self._queries))), pa.ListArray.from_arrays(offsets, items)

    def rows(self) -> pa.Table:
        queries, items = self.rankings()
        return pa.table({"query": queries, "items": items, "probability": pa.array(self._probabilities)})

    @classmethod
    def restored(cls, stored: Stored) -> Table:
        stored.only("policy.parquet")
        rows = stored.columns("policy.parquet", {"query": "id", "items": "ids", "probability": "number"})
        return cls(*rows.columns)

    def bind(self, pairs: Pairs) -> WeightedRankings:
        query = pairs.query_ids.codes(self._queries.texts)[self._queries.codes]
        of = self._row_of_item()
        place = np.arange(len(of)) - self._offsets[of]
        cut = np.minimum(pairs.lengths[query], pairs.positions)  # a query of -1 is left out below
        shown = np.flatnonzero((place < cut[of]) & (query[of] >= 0))
        _, rows = locate(
            pairs,
            Coded(self._queries.texts, self._queries.codes[of[shown]]),
            Coded(self._items.texts, self._items.codes[shown]),
        )
        kept = np.flatnonzero(query >= 0)
        slot = np.cumsum(query >= 0) - 1
        rankings = np.full((len(kept), pairs.positions), -1, dtype=np.int64)
        rankings[slot[of[shown]], place[shown]] = rows
        return WeightedRankings(pairs, query[kept], rankings, self._probabilities[kept])

    def __repr__(self) -> str:
        return f"Table({len(self._sizes)} rankings of {len(self._queries.texts)} queries)"

    def _row_of_item(self) -> Codes:
        return np.repeat(np.arange(len(self._sizes)), self._sizes)

    def _reject_repeats(self) -> None:
        keys = np.sort((self._row_of_item() << 32) | self._items.codes)
        twice = keys[1:][keys[1:] == keys[:-1]]
        if len(twice):
            row, item = int(twice[0] >> 32), self._items.texts[int(twice[0] & 0xFFFFFFFF)].as_py()
            raise InputError(
                f"query {self._queries.name(row)!r} ranks item {item!r} twice (row {row + 1}): show it once"
            )

    def _checked(self, given: Any) -> NDArray[np.float64]:
        if given is None:
            values = np.ones(len(self._queries))
        else:
            array = given if isinstance(given, pa.Array | pa.ChunkedArray) else pa.array(given)
            values = np.asarray(pc.fill_null(array.cast(pa.float64()), np.nan).to_numpy(), dtype=np.float64)
        if len(values) != len(self._queries):
            raise InputError(f"{len(values)} probabilities for {len(self._queries)} rankings: give one per ranking")
        bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
        if len(bad):
            row = int(bad[0])
            raise InputError(
                f"query {self._queries.name(row)!r} has probability {values[row]} (row {row + 1}): "
                "give a number from 0 to 1 for every ranking"
            )
        sums = np.bincount(self._queries.codes, values, len(self._queries.texts))
        off = np.flatnonzero(np.abs(sums - 1) > TOLERANCE * (1 + 1e-9))
        if len(off):
            query = self._queries.texts[int(off[0])].as_py()
            raise InputError(
                f"the probabilities of query {query!r} sum to {sums[off[0]]:.9g}, not to 1: "
                "divide them by their sum, or give one ranking per query"
            )
        return values
