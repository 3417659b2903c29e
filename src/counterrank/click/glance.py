"""Fits of models where a click is a glance that finds an attractive item: a click at a place has chance a·e.

Place means position (position-based) or position and last click above it (user browsing). Counts per (pair, place) are
all that the likelihood needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.click.base import Floats
from counterrank.click.climb import Climb
from counterrank.click.counts import ClickCounts
from counterrank.click.fit import Looks, Options, effective, logs
from counterrank.click.halves import in_halves
from counterrank.compiled import njit
from counterrank.records import dataclass
from counterrank.statistics.pairs import sum_by


@dataclass(frozen=True)
class Glimpses:
    """Impressions and clicks of pairs at places, one row for each that was logged."""

    pairs: NDArray[np.int32]
    places: NDArray[np.int32]
    shown: Floats
    clicked: Floats

    @classmethod
    def of_positions(cls, counts: ClickCounts, by_query: bool) -> Glimpses:
        """Places are positions, or query · K + position."""
        cells = counts.cells
        places = cells.positions
        if by_query:
            places = counts.pairs.queries[cells.rows] * cells.depth + places
        return cls(
            cells.rows.astype(np.int32),
            places.astype(np.int32),
            counts.shown.astype(np.float64),
            counts.clicked.astype(np.float64),
        )


@dataclass(frozen=True)
class Glances:
    """What `climb` found."""

    attraction: Floats
    looks: Looks
    climb: Climb


def climb(cells: Glimpses, pairs: int, examination: Floats, fixed: NDArray[np.bool_], options: Options) -> Glances:
    """Attraction of every pair and, in place, examination of every place that is not fixed.

    The examined are counted: e = looks at the place / impressions there, a = clicks / looks at the item. That is
    expectation–maximisation with fewer things unseen than in the usual form, where attraction is drawn for items
    that nobody looks at too; it has the same tops and gets there faster.
    """
    clicks = sum_by(cells.pairs.astype(np.int64), cells.clicked, pairs)
    places = cells.places.astype(np.int64)
    at, clicks_at = (sum_by(places, each, len(examination)) for each in (cells.shown, cells.clicked))
    attraction = np.full(pairs, 0.5)
    looks, doubt, seen = np.zeros(pairs), np.zeros(pairs), np.zeros(len(examination))

    rows = cells.pairs, cells.places, cells.shown, cells.clicked

    def step() -> float:
        total = in_halves(glance_step, rows, (attraction, examination), (looks, doubt, seen))
        total += logs(clicks, attraction) + logs(clicks_at, examination)
        total += options.penalty(attraction) + options.other.penalty(examination[~fixed])
        attraction[:] = options.mean(clicks, looks)
        examination[~fixed] = options.other.mean(seen, at)[~fixed]
        return total

    climbed = Climb(step, [attraction, examination])
    climbed.run(options.iterations, options.tolerance, options.strides)
    return Glances(attraction, effective(clicks, looks, doubt, attraction), climbed)


@njit(nogil=True)
def glance_step(
    pairs: Any, places: Any, shown: Any, clicked: Any, attraction: Any, examination: Any, looks: Any, doubt: Any,
    seen: Any,
) -> float:  # fmt: skip
    """Expected looks at pairs and places, and the doubt in them; the log-likelihood of what was not clicked."""
    looks[:], doubt[:], seen[:] = 0.0, 0.0, 0.0
    total = 0.0
    for i in range(len(pairs)):
        p, j, hits = pairs[i], places[i], clicked[i]
        missed = shown[i] - hits
        a, e = attraction[p], examination[j]
        expected = hits
        if missed > 0.0:
            free = 1.0 - a * e
            total += missed * np.log(free)
            w = e * (1.0 - a) / free
            expected += missed * w
            doubt[p] += missed * w * (1.0 - w)
        looks[p] += expected
        seen[j] += expected
    return total
