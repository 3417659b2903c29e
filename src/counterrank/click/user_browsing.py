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
from counterrank.statistics.pairs import Pairs, ranges
from counterrank.statistics.patterns import Patterns

ROOM = 1 << 21  # places of pairs that are counted in one go: 32 MB


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
    cells = counts.once("ubm", lambda: cells_of(counts.pairs, patterns, len(examination)))
    found = climb(cells, len(counts.pairs), examination, fixed, options)
    table = np.zeros((positions, positions))
    table[np.tril_indices(positions)] = examination
    model = UserBrowsing(found.attraction, table)
    return Fit(model, found.looks, tuple(found.climb.trace), found.climb.converged, found.climb.notes)


def cells_of(pairs: Pairs, patterns: Patterns, places: int) -> Glimpses:
    """Counts per pair and place, places being (position, last click): 0 is (1, none), then (2, none), (2, 1), …

    They are counted in a table of all places of a few queries' pairs, which is then read out.
    """
    if (patterns.queries[1:] < patterns.queries[:-1]).any():
        patterns = patterns.at(np.argsort(patterns.queries, kind="stable"))
    found = []
    for first, last in ranges(pairs.starts * places, ROOM):
        rows = slice(*np.searchsorted(patterns.queries, [first, last]))
        found.append(_block(patterns.coded[rows], patterns.impressions[rows], pairs.starts[[first, last]], places))
    of, at, shown, clicked = (np.concatenate(each) for each in zip(*found, strict=True))
    return Glimpses(of, at, shown, clicked)


def _block(coded: Any, impressions: Any, pairs: Codes, places: int) -> tuple[Any, ...]:
    """Pairs, places, impressions and clicks of the pairs from the first to the second of these."""
    first, last = pairs.tolist()
    table = np.zeros((last - first, places, 2), dtype=np.int64)
    _spread(coded, impressions, first, table)
    of, at = np.nonzero(table[:, :, 0])
    shown, clicked = table[of, at].T.astype(np.float64)
    return (of + first).astype(np.int32), at.astype(np.int32), shown, clicked


@njit(nogil=True)
def _spread(coded: Any, impressions: Any, first: int, table: Any) -> None:
    for r in range(len(coded)):
        last = 0
        for k in range(coded.shape[1]):
            v = coded[r, k]
            if v < 0:
                break
            at = k * (k + 1) // 2 + last
            table[(v >> 1) - first, at, 0] += impressions[r]
            if v & 1:
                table[(v >> 1) - first, at, 1] += impressions[r]
                last = k + 1
