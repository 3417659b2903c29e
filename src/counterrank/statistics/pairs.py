"""The (query, item) pairs a run speaks of: the rows of every (pair × position) table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes, Ids
from counterrank.records import dataclass
from counterrank.statistics.order import in_order

FEW = 1 << 20  # numbers that are kept though they are quickly made: 8 MB


@dataclass(frozen=True)
class Pairs:
    """Pairs sorted by query, then by item code, so that the pairs of query q are rows starts[q]:starts[q+1].

    Queries and items have their codes in the one order of ids (`statistics.order`), whatever the order of the log.
    `lengths[q]` is how long a ranking of query q may be: min(K, its longest logged list). Policies are cut to it.
    """

    query_ids: Ids
    item_ids: Ids
    starts: Codes  # (Q+1,)
    items: Codes  # (P,)
    lengths: Codes  # (Q,)
    positions: int  # K

    @property
    def queries(self) -> Codes:
        """The query of each pair, (P,): kept where they are few, else made anew."""
        found: Codes | None = self.__dict__.get("_queries")
        if found is None:
            found = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
            if len(found) <= FEW:
                self.__dict__["_queries"] = found
        return found

    def queries_of(self, first: int, last: int) -> Codes:
        """The query of each pair of the queries first to last."""
        return np.repeat(np.arange(first, last), np.diff(self.starts[first : last + 1]))

    @property
    def sizes(self) -> Codes:
        """How many pairs each query has, (Q,)."""
        return np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.items)

    def find(self, queries: Codes, items: Codes) -> Codes:
        """The row of each (query, item), -1 where there is none (or a code is -1)."""
        if len(self.items) == 0:
            return np.full(len(queries), -1, dtype=np.int64)
        out = np.empty(len(queries), dtype=np.int64)
        _find(self.starts, self.items, queries, items, out)
        return out

    def blocks(self, numbers: int) -> list[tuple[int, int]]:
        """Ranges of queries whose (pair × position) tables have so many numbers at most, or are of one query."""
        return ranges(self.starts * max(self.positions, 1), numbers)

    def rows_of(self, other: Pairs) -> Codes:
        """The row here of each pair of `other`, which has the same queries and maybe fewer items; -1 for none."""
        items = other.items
        if other.item_ids is not self.item_ids:
            items = self.item_ids.codes(other.item_ids.texts)[items]
        return self.find(other.queries, items)

    def with_more(self, item_ids: Ids, mine: Codes, queries: Codes, items: Codes) -> Pairs:
        """These pairs, whose items are `mine` under the codes of `item_ids`, and others."""
        keys = np.concatenate([(self.queries << 32) | mine, (queries << 32) | items])
        return self._of_keys(keys, self.query_ids, item_ids, self.lengths, self.positions)

    @classmethod
    def build(
        cls, query_ids: Ids, item_ids: Ids, queries: Codes, items: Codes, lengths: Codes, positions: int
    ) -> Pairs:
        """From (query, item) codes in any order, repeats allowed."""
        return cls._of_keys((queries << 32) | items, query_ids, item_ids, lengths, positions)

    @classmethod
    def _of_keys(cls, keys: Codes, query_ids: Ids, item_ids: Ids, lengths: Codes, positions: int) -> Pairs:
        """From query·2³² + item in any order, which are sorted where they stand."""
        keys.sort(kind="stable")  # they may be in order already, but for a few
        keys = keys[_first_of_equals(keys)]
        starts = np.searchsorted(keys, np.arange(len(query_ids) + 1) << 32)
        keys &= 0xFFFFFFFF
        items: Any = keys if len(keys) <= FEW or len(item_ids) >= 1 << 31 else keys.astype(np.int32)
        return cls(query_ids, item_ids, starts, items, lengths, positions)


def ranges(upto: Codes, numbers: int) -> list[tuple[int, int]]:
    """Ranges of things that have so many numbers at most, or are one; `upto` says how many those before each have."""
    out, first, size = [], 0, len(upto) - 1
    while first < size:
        last = int(np.searchsorted(upto, upto[first] + numbers, side="right")) - 1
        out.append((first, min(max(last, first + 1), size)))
        first = out[-1][1]
    return out


def sorted_once(keys: NDArray[Any]) -> NDArray[Any]:
    """The distinct numbers, rising. NumPy's own `unique` may hash them first, which takes far longer than sorting."""
    rising = np.sort(keys)
    return rising[_first_of_equals(rising)]


def _first_of_equals(rising: NDArray[Any]) -> NDArray[np.bool_]:
    first = np.ones(len(rising), dtype=np.bool_)
    np.not_equal(rising[1:], rising[:-1], out=first[1:])
    return first


def united(sides: Sequence[Pairs]) -> tuple[Pairs, list[Codes], list[Codes]]:
    """The pairs of all; the row in it of each pair of every one, and the code of each query of every one."""
    query_ids, item_ids = _union([side.query_ids for side in sides]), _union([side.item_ids for side in sides])
    queries = [query_ids.codes(side.query_ids.texts) for side in sides]
    of_query = [codes[side.queries] for codes, side in zip(queries, sides, strict=True)]
    of_item = [item_ids.codes(side.item_ids.texts)[side.items] for side in sides]
    lengths = np.zeros(len(query_ids), dtype=np.int64)
    for codes, side in zip(queries, sides, strict=True):
        lengths[codes] = np.maximum(lengths[codes], side.lengths)
    positions = max(side.positions for side in sides)
    pairs = Pairs.build(query_ids, item_ids, np.concatenate(of_query), np.concatenate(of_item), lengths, positions)
    return pairs, [pairs.find(*each) for each in zip(of_query, of_item, strict=True)], queries


def _union(sides: Sequence[Ids]) -> Ids:
    texts = pa.chunked_array([side.texts for side in sides], pa.string()).unique()
    return in_order(Ids(texts, all(side.integer for side in sides)))[0]


Table = NDArray[np.float64]  # (P, K): one number per pair and position


def sum_runs(starts: Codes, values: NDArray[Any]) -> NDArray[np.float64]:
    """Σ of the values from each start to the next."""
    out = np.zeros(len(starts) - 1)
    add_runs(starts, values, out)
    return out


@njit(nogil=True)
def add_runs(starts: Any, values: Any, out: Any) -> None:  # pragma: no cover
    for run in range(len(out)):
        for at in range(starts[run], starts[run + 1]):
            out[run] += values[at]


@njit(nogil=True)
def _find(starts: Any, items: Any, queries: Any, wanted: Any, out: Any) -> None:  # pragma: no cover
    """The row of each (query, item): the items of a query rise."""
    for i in range(len(out)):
        out[i] = -1
        if queries[i] < 0 or wanted[i] < 0:
            continue
        low, high = starts[queries[i]], starts[queries[i] + 1]
        end = high
        while low < high:
            at = (low + high) // 2
            if items[at] < wanted[i]:
                low = at + 1
            else:
                high = at
        if low < end and items[low] == wanted[i]:
            out[i] = low


def sum_by(codes: Codes, values: NDArray[Any], size: int) -> NDArray[np.float64]:
    """Σ of the values of each code from 0 to size - 1."""
    return np.bincount(codes, values, size).astype(np.float64, copy=False)
