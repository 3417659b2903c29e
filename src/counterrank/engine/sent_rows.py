"""Coded rows on their way between processes: each batch brings the ids and pairs that were first met in it.

So a process that reads the batches of a part in their order knows what its codes mean, whoever coded them, and whether
or not they were coded once more since the counts were made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterrank.engine.coder import CodedRows, Coder
from counterrank.engine.packed import packed, text_arrays, texts_of, unpacked
from counterrank.ids import Codes
from counterrank.statistics.pairs import Pairs

_COLUMNS = ("impressions", "reward", "chances")


class Sender:
    """Fed with the coded rows of one coder."""

    def __init__(self, coder: Coder) -> None:
        self.coder = coder
        self._queries = self._items = self._pairs = 0  # sent so far

    def packed(self, rows: CodedRows, days: Codes | None) -> bytes:
        """A batch; its days as numbers, where they are counted."""
        coder = self.coder
        queries, items = coder.queries.ids().texts[self._queries :], coder.items.ids().texts[self._items :]
        fresh = slice(self._pairs, coder.used)
        self._queries, self._items, self._pairs = coder.queries.size, coder.items.size, coder.used
        return packed(
            {
                "coded": rows.coded,
                "day": days,
                "pair_query": coder.pairs.query[fresh],
                "pair_item": coder.pairs.item[fresh],
                **{name: getattr(rows, name) for name in _COLUMNS},
                **text_arrays("queries", queries),
                **text_arrays("items", items),
            }
        )


class Receiver:
    """The batches of one sender in their order; pair p of the sender is row rows[p] of `pairs`, -1 for none."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.rows = self.queries = self._query_codes = self._item_codes = np.zeros(0, dtype=np.int64)

    def unpacked(self, data: Any) -> tuple[CodedRows, Codes | None, bool]:
        """A batch under the sender's codes, its days, and whether there are pairs that are new."""
        arrays, pairs = unpacked(data), self.pairs
        queries, items = (texts_of(name, arrays) for name in ("queries", "items"))
        if len(queries):
            self._query_codes = np.append(self._query_codes, pairs.query_ids.codes(queries))
        if len(items):
            self._item_codes = np.append(self._item_codes, pairs.item_ids.codes(items))
        if grown := len(arrays["pair_query"]) > 0:
            of_query = self._query_codes[arrays["pair_query"]]
            self.queries = np.append(self.queries, of_query)
            self.rows = np.append(self.rows, pairs.find(of_query, self._item_codes[arrays["pair_item"]]))
        columns: dict[str, Any] = {name: arrays.get(name) for name in _COLUMNS}
        rows = CodedRows(coded=arrays["coded"], starts=np.zeros(0, dtype=np.int64), **columns)
        return rows, arrays.get("day"), grown
