"""Coded rows on their way between processes: each batch brings the ids and pairs that were first met in it.

So a process that reads the batches of a part in their order knows what its codes mean, whoever coded them, and whether
or not they were coded once more since the counts were made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.engine.coder import CodedRows, Coder
from counterrank.engine.narrow import Narrow, NarrowRows, narrowed, widened
from counterrank.engine.packed import Arrays, packed, unpacked
from counterrank.engine.runs import Runs
from counterrank.ids import Codes, apart, together
from counterrank.records import dataclass
from counterrank.statistics.pairs import Pairs

SENT_BYTES = 1 << 18  # of rows that are sent together: Java's heap takes many small arrays better than a few large ones
_COLUMNS = ("impressions", "reward", "chances")
_TEXTS = ("queries", "items")


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
        }
        for name, texts in zip(_TEXTS, (queries, items), strict=True):
            new[f"{name}.ends"], new[f"{name}.bytes"] = apart(texts)
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


@dataclass(frozen=True, kw_only=True)
class SentRows:
    """A batch that came in runs of one query each, its codes as those of `NarrowRows`."""

    narrow: Narrow
    run_query: NDArray[np.int32]  # -1: of no query
    run_size: NDArray[np.int32]
    receiver: Receiver = field(repr=False)
    impressions: NDArray[np.int64] | None
    reward: NDArray[np.float64] | None
    cluster: None = None

    def __len__(self) -> int:
        return len(self.narrow)

    @property
    def starts(self) -> Codes:
        """Where each run begins, and the last ends."""
        return np.append(0, np.cumsum(self.run_size, dtype=np.int64))

    @property
    def coded(self) -> NDArray[np.int32]:
        """The codes of all rows."""
        return self.taken(np.arange(len(self)))

    def taken(self, picked: Codes) -> NDArray[np.int32]:
        """The codes of these rows."""
        return self._wide(picked, self.narrow.shape[1])

    def heads(self) -> NDArray[np.int32]:
        """The first code of each row."""
        return self._wide(np.arange(len(self)), 1)[:, 0]

    def _wide(self, picked: Codes, columns: int) -> NDArray[np.int32]:
        begins, listed = self.receiver.by_query()
        each = np.append(begins, 0)[self.run_query]  # rows of no query have no pairs
        return widened(picked, self.narrow, self.starts, each, listed, columns)


def runs_by_query(batches: Sequence[SentRows]) -> Runs:
    """The rows of batches of one form, query by query: what is known of a query stays in a processor's cache."""
    begins, _ = batches[0].receiver.by_query()
    query = np.concatenate([each.run_query for each in batches])
    starts = [each.starts for each in batches]
    before = np.append(0, np.cumsum([len(each) for each in batches]))
    first, last = (
        np.concatenate([edges[which] + offset for edges, offset in zip(starts, before, strict=False)])
        for which in (slice(None, -1), slice(1, None))
    )
    order = np.argsort(query, kind="stable")
    order = order[query[order] >= 0]
    counted = [each.impressions for each in batches if each.impressions is not None]
    return Runs.by_place(
        np.concatenate([each.narrow for each in batches]),
        np.concatenate(counted) if counted else None,
        first[order],
        last[order],
        begins[query[order]],
    )


class Receiver:
    """The batches of one sender in their order; pair p of the sender is row rows[p] of `pairs`, -1 for none."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.rows = self.queries = self._query_codes = self._item_codes = np.zeros(0, dtype=np.int64)
        self._pair_query = self._begins = np.zeros(0, dtype=np.int64)
        self._pair_place = self._listed = np.zeros(0, dtype=np.int32)

    def unpacked(self, data: Any) -> tuple[CodedRows | SentRows, Codes | None]:
        """A batch under the sender's codes, and its days."""
        arrays = unpacked(data)
        if "pair_query" in arrays:
            self._learn(arrays)
        days = arrays.get("day")
        if "coded" in arrays:
            columns: dict[str, Any] = {name: arrays.get(name) for name in _COLUMNS}
            return CodedRows(coded=arrays["coded"], starts=np.zeros(0, dtype=np.int64), **columns), days
        rows = SentRows(
            narrow=arrays["narrow"], run_query=arrays["run_query"], run_size=arrays["run_size"], receiver=self,
            impressions=arrays.get("impressions"), reward=arrays.get("reward"),
        )  # fmt: skip
        return rows, days

    def by_query(self) -> tuple[Codes, NDArray[np.int32]]:
        """Where the pairs of each query begin, and these by their places."""
        if len(self._listed) != len(self._pair_query):
            sizes = np.bincount(self._pair_query)
            self._begins = np.cumsum(sizes) - sizes
            self._listed = np.empty(len(self._pair_query), dtype=np.int32)
            at = self._begins[self._pair_query] + self._pair_place
            self._listed[at] = np.arange(len(at), dtype=np.int32)
        return self._begins, self._listed

    def _learn(self, arrays: Arrays) -> None:
        """Ids and pairs that are new."""
        pairs = self.pairs
        queries, items = (together(arrays[f"{name}.ends"], arrays[f"{name}.bytes"]) for name in _TEXTS)
        self._query_codes = np.append(self._query_codes, pairs.query_ids.codes(queries))
        self._item_codes = np.append(self._item_codes, pairs.item_ids.codes(items))
        of_query = self._query_codes[arrays["pair_query"]]
        self.queries = np.append(self.queries, of_query)
        self._pair_query = np.append(self._pair_query, arrays["pair_query"])
        self._pair_place = np.append(self._pair_place, arrays["pair_place"])
        self.rows = np.append(self.rows, pairs.find(of_query, self._item_codes[arrays["pair_item"]]))
