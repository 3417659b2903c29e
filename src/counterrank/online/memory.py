"""What a ranking service knows of each (query, item): features, a prior, and what was shown and clicked where.

The memory grows pair by pair and is never rebuilt. The items of a query stand together, in the order in which they
came, in a block with room for more; a full block moves to the end and doubles, so that an item costs the same however
many there are. Impressions and clicks are counted by position, so that another examination curve needs no other counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from counterrank.compiled import njit
from counterrank.errors import InputError
from counterrank.output import writing

FORMAT = {"format": "counterrank-memory", "version": 1}
TRAINING, VALIDATION, SERVING = 0, 1, 2  # what a query is for: rankers learn from the first, and stop by the second


class Rows(NamedTuple):
    """The arrays of a memory, for compiled code: blocks by query, and what is known of each row."""

    begin: Any  # (Q,) the first row of each query
    size: Any  # (Q,) how many items it has
    room: Any  # (Q,) how many its block holds
    item: Any  # (R,) the item's code
    shown: Any  # (R, K) impressions at each position
    clicked: Any  # (R, K)
    belief: Any  # (R, 2) what the ranker's model says: α and β, or a value
    features: Any  # (R, F) NaN where missing


class Memory:
    """Evidence of pairs of query and item. `positions`: the longest page. `names`: of the features.

    >>> memory = Memory(positions=3, names=["price"])
    >>> memory.add("shoes", "a", [9.5]), memory.add("shoes", "b", [12.0])
    (0, 1)
    >>> memory.record("shoes", ["b", "a"], [1, 0])
    >>> memory.impressions("shoes").tolist(), memory.clicks("shoes").tolist()
    ([1, 1], [0, 1])
    """

    def __init__(self, positions: int, names: Sequence[str] = ()) -> None:
        self.positions, self.names = positions, list(names)
        self.query_ids: list[str] = []
        self.item_ids: list[str] = []
        self._queries: dict[str, int] = {}
        self._items: dict[str, int] = {}
        self._slots: list[dict[int, int]] = []  # of each query: an item's code → its place in the block
        self.part = np.zeros(0, dtype=np.int8)  # (Q,)
        self.used = 0  # rows that belong to some block
        self.rows = _empty(0, 0, positions, len(self.names))

    def __len__(self) -> int:
        return int(self.rows.size.sum())

    def __repr__(self) -> str:
        return f"Memory({len(self):,} items of {len(self.query_ids):,} queries)"

    def query(self, query: str, part: int = TRAINING, room: int = 4) -> int:
        """The code of a query, which is new where it is not known; `room` items then fit without a move."""
        if query in self._queries:
            return self._queries[query]
        code = len(self.query_ids)
        self.query_ids.append(query)
        self._queries[query] = code
        self._slots.append({})
        if code >= len(self.part):
            more = max(2 * len(self.part), 16)
            self.part = _longer(self.part, more)
            blocks = (_longer(each, more) for each in self.rows[:3])
            self.rows = self.rows._replace(begin=next(blocks), size=next(blocks), room=next(blocks))
        self.part[code] = part
        self._block(code, room)
        return code

    def add(self, query: str, item: str, features: ArrayLike = (), belief: tuple[float, float] = (1.0, 1.0)) -> int:
        """One more item of a query, or other features of one that is there; its place among the query's items."""
        code, named = self.query(query), self.item(item)
        slot = self.slots(code).get(named)
        if slot is None:
            if self.rows.size[code] == self.rows.room[code]:
                self._block(code, 2 * int(self.rows.room[code]))
            slot = int(self.rows.size[code])
            self._slots[code][named] = slot
            self.rows.size[code] += 1
            row = self.rows.begin[code] + slot
            self.rows.item[row], self.rows.belief[row] = named, belief
            self.rows.shown[row], self.rows.clicked[row] = 0, 0
        given = np.asarray(features, dtype=np.float64)
        self.rows.features[self.rows.begin[code] + slot] = given if given.size else np.nan
        return slot

    def item(self, item: str) -> int:
        """The code of an item, whatever the query."""
        found = self._items.setdefault(item, len(self.item_ids))
        if found == len(self.item_ids):
            self.item_ids.append(item)
        return found

    def slots(self, code: int) -> dict[int, int]:
        """Where a query's items stand, by their codes: also those that compiled code has added."""
        known, size = self._slots[code], int(self.rows.size[code])
        if len(known) < size:
            begin = int(self.rows.begin[code])
            known.update((int(self.rows.item[begin + slot]), slot) for slot in range(len(known), size))
        return known

    def record(self, query: str, items: Sequence[str], clicks: Sequence[int], times: int = 1) -> None:
        """A page was shown: its items in order and which were clicked. Items that are not there are added."""
        if len(items) > self.positions or len(items) != len(clicks):
            raise InputError(
                f"a page of {len(items)} items with {len(clicks)} clicks came: expected as many clicks as items, and "
                f"at most {self.positions}"
            )
        code = self.query(query)
        for position, (item, click) in enumerate(zip(items, clicks, strict=True)):
            slot = self.slots(code).get(self.item(item))
            slot = self.add(query, item) if slot is None else slot
            row = self.rows.begin[code] + slot  # only now: the block may have moved
            self.rows.shown[row, position] += times
            self.rows.clicked[row, position] += times * int(click)

    def rows_of(self, codes: Iterable[int] | NDArray[Any] | None = None) -> NDArray[np.int64]:
        """The rows of these queries, or of all."""
        chosen = np.arange(len(self.query_ids)) if codes is None else np.asarray(list(codes), dtype=np.int64)
        begin, size = self.rows.begin[chosen], self.rows.size[chosen]
        ends = np.cumsum(size)
        return np.asarray(np.repeat(begin - ends + size, size) + np.arange(ends[-1] if len(ends) else 0))

    def rows_in(self, part: int) -> NDArray[np.int64]:
        """The rows of the queries of a part."""
        return self.rows_of(np.flatnonzero(self.part[: len(self.query_ids)] == part))

    def items_of(self, query: str) -> list[str]:
        """A query's items in the order in which they came."""
        return [self.item_ids[code] for code in self.rows.item[self._span(query)]]

    def impressions(self, query: str) -> NDArray[np.int64]:
        """How often each of a query's items was shown."""
        return np.asarray(self.rows.shown[self._span(query)].sum(axis=1))

    def clicks(self, query: str) -> NDArray[np.int64]:
        return np.asarray(self.rows.clicked[self._span(query)].sum(axis=1))

    def _span(self, query: str) -> slice:
        if query not in self._queries:
            raise InputError(f"query {query!r} is not known: add its items first")
        code = self._queries[query]
        begin = int(self.rows.begin[code])
        return slice(begin, begin + int(self.rows.size[code]))

    def _block(self, code: int, room: int) -> None:
        """A block at the end with this room, and the query's items moved there."""
        if self.used + room > len(self.rows.item):
            more = max(2 * len(self.rows.item), self.used + room, 64)
            self.rows = Rows(*self.rows[:3], *(_longer(each, more) for each in self.rows[3:]))
        rows, size = self.rows, int(self.rows.size[code])
        old, new = int(rows.begin[code]), self.used
        for each in rows[3:]:
            each[new : new + size] = each[old : old + size]
        rows.begin[code], rows.room[code] = new, room
        self.used += room

    def to_arrow(self) -> pa.Table:
        """A row per pair: query, part, item, shown, clicked, belief and features."""
        queries = np.repeat(np.arange(len(self.query_ids)), self.rows.size[: len(self.query_ids)])
        at = self.rows_of()
        meta = json.dumps(FORMAT | {"positions": self.positions, "names": self.names})
        columns = {
            "query": pa.array(self.query_ids, pa.string()).take(pa.array(queries)),
            "part": pa.array(self.part[queries]),
            "item": pa.array(self.item_ids, pa.string()).take(pa.array(self.rows.item[at])),
            **{name: _listed(getattr(self.rows, name)[at]) for name in ("shown", "clicked", "belief", "features")},
        }
        return pa.table(columns).replace_schema_metadata({"counterrank": meta})

    def save(self, path: str | Path) -> None:
        """As one Parquet file. A query without items is not kept."""
        with writing(path) as file:
            pq.write_table(self.to_arrow(), file, compression="zstd")

    @classmethod
    def read(cls, path: str | Path) -> Memory:
        """A memory that `save` wrote. The file is data: nothing in it is run."""
        try:
            table = pq.read_table(path)
            meta = json.loads((table.schema.metadata or {}).get(b"counterrank", b"{}"))
        except (OSError, ValueError, pa.ArrowException) as error:
            raise InputError(f"{path}: no memory can be read from it ({str(error).splitlines()[0]})") from None
        if {name: meta.get(name) for name in FORMAT} != FORMAT:
            raise InputError(
                f"{path}: this is no memory of a ranking service, version {FORMAT['version']}: save one first"
            )
        return cls.of_arrow(table, int(meta["positions"]), list(map(str, meta["names"])))

    @classmethod
    def of_arrow(cls, table: pa.Table, positions: int, names: Sequence[str]) -> Memory:
        """The memory of `to_arrow`."""
        made = cls(positions, names)
        queries, parts = table["query"].to_pylist(), table["part"].to_pylist()
        counts: dict[str, int] = {}
        for query in queries:
            counts[query] = counts.get(query, 0) + 1
        for query, part, item in zip(queries, parts, table["item"].to_pylist(), strict=True):
            made.query(query, part, counts[query])
            made.add(query, item)
        at = made.rows_of()
        for name in ("shown", "clicked", "belief", "features"):
            kept = getattr(made.rows, name)
            flat = table[name].combine_chunks().flatten().to_numpy(zero_copy_only=False)
            if len(flat) != len(at) * kept.shape[1]:
                raise InputError(
                    f"column {name!r} of the memory has {len(flat)} numbers: expected {kept.shape[1]} a row"
                )
            kept[at] = flat.reshape(len(at), kept.shape[1])
        return made


def _empty(queries: int, rows: int, positions: int, features: int) -> Rows:
    counts = np.zeros((rows, positions), dtype=np.int64)
    blocks = np.zeros(queries, dtype=np.int64)
    return Rows(
        begin=blocks,
        size=blocks.copy(),
        room=blocks.copy(),
        item=np.zeros(rows, dtype=np.int64),
        shown=counts,
        clicked=counts.copy(),
        belief=np.zeros((rows, 2)),
        features=np.zeros((rows, features)),
    )


def _longer(array: NDArray[Any], length: int) -> NDArray[Any]:
    out = np.zeros((length, *array.shape[1:]), dtype=array.dtype)
    out[: len(array)] = array
    return out


def _listed(values: NDArray[Any]) -> pa.Array:
    return (
        pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1]).cast(
            pa.list_(pa.from_numpy_dtype(values.dtype))
        )
        if values.shape[1]
        else pa.array([[]] * len(values), pa.list_(pa.from_numpy_dtype(values.dtype)))
    )


@njit(inline="always")
def sums(rows, row, examination):  # type: ignore[no-untyped-def]
    """Of one row: impressions n, clicks, clicks / examination C, and exposure E (ebrank2023, eq. 9)."""
    n, clicks, weighted, exposure = 0.0, 0.0, 0.0, 0.0
    shown, clicked = rows.shown[row], rows.clicked[row]
    for k in range(len(shown)):
        if shown[k] > 0:
            n += shown[k]
            exposure += shown[k] * examination[k]
            clicks += clicked[k]
            weighted += clicked[k] / examination[k]
    return n, clicks, weighted, exposure


@njit(nogil=True)
def totals(rows, at, examination):  # type: ignore[no-untyped-def]
    """(N, 4): `sums` of these rows."""
    out = np.empty((len(at), 4))
    for i in range(len(at)):
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = sums(rows, at[i], examination)
    return out
