"""Directions that a ranking has at each position: how attractive what stands around an item is."""

from __future__ import annotations

import numpy as np

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

    def around(self, rows: Codes) -> list[Matrix]:
        """Of rankings: the clicks to be expected above and below each item, and its neighbours' appeal."""
        inside = rows >= 0
        appeal = np.where(inside, self.of_pair[rows], 0.0)
        clicks = appeal * self.by_position
        upto = np.cumsum(clicks, axis=1)
        before, after = np.zeros_like(appeal), np.zeros_like(appeal)
        before[:, 1:], after[:, :-1] = appeal[:, :-1], appeal[:, 1:]
        return [upto - clicks, upto[:, -1:] - upto, before, after]


def any_above(chances: Matrix) -> Matrix:
    """(G, K) the chance of a click further up, from chances of clicks that have nothing to do with each other."""
    none = np.cumprod(1 - np.clip(chances, 0.0, 1.0), axis=1)
    out = np.zeros_like(chances)
    out[:, 1:] = 1 - none[:, :-1]
    return out
