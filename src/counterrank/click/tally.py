"""Pairs with equal counts at equal positions, taken together: thin logs have few such patterns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterrank.click.base import Floats
from counterrank.click.marginal import Grouped
from counterrank.compiled import njit
from counterrank.ids import Codes
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
        cells = counted.cells
        number = np.full(cells.depth, -1)
        number[columns] = np.arange(len(columns))
        at = np.flatnonzero((number[cells.positions] >= 0) & (counted.shown > 0))
        rows, places = cells.rows[at], number[cells.positions[at]]
        shown, clicked = counted.shown[at], counted.clicked[at]
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=cells.pairs))])
        keys = np.empty(cells.pairs, dtype=np.uint64)
        _keys(starts, places, shown, clicked, keys)
        _, first, of = np.unique(keys, return_index=True, return_inverse=True)
        clicks = np.bincount(rows, clicked, cells.pairs).astype(np.int64)[first]
        order = np.argsort(clicks, kind="stable")
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        first, clicks, of = first[order], clicks[order], place[of]
        own, taken = _taken(starts, first)
        pattern = np.repeat(np.arange(len(first)), np.diff(own))
        scale = np.minimum(1.0, MOST / np.maximum(clicks, 1))
        hits = clicked[taken].astype(np.float64)
        return cls(
            starts=own,
            places=places[taken],
            hits=hits * scale[pattern],
            missed=(shown[taken] - hits) * scale[pattern],
            clicks=np.asarray(clicks * scale, dtype=np.float64),
            count=np.bincount(of, minlength=len(first)).astype(np.float64),
            of=of,
        )

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


@njit(nogil=True)
def _keys(starts: Any, places: Any, shown: Any, clicked: Any, out: Any) -> None:
    for p in range(len(out)):
        key = np.uint64(0)
        for c in range(starts[p], starts[p + 1]):
            key = mix(key ^ np.uint64(places[c] + 1))
            key = mix(key ^ np.uint64(shown[c]))
            key = mix(key ^ np.uint64(clicked[c]))
        out[p] = key
