"""Pairs with equal counts at equal positions, taken together: thin logs have few such patterns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterrank.click.base import Floats
from counterrank.click.marginal import Grouped
from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.cells import Tally
from counterrank.statistics.hashing import mix

MOST = float(1 << 21)  # clicks of a pair: one with more counts as one with so many, at the same rates


@dataclass(frozen=True, kw_only=True)
class Alike:
    """The clicks and misses of each pattern, by rising clicks; pattern g has the cells starts[g]:starts[g+1]."""

    starts: Codes  # (G+1,)
    places: Codes  # (cells,) positions
    hits: Floats  # (cells,)
    missed: Floats  # (cells,)
    clicks: Floats  # (G,) in all
    count: Floats  # (G,) how many pairs have it
    of: Codes  # (P,) the pattern of each pair

    def __len__(self) -> int:
        return len(self.count)

    @classmethod
    def of_counts(cls, counted: Tally, columns: Codes) -> Alike:
        """At these positions, which are numbered anew. A pair that was never shown is a pattern without cells."""
        number = np.full(counted.cells.depth, -1)
        number[columns] = np.arange(len(columns))
        cells = _Shown(counted.cells.starts, counted.cells.positions, counted.shown, counted.clicked, number)
        first, clicks, keys, of = _told_apart(cells)
        order = np.argsort(keys)  # so that it is the same, however the pairs are ordered
        order = order[np.argsort(clicks[order].astype(np.min_scalar_type(clicks.max(initial=0))), kind="stable")]
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        first, clicks, of = first[order], clicks[order], place[of]
        scale = np.minimum(1.0, MOST / np.maximum(clicks, 1))
        starts, places, hits, missed = _patterns(cells, first, scale)
        count = np.bincount(of, minlength=len(first)).astype(np.float64)
        return cls(starts=starts, places=places, hits=hits, missed=missed, clicks=clicks * scale, count=count, of=of)

    def grouped(self) -> Grouped:
        """As kernels take it."""
        return Grouped(self.starts, self.places, self.hits, self.missed, self.clicks, self.count)

    def sample(self, every: int) -> Alike:
        """One pattern of so many, for a first look."""
        taken = np.arange(0, len(self), every)
        starts, cells = _taken(self.starts, taken)
        return Alike(
            starts=starts,
            places=self.places[cells],
            hits=self.hits[cells],
            missed=self.missed[cells],
            clicks=self.clicks[taken],
            count=self.count[taken],
            of=np.zeros(0, dtype=np.int64),
        )


def _taken(starts: Codes, some: Codes) -> tuple[Codes, Codes]:
    """Where the cells of some patterns begin when they stand one after the other, and which cells they are."""
    sizes = np.diff(starts)[some]
    own = np.concatenate([[0], np.cumsum(sizes)])
    return own, np.repeat(starts[some] - own[:-1], sizes) + np.arange(own[-1])


class _Shown(NamedTuple):
    """The cells of a tally, pair by pair; those with a number are asked for."""

    starts: Any  # (P+1,)
    positions: Any  # (C,)
    shown: Any  # (C,)
    clicked: Any  # (C,)
    number: Any  # (K,) of a position; −1: it is not asked for


@njit(nogil=True)
def _told_apart(cells: Any) -> Any:
    """The first pair of each pattern, its clicks, its key, and the pattern of each pair."""
    pairs = len(cells.starts) - 1
    size = 1024
    while size < 2 * pairs:
        size *= 2
    slots, keys = np.full(size, -1), np.empty(pairs, dtype=np.uint64)
    first, clicks, of = (
        np.empty(pairs, dtype=np.int64),
        np.empty(pairs, dtype=np.int64),
        np.empty(pairs, dtype=np.int64),
    )
    found = 0
    for p in range(pairs):
        key, total = np.uint64(0), 0
        for c in range(cells.starts[p], cells.starts[p + 1]):
            if cells.shown[c] > 0 and cells.number[cells.positions[c]] >= 0:
                key = mix(key ^ np.uint64(cells.positions[c] + 1))
                key = mix(key ^ np.uint64(cells.shown[c]))
                key = mix(key ^ np.uint64(cells.clicked[c]))
                total += cells.clicked[c]
        slot = np.int64(key & np.uint64(size - 1))
        while slots[slot] >= 0 and keys[slots[slot]] != key:
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot], keys[found], first[found], clicks[found] = found, key, p, total
            found += 1
        of[p] = slots[slot]
    return first[:found].copy(), clicks[:found].copy(), keys[:found].copy(), of


@njit(nogil=True)
def _patterns(cells: Any, first: Any, scale: Any) -> Any:
    """Where the cells of each pattern begin, their positions, clicks and misses."""
    starts, size = np.zeros(len(first) + 1, dtype=np.int64), 0
    for g in range(len(first)):
        for c in range(cells.starts[first[g]], cells.starts[first[g] + 1]):
            if cells.shown[c] > 0 and cells.number[cells.positions[c]] >= 0:
                size += 1
        starts[g + 1] = size
    places, hits, missed = np.empty(size, dtype=np.int64), np.empty(size), np.empty(size)
    at = 0
    for g in range(len(first)):
        for c in range(cells.starts[first[g]], cells.starts[first[g] + 1]):
            if cells.shown[c] > 0 and cells.number[cells.positions[c]] >= 0:
                places[at] = cells.number[cells.positions[c]]
                hits[at] = cells.clicked[c] * scale[g]
                missed[at] = (cells.shown[c] - cells.clicked[c]) * scale[g]
                at += 1
    return starts, places, hits, missed
