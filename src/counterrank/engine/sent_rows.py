"""Coded rows on their way between processes: each batch brings the ids and pairs that were first met in it.

So a process that reads the batches of a part in their order knows what its codes mean, whoever coded them, and whether
or not they were coded once more since the counts were made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.engine.coder import CodedRows, Coder
from counterrank.engine.narrow import NarrowRows, narrowed, widened
from counterrank.engine.packed import Arrays, packed, text_arrays, texts_of, unpacked
from counterrank.ids import Codes
from counterrank.statistics.pairs import Pairs

SENT_BYTES = 1 << 18  # of rows that are sent together: Java's heap takes many small arrays better than a few large ones
_COLUMNS = ("impressions", "reward", "chances")


class Sender:
    """Fed with the coded rows of one coder."""

    def __init__(self, coder: Coder) -> None:
        self.coder = coder
        self._queries = self._items = self._pairs = 0  # sent so far

    def packed(self, rows: CodedRows, days: Codes | None) -> Iterator[bytes]:
        """A batch, some rows at a time; its days as numbers, where they are counted."""
        coder = self.coder
        queries, items = coder.queries.ids().texts[self._queries :], coder.items.ids().texts[self._items :]
        fresh = slice(self._pairs, coder.used)
        self._queries, self._items, self._pairs = coder.queries.size, coder.items.size, coder.used
        new: dict[str, Any] = {
            "pair_query": coder.pairs.query[fresh],
            "pair_item": coder.pairs.item[fresh],
            "pair_place": coder.pairs.place[fresh],
            **text_arrays("queries", queries),
            **text_arrays("items", items),
        }
        small = narrowed(rows, coder.pairs)
        shown = {"narrow": small.narrow} if isinstance(small, NarrowRows) else {"coded": rows.coded}
        columns = {name: getattr(rows, name) for name in _COLUMNS} | shown | {"day": days}
        known = {name: column for name, column in columns.items() if column is not None}
        each = sum(column.nbytes for column in known.values()) // max(len(rows), 1)
        size = max(SENT_BYTES // max(each, 1), 1)
        for first in range(0, len(rows), size):
            last = min(first + size, len(rows))
            if isinstance(small, NarrowRows):
                new["run_query"], new["run_size"] = small.runs(first, last)
            yield packed({name: column[first:last] for name, column in known.items()} | new)
            new = {}  # the first brings them


class Receiver:
    """The batches of one sender in their order; pair p of the sender is row rows[p] of `pairs`, -1 for none."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.rows = self.queries = self._query_codes = self._item_codes = np.zeros(0, dtype=np.int64)
        self._pair_query = self._begins = np.zeros(0, dtype=np.int64)
        self._pair_place = self._listed = np.zeros(0, dtype=np.int32)

    def unpacked(self, data: Any) -> tuple[CodedRows, Codes | None, bool]:
        """A batch under the sender's codes, its days, and whether there are pairs that are new."""
        arrays = unpacked(data)
        grown = "pair_query" in arrays and self._learn(arrays)
        columns: dict[str, Any] = {name: arrays.get(name) for name in _COLUMNS}
        coded = arrays["coded"] if "coded" in arrays else self._widened(arrays)
        return CodedRows(coded=coded, starts=np.zeros(0, dtype=np.int64), **columns), arrays.get("day"), grown

    def _widened(self, arrays: Arrays) -> NDArray[np.int32]:
        if len(self._listed) != len(self._pair_query):
            sizes = np.bincount(self._pair_query)
            self._begins = np.cumsum(sizes) - sizes
            self._listed = np.empty(len(self._pair_query), dtype=np.int32)
            at = self._begins[self._pair_query] + self._pair_place
            self._listed[at] = np.arange(len(at), dtype=np.int32)
        begins = np.append(self._begins, 0)[arrays["run_query"]]  # rows of no query, -1, have no pairs
        return widened(arrays["narrow"], arrays["run_size"], begins, self._listed)

    def _learn(self, arrays: Arrays) -> bool:
        """Ids and pairs that are new; whether there are such pairs."""
        pairs = self.pairs
        queries, items = (texts_of(name, arrays) for name in ("queries", "items"))
        self._query_codes = np.append(self._query_codes, pairs.query_ids.codes(queries))
        self._item_codes = np.append(self._item_codes, pairs.item_ids.codes(items))
        of_query = self._query_codes[arrays["pair_query"]]
        self.queries = np.append(self.queries, of_query)
        self._pair_query = np.append(self._pair_query, arrays["pair_query"])
        self._pair_place = np.append(self._pair_place, arrays["pair_place"])
        self.rows = np.append(self.rows, pairs.find(of_query, self._item_codes[arrays["pair_item"]]))
        return len(of_query) > 0
