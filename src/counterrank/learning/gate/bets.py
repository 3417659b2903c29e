"""Bounds by betting where clicks are known by their numbers only: for worlds in which clicks are independent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterrank.interval.betting import log_capitals, lower_bounds
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
    delta = (1 - confidence) / 2
    lower, upper = (lower_bounds(*_terms(clicks, first, second, whole, sign), delta) for sign in (1, -1))
    return lower, -upper


def capital_from_counts(clicks: PairClicks, first: Vector, second: Vector, *, whole: bool = False) -> Vector:
    """(Q,) the logarithm of the capital that bets on R(first) > R(second) have won; of the whole part, where asked.

    Where it is above log(2 / (1 − confidence)) the lower end of `betting_from_counts` is above 0: one look decides at
    all confidences. Assumption: as there.
    """
    return log_capitals(*_terms(clicks, first, second, whole, 1))


def _terms(
    clicks: PairClicks, first: Vector, second: Vector, whole: bool, sign: int
) -> tuple[NDArray[np.int64], Units, Vector]:
    """Where the terms of each group begin, the terms that came with their numbers, and the least that can come.

    Each pair is a term with as many units as clicks; the terms without a click are one more of each group.
    """
    term = sign * clicks.positions * clicks.worth(contrast(first, second, clicks.most))
    term[~clicks.known] = 0.0
    starts = np.array([0, len(term)]) if whole else np.asarray(clicks.starts, dtype=np.int64)
    n = np.array([clicks.impressions.sum()]) if whole else clicks.impressions
    used = np.array([clicks.per_query.sum()]) if whole else clicks.per_query
    groups = np.diff(starts)
    least = np.minimum(np.minimum.reduceat(np.append(term, 0.0), starts[:-1]), 0.0) if len(groups) else term[:0]
    at = np.repeat(np.arange(len(groups)), groups)
    place = np.arange(len(term)) + at  # each group's terms, then its zeros
    counts, values = np.empty(len(term) + len(groups)), np.zeros(len(term) + len(groups))
    counts[place], values[place] = clicks.clicks, term
    counts[starts[1:] + np.arange(len(groups))] = n * float(clicks.positions) - used
    kept = counts > 0
    ends = np.concatenate([[0], np.cumsum(kept)])[starts + np.arange(len(starts))]
    n, v = counts[kept], values[kept]
    return ends, Units(n, n * v, v, v, np.ones(len(n))), np.where(groups > 0, least, 0.0)
