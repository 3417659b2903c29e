"""Coded rows counted by (pair, position): in a table of all cells where that is small, else only those that come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.statistics.cells import Cells, Tally
from counterrank.statistics.hashing import SECRET, mix

SMALL = 1 << 22  # cells of a table: 64 MB
ROOM = 1 << 16  # places at first; a place has a key plus one (0: free), shown and clicked


class CellTally:
    """`table` is (pairs, positions, 2), shown and clicked, with no rows once it would be too large.

    Then cells are found by their key, pair·2³² + position, in open-addressed places.
    """

    def __init__(self, positions: int) -> None:
        self.positions = positions
        self.table = np.zeros((1024, positions, 2), dtype=np.int64)
        self._places: Codes | None = None
        self._used = np.zeros(1, dtype=np.int64)

    @property
    def dense(self) -> bool:
        return self._places is None

    def grow(self, pairs: int, positions: int = 0) -> None:
        """Room for so many pairs and positions."""
        self.positions = max(positions, self.positions)
        if not self.dense:
            return
        have = self.table.shape
        size = max(pairs, have[0]), max(positions, have[1])
        if size == have[:2]:
            return
        old = self.table
        if size[0] * size[1] <= SMALL:
            self.table = np.zeros((*size, 2), dtype=np.int64)
            self.table[: have[0], : have[1]] = old
            return
        self.table = np.zeros((0, have[1], 2), dtype=np.int64)
        self._places = np.zeros((ROOM, 3), dtype=np.int64)
        pair, position = np.nonzero(old[:, :, 0])
        _put(pair, position, old, self._room_for(len(pair)), SECRET)
        self._used[0] = len(pair)

    def add(self, coded: Any, impressions: Codes) -> None:
        """Count rows of 2·pair + click, ended by -1."""
        if self.dense:
            _tally(coded, impressions, self.table)
            return
        done = 0
        while done < len(coded):
            done = _tally_cells(done, coded, impressions, self._room_for(coded.shape[1]), self._used, SECRET)

    def _room_for(self, more: int) -> Any:
        """The places, of which at most seven of ten are taken when `more` have come."""
        assert self._places is not None  # noqa: S101 - the caller looked
        size = len(self._places)
        while (self._used[0] + more) * 10 > size * 7:
            size *= 2
        if size > len(self._places):
            larger = np.zeros((size, 3), dtype=np.int64)
            _move(self._places, larger, SECRET)
            self._places = larger
        return self._places

    def clear(self) -> None:
        """Give the room back."""
        self.table, self._places = self.table[:0].copy(), None

    def found(self, rows: Codes, pairs: int, positions: int) -> Tally:
        """What was counted, where pair p is rows[p] of `pairs`, or not wanted (-1)."""
        if self._places is None:
            back = np.full(pairs, -1)
            back[rows[rows >= 0]] = np.flatnonzero(rows >= 0)
            starts, out = np.zeros(pairs + 1, dtype=np.int64), np.empty((3, 0), dtype=np.int64)
            _read_off(self.table, back, positions, starts, out)
            out = np.empty((3, starts[-1]), dtype=np.int64)
            _read_off(self.table, back, positions, starts, out)
            return Tally(Cells(starts, out[0], positions), out[1], out[2])
        at = np.flatnonzero(self._places[:, 0])
        keys = self._places[at, 0] - 1
        row = rows[keys >> 32]
        at, row, keys = (each[row >= 0] for each in (at, row, keys)) if (row < 0).any() else (at, row, keys)
        keys = row * positions + (keys & 0xFFFFFFFF)
        order = np.argsort(keys)
        keys, at = keys[order], at[order]
        return Tally(Cells.of_keys(keys, pairs, positions), self._places[at, 1], self._places[at, 2])


Shown = tuple[NDArray[np.int32], Codes | None]  # rows of 2·pair + click, ended by -1; impressions, None: one each


def recounted(parts: Sequence[Shown], rows: Codes, pairs: int, positions: int) -> Tally:
    """The cells of all these rows, where pair p is rows[p] of `pairs`: by gathering what is shown of each pair.

    It takes four bytes for each shown item, and no table that cells are found in.
    """
    ends = np.zeros(pairs + 1, dtype=np.int64)
    for coded, _ in parts:
        _shown_of(coded, rows, ends[1:])
    np.cumsum(ends, out=ends)
    weighted = any(impressions is not None for _, impressions in parts)
    shown, n = np.empty(ends[-1], dtype=np.int32), np.empty(ends[-1] if weighted else 0, dtype=np.int64)
    for coded, impressions in parts:
        every = np.ones(len(coded) if weighted else 0, dtype=np.int64) if impressions is None else impressions
        _gather(coded, rows, every, ends, shown, n)  # which moves each end to where the next pair begins
    starts: Any = np.zeros(pairs + 1, dtype=np.int32)
    sums = np.zeros((positions, 2), dtype=np.int64)
    kind = np.int64 if weighted else np.int32  # one impression each: then no number is larger than the rows are many
    _merge(ends, shown, n, sums, starts, np.empty((3, 0), dtype=kind))
    out = np.empty((3, starts[-1]), dtype=kind)
    _merge(ends, shown, n, sums, starts, out)
    return Tally(Cells(starts, out[0], positions), out[1], out[2])


@njit(nogil=True)
def _shown_of(coded: Any, rows: Any, sizes: Any) -> None:  # pragma: no cover
    for r in range(len(coded)):
        for k in range(coded.shape[1]):
            if coded[r, k] < 0:
                break
            if rows[coded[r, k] >> 1] >= 0:
                sizes[rows[coded[r, k] >> 1]] += 1


@njit(nogil=True)
def _gather(coded: Any, rows: Any, impressions: Any, ends: Any, shown: Any, n: Any) -> None:  # pragma: no cover
    for r in range(len(coded)):
        for k in range(coded.shape[1]):
            v = coded[r, k]
            if v < 0:
                break
            row = rows[v >> 1]
            if row < 0:
                continue
            shown[ends[row]] = 2 * k + (v & 1)
            if len(n) > 0:
                n[ends[row]] = impressions[r]
            ends[row] += 1


@njit(nogil=True)
def _merge(ends: Any, shown: Any, n: Any, sums: Any, starts: Any, out: Any) -> None:  # pragma: no cover
    """Where the cells of each pair begin, and, in rows, their positions, shown and clicked; without room only how many
    a pair has. `sums` are of a pair by position, and 0 again in the end."""
    first = at = 0
    for p in range(len(starts) - 1):
        low, high = len(sums), 0
        for i in range(first, ends[p]):
            k = shown[i] >> 1
            m = n[i] if len(n) > 0 else 1
            sums[k, 0] += m
            sums[k, 1] += m * (shown[i] & 1)
            low, high = min(low, k), max(high, k + 1)
        first = ends[p]
        for k in range(low, high):
            if sums[k, 0] > 0:
                if out.shape[1] > 0:
                    out[0, at], out[1, at], out[2, at] = k, sums[k, 0], sums[k, 1]
                at += 1
                sums[k, 0], sums[k, 1] = 0, 0
        starts[p + 1] = at


@njit(nogil=True)
def _read_off(table: Any, back: Any, positions: Any, starts: Any, out: Any) -> None:  # pragma: no cover
    """As `_merge`, of a table in which pair p is the row back[p], or none (-1)."""
    at = 0
    for p in range(len(back)):
        for k in range(positions if back[p] >= 0 else 0):
            if table[back[p], k, 0] > 0:
                if out.shape[1] > 0:
                    out[0, at], out[1, at], out[2, at] = k, table[back[p], k, 0], table[back[p], k, 1]
                at += 1
        starts[p + 1] = at


@njit(nogil=True)
def _tally(coded: Any, impressions: Any, tally: Any) -> None:  # pragma: no cover
    for r in range(len(coded)):
        for k in range(coded.shape[1]):
            v = coded[r, k]
            if v < 0:
                break
            tally[v >> 1, k, 0] += impressions[r]
            if v & 1:
                tally[v >> 1, k, 1] += impressions[r]


@njit(nogil=True)
def _place(key: Any, places: Any, mask: Any, secret: Any) -> Any:  # pragma: no cover
    """Where the cell is, or belongs."""
    at = np.int64(mix(np.uint64(key) * secret[0] + secret[1]) & mask)
    while places[at, 0] != 0 and places[at, 0] != key:
        at = np.int64((np.uint64(at) + np.uint64(1)) & mask)
    return at


@njit(nogil=True)
def _tally_cells(
    start: Any, coded: Any, impressions: Any, places: Any, used: Any, secret: Any
) -> int:  # pragma: no cover
    """Count rows from `start`; the row there is no more room for comes back."""
    mask = np.uint64(len(places) - 1)
    for r in range(start, len(coded)):
        if (used[0] + coded.shape[1]) * 10 > len(places) * 7:
            return r
        for k in range(coded.shape[1]):
            v = coded[r, k]
            if v < 0:
                break
            key = (np.int64(v >> 1) << 32) + k + 1
            at = _place(key, places, mask, secret)
            if places[at, 0] == 0:
                places[at, 0] = key
                used[0] += 1
            places[at, 1] += impressions[r]
            if v & 1:
                places[at, 2] += impressions[r]
    return len(coded)


@njit(nogil=True)
def _put(pairs: Any, positions: Any, tally: Any, places: Any, secret: Any) -> None:  # pragma: no cover
    mask = np.uint64(len(places) - 1)
    for i in range(len(pairs)):
        at = _place((pairs[i] << 32) + positions[i] + 1, places, mask, secret)
        places[at, 0] = (pairs[i] << 32) + positions[i] + 1
        places[at, 1], places[at, 2] = tally[pairs[i], positions[i], 0], tally[pairs[i], positions[i], 1]


@njit(nogil=True)
def _move(old: Any, new: Any, secret: Any) -> None:  # pragma: no cover
    mask = np.uint64(len(new) - 1)
    for i in range(len(old)):
        if old[i, 0] != 0:
            at = _place(old[i, 0], new, mask, secret)
            for j in range(old.shape[1]):
                new[at, j] = old[i, j]
