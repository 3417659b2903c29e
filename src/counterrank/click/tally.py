"""Pairs with equal counts at equal positions, taken together: thin logs have few such patterns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterrank.click.base import Floats
from counterrank.click.marginal import Grouped
from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.cells import Tally
from counterrank.statistics.hashing import mix
from counterrank.statistics.pairs import FEW
from counterrank.threads import in_two

MOST = float(1 << 21)  # clicks of a pair: one with more counts as one with so many, at the same rates
_WORTH = 1 << 15  # pairs below which a second thread costs more than it brings
_U = np.uint64  # indices that compilers know not to be negative


@dataclass(frozen=True, kw_only=True)
class Alike:
    """The clicks and misses of each pattern, by rising clicks; pattern g has the cells starts[g]:starts[g+1]."""

    starts: Codes  # (G+1,)
    places: NDArray[np.uint8]  # (cells,) positions, of which there are 100 at most
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
        pairs = len(cells.starts) - 1
        together, begins, clicks, cells_of = _gathered(cells, pairs)
        order = np.argsort(clicks.astype(np.min_scalar_type(clicks.max(initial=0))), kind="stable")
        first, clicks = together[begins[order]], clicks[order]
        scale = np.minimum(1.0, MOST / np.maximum(clicks, 1))
        sizes = np.diff(np.append(begins, pairs))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        of = np.empty(pairs, dtype=np.int64)
        of[together] = np.repeat(place, sizes)
        starts = np.concatenate([[0], np.cumsum(cells_of[order])])
        places, hits, missed = _patterns(cells, first, starts, scale)
        count = sizes[order].astype(np.float64)
        total = np.asarray(clicks * scale, dtype=np.float64)
        return cls(starts=starts, places=places, hits=hits, missed=missed, clicks=total, count=count, of=of)

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


class _Cells(NamedTuple):
    """The cells of patterns, to be filled."""

    starts: Any  # (G+1,)
    places: Any  # (cells,)
    hits: Any  # (cells,)
    missed: Any  # (cells,)
    scale: Any  # (G,) times which they count


@njit(nogil=True)
def _told_apart(cells: Any, begin: int, end: int, keys: Any, clicks: Any, sizes: Any) -> None:
    """The key of each pair's pattern, its clicks and how many cells it has, of pairs begin to end."""
    for p in range(_U(begin), _U(end)):
        key, total, size = _U(0), 0, 0
        for c in range(_U(cells.starts[p]), _U(cells.starts[p + _U(1)])):
            if cells.shown[c] > 0 and cells.number[cells.positions[c]] >= 0:
                number = _U(cells.number[cells.positions[c]] + 1)
                key = mix(mix(key ^ _U(cells.shown[c])) ^ (_U(cells.clicked[c]) << _U(8)) ^ number)
                total += cells.clicked[c]
                size += 1
        keys[p], clicks[p], sizes[p] = key, total, size


def _gathered(cells: _Shown, pairs: int) -> tuple[Codes, Codes, Codes, Codes]:
    """Pairs by the keys of their patterns, so that it is the same, however the pairs are ordered; where each pattern
    begins among them; its clicks, and how many cells it has."""
    keys, (clicks, sizes) = np.empty(pairs, dtype=np.uint64), np.empty((2, pairs), dtype=np.int64)
    in_two(lambda begin, end: _told_apart(cells, begin, end, keys, clicks, sizes), pairs, _WORTH)
    together, begins = _runs(keys)
    first = together[begins]
    return together, begins, clicks[first], sizes[first]


def _runs(keys: NDArray[np.uint64]) -> tuple[Codes, Codes]:
    """Pairs by rising key, and where each key begins among them. Low and high keys are sorted side by side; of very
    many pairs that would take too much room."""
    if len(keys) > FEW:
        together = np.argsort(keys)
        return together, np.flatnonzero(_differ(keys[together]))
    high = keys >= np.uint64(1 << 63)
    halves = [np.flatnonzero(~high), np.flatnonzero(high)]
    out = [halves[0], halves[1]]

    def sort(begin: int, end: int) -> None:
        for half in range(begin, end):
            out[half] = halves[half][np.argsort(keys[halves[half]])]

    in_two(sort, 2, 2 if len(keys) >= _WORTH else 3)
    together = np.concatenate(out)
    return together, np.flatnonzero(_differ(keys[together]))


def _differ(rising: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which are not the same as the one before."""
    begins = np.ones(len(rising), dtype=np.bool_)
    np.not_equal(rising[1:], rising[:-1], out=begins[1:])
    return begins


def _patterns(cells: _Shown, first: Codes, starts: Codes, scale: Floats) -> tuple[NDArray[np.uint8], Floats, Floats]:
    """The positions, clicks and misses of the cells of each pattern."""
    out = _Cells(starts, np.empty(starts[-1], dtype=np.uint8), np.empty(starts[-1]), np.empty(starts[-1]), scale)
    in_two(lambda begin, end: _copied(cells, first, begin, end, out), len(first), _WORTH)
    return out.places, out.hits, out.missed


@njit(nogil=True)
def _copied(cells: Any, first: Any, begin: int, end: int, out: Any) -> None:
    for g in range(_U(begin), _U(end)):
        at, p, scale = _U(out.starts[g]), _U(first[g]), out.scale[g]
        for c in range(_U(cells.starts[p]), _U(cells.starts[p + _U(1)])):
            if cells.shown[c] > 0 and cells.number[cells.positions[c]] >= 0:
                out.places[at] = cells.number[cells.positions[c]]
                out.hits[at] = cells.clicked[c] * scale
                out.missed[at] = (cells.shown[c] - cells.clicked[c]) * scale
                at += _U(1)
