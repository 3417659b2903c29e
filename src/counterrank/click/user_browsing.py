"""The user-browsing model (ubm): how likely a position is examined depends on the last click above it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from counterrank.click.base import ClickModel, Clicks, Floats, chances, shown_values
from counterrank.click.counts import ClickCounts
from counterrank.click.fit import Fit, Options
from counterrank.click.glance import Glimpses, climb
from counterrank.compiled import njit
from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.statistics.patterns import Patterns


class UserBrowsing(ClickModel):
    """A click at k has chance a · γ(k, j), with j the position of the last click above k, 0 for none.

    `examination` is (K, K): row k, column j for positions k = 1..K and last clicks j = 0..K-1; j ≥ k is not read.

    >>> model = UserBrowsing([0.5, 0.2], examination=[[1.0, 0.0], [0.5, 1.0]])
    >>> model.click_probabilities(np.array([0]), np.array([[0, 1]])).round(3).tolist()
    [[0.5, 0.15]]

    Reference: Dupret and Piwowarski, SIGIR 2008.
    """

    assumption = "A click at k needs an attractive item and a look, whose chance depends on k and the last click above."

    def __init__(self, attraction: ArrayLike, examination: ArrayLike) -> None:
        self.attraction = chances(attraction, "attraction")
        self.examination = chances(examination, "examination", (2,))
        if self.examination.shape[0] != self.examination.shape[1]:
            raise InputError(f"examination came with shape {self.examination.shape}: give (K, K)")

    def click_probabilities(self, queries: Codes, rankings: Codes) -> Floats:
        attraction = self._attraction(rankings)
        out = np.empty_like(attraction)
        last = np.zeros((len(rankings), rankings.shape[1] + 1))  # the chance of each last click so far
        last[:, 0] = 1.0
        for k in range(rankings.shape[1]):
            clicked = last[:, : k + 1] * self.examination[k, : k + 1] * attraction[:, k : k + 1]
            out[:, k] = clicked.sum(axis=1)
            last[:, : k + 1] -= clicked
            last[:, k + 1] = out[:, k]
        return out

    def conditional_probabilities(self, queries: Codes, rankings: Codes, clicks: Clicks) -> Floats:
        attraction = self._attraction(rankings)
        place = np.where(clicks == 1, np.arange(1, clicks.shape[1] + 1), 0)
        last = np.zeros(clicks.shape, dtype=np.int64)
        np.maximum.accumulate(place[:, :-1], axis=1, out=last[:, 1:])
        return np.asarray(attraction * self.examination[np.arange(clicks.shape[1]), last])

    def sample(self, queries: Codes, rankings: Codes, rng: np.random.Generator) -> Clicks:
        attraction = self._attraction(rankings)
        out = np.zeros(rankings.shape, dtype=np.int8)
        last = np.zeros(len(rankings), dtype=np.int64)
        for k in range(rankings.shape[1]):
            hit = rng.random(len(rankings)) < attraction[:, k] * self.examination[k, last]
            out[:, k] = hit
            last[hit] = k + 1
        return out

    def _attraction(self, rankings: Codes) -> Floats:
        if len(self.examination) < rankings.shape[1]:
            raise InputError(
                f"examination has {len(self.examination)} positions but rankings have {rankings.shape[1]}: "
                "give one row per position"
            )
        return shown_values(self.attraction, rankings)


def fit_user_browsing(counts: ClickCounts, options: Options = Options()) -> Fit:
    """Maximum likelihood by expectation–maximisation on counts per (pair, position, last click above it).

    Position 1 is taken as always examined: examination and attraction are known only up to a factor. One table for
    all queries: a query of its own seldom has the data for one.
    """
    patterns = counts.need_patterns("ubm")
    positions = patterns.coded.shape[1]
    examination = np.full(positions * (positions + 1) // 2, 0.5)
    examination[0] = 1.0
    fixed = np.arange(len(examination)) == 0
    found = climb(cells_of(patterns, len(examination)), len(counts.pairs), examination, fixed, options)
    table = np.zeros((positions, positions))
    table[np.tril_indices(positions)] = examination
    model = UserBrowsing(found.attraction, table)
    return Fit(model, found.looks, tuple(found.climb.trace), found.climb.converged, found.climb.notes)


def cells_of(patterns: Patterns, places: int) -> Glimpses:
    """Counts per pair and place, places being (position, last click): 0 is (1, none), then (2, none), (2, 1), …"""
    size = int((patterns.coded >= 0).sum())
    keys, shown, clicked = np.empty(size, dtype=np.int64), np.empty(size), np.empty(size)
    _spread(patterns.coded, patterns.impressions, places, keys, shown, clicked)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if size else np.zeros(0, dtype=np.int64)
    return Glimpses(
        (keys[starts] // places).astype(np.int32),
        (keys[starts] % places).astype(np.int32),
        np.add.reduceat(shown[order], starts) if size else shown,
        np.add.reduceat(clicked[order], starts) if size else clicked,
    )


@njit(nogil=True)
def _spread(coded: Any, impressions: Any, places: int, keys: Any, shown: Any, clicked: Any) -> None:
    i = 0
    for r in range(len(coded)):
        last = 0
        for k in range(coded.shape[1]):
            v = coded[r, k]
            if v < 0:
                break
            keys[i] = np.int64(v >> 1) * places + k * (k + 1) // 2 + last
            shown[i] = impressions[r]
            clicked[i] = impressions[r] * (v & 1)
            i += 1
            if v & 1:
                last = k + 1
