"""Impressions weighed by their own propensities: what each cell of a log adds up to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.cells import Cells
from counterrank.statistics.hashing import SECRET, mix

Vector = NDArray[np.float64]
ROOM = 1 << 14  # places at first; a power of two
UNDER = 1 + 1e-12  # a chance that is below the floor by less is so by rounding


@dataclass(frozen=True)
class ItemChances:
    """Of each cell: Σ 1/p and Σ click/p over its impressions, and the least p, p being the chance of an impression's
    own logging policy to show that item there. Sums add; of the least the smaller one stays."""

    inverse: Vector  # (C,)
    clicked: Vector  # (C,)
    least: Vector  # (C,)

    def taken(self, order: Codes) -> ItemChances:
        """Of these cells."""
        return ItemChances(self.inverse[order], self.clicked[order], self.least[order])

    def put(self, at: Codes, size: int) -> ItemChances:
        """Of `size` cells, where mine are the cells `at`; the others have none."""
        inverse, clicked, least = np.zeros(size), np.zeros(size), np.ones(size)
        inverse[at], clicked[at], least[at] = self.inverse, self.clicked, self.least
        return ItemChances(inverse, clicked, least)

    def __add__(self, other: ItemChances) -> ItemChances:
        return ItemChances(
            self.inverse + other.inverse, self.clicked + other.clicked, np.minimum(self.least, other.least)
        )


@dataclass(frozen=True)
class Trimmed:
    """The same sums with a floor under p, and how many impressions stand on it."""

    inverse: Vector  # (C,) Σ 1/max(p, floor)
    clicked: Vector  # (C,) Σ click/max(p, floor)
    under: Vector  # (C,) impressions


class ItemChanceTally:
    """Coded rows added up by (pair, position): cells are found by their key, pair·2³² + position, in open places."""

    def __init__(self) -> None:
        self._keys = np.zeros(ROOM, dtype=np.int64)  # plus one; 0: free
        self._sums = np.zeros((ROOM, 3))
        self._used = np.zeros(1, dtype=np.int64)

    def add(self, coded: Any, chances: Vector, impressions: Codes) -> None:
        """Rows of 2·pair + click, ended by -1, with the chance of each item."""
        done = 0
        while done < len(coded):
            while (self._used[0] + coded.shape[1]) * 10 > len(self._keys) * 7:
                keys, sums = np.zeros(2 * len(self._keys), dtype=np.int64), np.zeros((2 * len(self._keys), 3))
                _move(self._keys, self._sums, keys, sums, SECRET)
                self._keys, self._sums = keys, sums
            done = _add(done, coded, chances, impressions, self._keys, self._sums, self._used, SECRET)

    def found(self, rows: Codes, cells: Cells) -> ItemChances:
        """Of these cells, where pair p is rows[p], or not wanted (-1)."""
        at = np.flatnonzero(self._keys)
        keys = self._keys[at] - 1
        row = rows[keys >> 32]
        at, keys, row = at[row >= 0], keys[row >= 0], row[row >= 0]
        return ItemChances(*self._sums[at].T.copy()).put(cells.find(row, keys & 0xFFFFFFFF), len(cells))


@njit(inline="always")
def _place(key: Any, keys: Any, mask: Any, secret: Any) -> Any:  # pragma: no cover
    at = np.int64(mix(np.uint64(key) * secret[0] + secret[1]) & mask)
    while keys[at] != 0 and keys[at] != key:
        at = np.int64((np.uint64(at) + np.uint64(1)) & mask)
    return at


@njit(nogil=True)
def _add(
    start: Any, coded: Any, chances: Any, impressions: Any, keys: Any, sums: Any, used: Any, secret: Any
) -> int:  # pragma: no cover
    """Add rows from `start`; the row there is no more room for comes back."""
    mask = np.uint64(len(keys) - 1)
    for r in range(start, len(coded)):
        if (used[0] + coded.shape[1]) * 10 > len(keys) * 7:
            return r
        for k in range(coded.shape[1]):
            v = coded[r, k]
            if v < 0:
                break
            key = (np.int64(v >> 1) << 32) + k + 1
            at = _place(key, keys, mask, secret)
            if keys[at] == 0:
                keys[at] = key
                sums[at, 2] = 1.0
                used[0] += 1
            part = impressions[r] / chances[r, k]
            sums[at, 0] += part
            sums[at, 1] += part * (v & 1)
            sums[at, 2] = min(sums[at, 2], chances[r, k])
    return len(coded)


@njit(nogil=True)
def _move(old: Any, sums: Any, new: Any, moved: Any, secret: Any) -> None:  # pragma: no cover
    mask = np.uint64(len(new) - 1)
    for i in range(len(old)):
        if old[i] != 0:
            at = _place(old[i], new, mask, secret)
            new[at] = old[i]
            moved[at] = sums[i]


__all__ = ["UNDER", "ItemChanceTally", "ItemChances", "Trimmed"]
