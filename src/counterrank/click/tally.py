"""Pairs with equal counts at equal positions, taken together: thin logs have few such patterns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterrank.click.base import Floats
from counterrank.click.marginal import Grouped
from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.statistics.hashing import mix

MOST = float(1 << 21)  # clicks of a pair: one with more counts as one with so many, at the same rates


@dataclass(frozen=True, kw_only=True)
class Tally:
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
    def of_counts(cls, shown: Codes, clicked: Codes) -> Tally:
        """From (P, K) counts. A pair that was never shown is a pattern without cells."""
        keys = np.empty(len(shown), dtype=np.uint64)
        _keys(np.ascontiguousarray(shown), np.ascontiguousarray(clicked), keys)
        _, first, of = np.unique(keys, return_index=True, return_inverse=True)
        clicks = clicked[first].sum(axis=1)
        order = np.argsort(clicks, kind="stable")
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        first, clicks, of = first[order], clicks[order], place[of]
        pattern, places = np.nonzero(shown[first])
        hits = clicked[first][pattern, places].astype(np.float64)
        missed = shown[first][pattern, places] - hits
        scale = np.minimum(1.0, MOST / np.maximum(clicks, 1))
        return cls(
            starts=np.searchsorted(pattern, np.arange(len(first) + 1)),
            places=places,
            hits=hits * scale[pattern],
            missed=missed * scale[pattern],
            clicks=clicks * scale,
            count=np.bincount(of, minlength=len(first)).astype(np.float64),
            of=of,
        )

    def grouped(self) -> Grouped:
        """As kernels take it."""
        return Grouped(self.starts, self.places, self.hits, self.missed, self.clicks, self.count)

    def sample(self, every: int) -> Tally:
        """One pattern of so many, for a first look."""
        taken = np.arange(0, len(self), every)
        sizes = np.diff(self.starts)[taken]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        cells = np.repeat(self.starts[taken] - starts[:-1], sizes) + np.arange(starts[-1])
        return Tally(
            starts=starts,
            places=self.places[cells],
            hits=self.hits[cells],
            missed=self.missed[cells],
            clicks=self.clicks[taken],
            count=self.count[taken],
            of=np.zeros(0, dtype=np.int64),
        )


@njit(nogil=True)
def _keys(shown: Any, clicked: Any, out: Any) -> None:
    for p in range(len(shown)):
        key = np.uint64(0)
        for k in range(shown.shape[1]):
            if shown[p, k] > 0:
                key = mix(key ^ np.uint64(k + 1))
                key = mix(key ^ np.uint64(shown[p, k]))
                key = mix(key ^ np.uint64(clicked[p, k]))
        out[p] = key
