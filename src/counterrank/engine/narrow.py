"""Kept rows in one byte a position, or two: a pair is told by its place among those of its query.

Rows that are kept for later are most of what a long log takes in memory, and a system takes longer to give memory for
the first time than a row takes to be counted. They are in the order of their queries, whose pairs are few.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.crew import Crew
from counterrank.engine.coder import CodedRows
from counterrank.engine.tables import PairTable
from counterrank.ids import Codes
from counterrank.records import dataclass

Narrow = NDArray[np.uint8 | np.uint16]
SHELF_BYTES, LARGEST = 8 << 20, 256 << 20  # of the first shelf, and of one that comes after many


@dataclass(frozen=True)
class Shelf:
    """One array for the rows of several batches, which a loop can then go through at once."""

    narrow: Narrow  # (n, K)
    impressions: NDArray[np.int64] | None  # (n,); None: one each


class Shelves:
    """Shelves that batches are put on one after the other. Memory that nothing was put on costs nothing yet."""

    def __init__(self, size: int, crew: Crew | None = None) -> None:
        self.size = size
        self.crew = crew if crew is not None else Crew(alone=True)  # who puts batches there
        self._last: Shelf | None = None
        self._used = 0

    def room(self, shape: tuple[int, int], kind: type[np.uint8 | np.uint16], counted: bool) -> tuple[Shelf, int]:
        """A shelf with room for these rows, and where on it."""
        rows, positions = shape
        last = self._last
        fits = last is not None and self._used + rows <= len(last.narrow) and last.narrow.shape[1] == positions
        if last is None or not fits or last.narrow.dtype != kind or (last.impressions is not None) != counted:
            room = max(self.size // max(positions * np.dtype(kind).itemsize, 1), rows)
            self.size = min(2 * self.size, LARGEST)
            last = Shelf(np.empty((room, positions), dtype=kind), np.empty(room, dtype=np.int64) if counted else None)
            self._last, self._used = last, 0
        first, self._used = self._used, self._used + rows
        return last, first


@dataclass(frozen=True, kw_only=True)
class NarrowRows:
    """As `CodedRows`, whose codes are made whenever they are asked for."""

    shelf: Shelf
    first: int  # where on the shelf they begin
    size: int
    table: PairTable
    starts: Codes
    reward: NDArray[np.float64] | None = None
    day: NDArray[np.int32] | None = None
    cluster: Codes | None = None
    chances: None = None

    def __len__(self) -> int:
        return self.size

    @property
    def narrow(self) -> Narrow:
        """(n, K) 2·place + click, the largest number at the end."""
        return self.shelf.narrow[self.first : self.first + self.size]

    @property
    def impressions(self) -> NDArray[np.int64] | None:
        """None: one each."""
        counted = self.shelf.impressions
        return None if counted is None else counted[self.first : self.first + self.size]

    @property
    def positions(self) -> int:
        return int(self.shelf.narrow.shape[1])

    @property
    def nbytes(self) -> int:
        columns = (self.narrow, self.impressions, self.starts, self.reward, self.day, self.cluster)
        return sum(column.nbytes for column in columns if column is not None)

    @property
    def coded(self) -> NDArray[np.int32]:
        """Of all rows."""
        return self.some(0, len(self))

    def some(self, first: int, last: int) -> NDArray[np.int32]:
        """The codes of rows first to last."""
        return self.taken(np.arange(first, last))

    def taken(self, picked: Codes) -> NDArray[np.int32]:
        """The codes of these rows."""
        return self._wide(picked, self.narrow.shape[1])

    def heads(self) -> NDArray[np.int32]:
        """The first code of each row."""
        return self._wide(np.arange(len(self)), 1)[:, 0]

    def runs(self, first: int, last: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The queries of rows first to last in turn, -1 for none, and how many rows each has."""
        ends = np.append(self.starts, len(self)).clip(first, last)
        sizes = np.diff(np.append(first, ends))  # the rows of no query come first
        there = np.flatnonzero(sizes)
        return (there - 1).astype(np.int32), sizes[there].astype(np.int32)

    def _wide(self, picked: Codes, columns: int) -> NDArray[np.int32]:
        return widened(picked, self.narrow, self.starts, *self.table.by_query(), columns)


def widened(
    picked: Codes, narrow: Narrow, starts: Codes, begins: Codes, listed: NDArray[np.int32], columns: int
) -> NDArray[np.int32]:
    """The first codes of the picked rows; run i begins at starts[i], and its pairs at begins[i] of those listed."""
    out = np.empty((len(picked), columns), dtype=np.int32)
    _widen(picked, narrow, starts, begins, listed, out)
    return out


Kept: TypeAlias = CodedRows | NarrowRows


def narrowed(rows: CodedRows, table: PairTable, shelves: Shelves | None = None) -> Kept:
    """The same in less room, where that is possible: in the order of queries, none of which has too many pairs.

    They are put on a shelf of their own where none are given.
    """
    largest = table.largest()
    kind = next((each for each in (np.uint8, np.uint16) if 2 * largest <= np.iinfo(each).max), None)
    if kind is None or not len(rows.starts) or rows.chances is not None:
        return rows
    shelves = shelves or Shelves(0)
    shelf, first = shelves.room(rows.coded.shape, kind, rows.impressions is not None)
    narrow = NarrowRows(
        shelf=shelf, first=first, size=len(rows), table=table, starts=rows.starts, reward=rows.reward, day=rows.day,
        cluster=rows.cluster,
    )  # fmt: skip
    given = rows.coded, table.place, narrow.narrow, np.iinfo(kind).max
    shelves.crew.halves(lambda first, last: _narrow(first, last, *given), 0, len(rows))
    if narrow.impressions is not None and rows.impressions is not None:
        narrow.impressions[:] = rows.impressions
    return narrow


@njit(nogil=True)
def _narrow(first: Any, last: Any, coded: Any, place: Any, out: Any, end: Any) -> None:  # pragma: no cover
    flat, into, width, one = coded.reshape(-1), out.reshape(-1), np.uint64(coded.shape[1]), np.uint64(1)
    for r in range(np.uint64(first), np.uint64(last)):
        for k in range(width):
            v = flat[r * width + k]
            if v < 0:
                into[r * width + k] = end
                break
            into[r * width + k] = 2 * place[np.uint64(v) >> one] + (v & 1)


@njit(nogil=True)
def _widen(picked: Any, narrow: Any, starts: Any, begins: Any, listed: Any, out: Any) -> None:  # pragma: no cover
    """`listed` has the pairs of each query, those of q from begins[q] on."""
    flat, into, width, one = narrow.reshape(-1), out.reshape(-1), np.uint64(narrow.shape[1]), np.uint64(1)
    columns, end = np.uint64(out.shape[1]), 255 if narrow.itemsize == 1 else 65535
    first = last = begin = np.int64(0)  # the rows of the query at hand, and where its pairs begin
    for i in range(np.uint64(len(picked))):
        r, to = picked[i], i * columns
        if r < starts[0]:  # of no query
            into[to] = -1
            continue
        if r < first or r >= last:
            q = np.searchsorted(starts, r, side="right") - 1
            first, last, begin = starts[q], starts[q + 1], begins[q]
        for k in range(columns):
            v = flat[np.uint64(r) * width + k]
            if v == end:
                into[to + k] = -1
                break
            into[to + k] = 2 * listed[np.uint64(begin) + (np.uint64(v) >> one)] + np.int32(v & one)
