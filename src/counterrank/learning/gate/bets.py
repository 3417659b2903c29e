"""Bounds by betting where clicks are known by their numbers only: for worlds in which clicks are independent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterrank.interval.betting import lower_bounds
from counterrank.learning.gate.bounds import PairClicks, contrast
from counterrank.statistics.terms import Units

Vector = NDArray[np.float64]


def betting_from_counts(
    clicks: PairClicks, first: Vector, second: Vector, confidence: float, *, whole: bool = False
) -> tuple[Vector, Vector]:
    """(Q,) both ends of a bound on R(first) − R(second), (1 − confidence)/2 a side; of the whole part, where asked.

    The terms are the paper's N·K, each K·R of a shown item and 0 without a click, and no term is below the least that
    a click on an item of the query can bring. Assumption: all of them are independent, as where one ranking a query is
    logged and clicks are drawn item by item. A log has pages, whose clicks go together: there a page is one term.

    >>> clicks = PairClicks(
    ...     starts=np.array([0, 2]), impressions=np.array([1000]), clicks=np.array([100, 300]),
    ...     propensity=np.array([1.0, 0.5]), positions=2, most=1.0,
    ... )
    >>> ends = betting_from_counts(clicks, np.array([0.63, 1.0]), np.array([1.0, 0.63]), 0.95)
    >>> [end.round(3).tolist() for end in ends]
    [[0.142], [0.231]]
    """
    term = clicks.positions * clicks.worth(contrast(first, second, clicks.most))
    term[~clicks.known] = 0.0
    starts = np.array([0, len(term)]) if whole else np.asarray(clicks.starts, dtype=np.int64)
    n = np.array([clicks.impressions.sum()]) if whole else clicks.impressions
    used = np.array([clicks.per_query.sum()]) if whole else clicks.per_query
    quiet = n * float(clicks.positions) - used
    lower, upper = (
        _lower(starts, sign * term, clicks.clicks.astype(np.float64), quiet, (1 - confidence) / 2) for sign in (1, -1)
    )
    return lower, -upper


def _lower(starts: NDArray[np.int64], term: Vector, clicks: Vector, quiet: Vector, delta: float) -> Vector:
    """(Q,) the lower bound, from the term and the clicks of each pair and the number of terms without a click."""
    groups = np.diff(starts)
    least = np.minimum(np.minimum.reduceat(np.append(term, 0.0), starts[:-1]), 0.0) if len(groups) else term[:0]
    least = np.where(groups > 0, least, 0.0)
    at = np.repeat(np.arange(len(groups)), groups)
    place = np.arange(len(term)) + at  # each group's terms, then its zeros
    counts, values = np.empty(len(term) + len(groups)), np.zeros(len(term) + len(groups))
    counts[place], values[place] = clicks, term
    counts[starts[1:] + np.arange(len(groups))] = quiet
    kept = counts > 0
    ends = np.concatenate([[0], np.cumsum(kept)])[starts + np.arange(len(starts))]
    n, v = counts[kept], values[kept]
    return lower_bounds(ends, Units(n, n * v, v, v, np.ones(len(n))), least, delta)
