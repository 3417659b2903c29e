"""Directions that a ranking has at each position: how attractive what stands around an item is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterrank.compiled import njit
from counterrank.findings.strata import Matrix, Strata
from counterrank.ids import Codes
from counterrank.records import dataclass

PRIOR = 2.0  # expected clicks of an average item that stand beside each pair's own
NAMES = ("above", "below", "next above", "next below")


@dataclass(frozen=True)
class Appeal:
    """How attractive each pair is, 1 being average, and the click rate of each position, from some impressions."""

    of_pair: Matrix  # (P,)
    by_position: Matrix  # (K,)

    @classmethod
    def of(cls, strata: Strata, pairs: int, number: Matrix | None = None) -> Appeal:
        shown, clicked = strata.rates(number)
        positions = strata.rows.shape[1]
        seen, hits = (np.bincount(strata.place, each, positions) for each in (shown, clicked))
        rate = np.divide(hits, seen, out=np.zeros(positions), where=seen > 0)
        expected = np.bincount(strata.pair, shown * rate[strata.place], pairs)
        return cls((np.bincount(strata.pair, clicked, pairs) + PRIOR) / (expected + PRIOR), rate)

    def moved(self, rows: Codes, pairs: int) -> Appeal:
        """The same where pair p is now rows[p] of so many; of the others nothing is known."""
        if pairs == len(rows):
            return self
        of_pair = np.ones(pairs)
        of_pair[rows] = self.of_pair
        return replace(self, of_pair=of_pair)

    def around(self, rows: Codes) -> Matrix:
        """(4, G, K) of rankings: the clicks to be expected above and below each item, and its neighbours' appeal."""
        out = np.zeros((len(NAMES), *rows.shape))
        _around(rows, self.of_pair, self.by_position, out)
        return out


@njit(nogil=True)
def _around(rows, of_pair, by_position, out):  # type: ignore[no-untyped-def]
    above, below, before, after = out[0], out[1], out[2], out[3]
    for g in range(rows.shape[0]):
        upto, last = 0.0, 0.0
        for k in range(rows.shape[1]):
            appeal = of_pair[rows[g, k]] if rows[g, k] >= 0 else 0.0
            above[g, k], before[g, k] = upto, last
            upto += appeal * by_position[k]
            below[g, k] = upto
            if k > 0:
                after[g, k - 1] = appeal
            last = appeal
        for k in range(rows.shape[1]):
            below[g, k] = upto - below[g, k]


def any_above(chances: Matrix) -> Matrix:
    """(G, K) the chance of a click further up, from chances of clicks that have nothing to do with each other."""
    none = np.cumprod(1 - np.clip(chances, 0.0, 1.0), axis=1)
    out = np.zeros_like(chances)
    out[:, 1:] = 1 - none[:, :-1]
    return out
