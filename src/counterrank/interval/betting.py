"""Betting: bounds on a mean of bounded terms that hold in every sample, however often they are looked at."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.interval.base import NoInterval, Spread
from counterrank.statistics.pairs import ranges
from counterrank.statistics.query_terms import QueryTerms
from counterrank.statistics.terms import Units

Vector = NDArray[np.float64]
SOME = 1 << 16  # units of queries that are looked at in one go


def betting(spread: Spread, confidence: float) -> tuple[float, float]:
    """The means that a mixture of bets does not speak against, (1 − confidence)/2 a side.

    Against "the mean is at most m" the capital of a bet λ is Π(1 + λ(T − m·n)), over units of n impressions whose terms
    sum to T; the lower bound is the largest m such that the mean capital of all bets reaches 2/(1 − confidence) for all
    below. The upper bound is that of the terms with their signs changed. Exact for known propensities and independent
    units, at all times at once. Reference: Waudby-Smith and Ramdas 2023; Waudby-Smith et al. 2024.

    >>> from counterrank.statistics.histogram import Histogram
    >>> from counterrank.statistics.terms import Terms
    >>> units = Units.of(Histogram.of([0.0, 1.0], [500, 500]))
    >>> terms = Terms(units, units, least=0.0, most=1.0)
    >>> [round(x, 3) for x in betting(Spread(value=0.5, stderr=0.016, impressions=1000, terms=terms), 0.95)]
    [0.445, 0.555]
    """
    if spread.terms is None:
        raise NoInterval(spread.no_terms or "it needs the terms of impressions, which this estimator does not give")
    terms, delta = spread.terms, (1 - confidence) / 2
    if not (math.isfinite(terms.least) or math.isfinite(terms.most)):
        raise NoInterval("nobody can tell how far a term can reach, for it hangs on weights that the log does not show")
    lower = lower_bound(terms.for_lower.within(terms.least, terms.most), terms.least, delta)
    upper = lower_bound(terms.for_upper.within(terms.least, terms.most).mirrored(), -terms.most, delta)
    return lower, -upper


def query_bounds(terms: QueryTerms, confidence: float) -> tuple[Vector, Vector]:
    """(Q,) both bounds of each query's own mean, (1 − confidence)/2 a side; those of a term where it has no units.

    Where a query's terms are open to one side, so is its bound. Every query has its own chance of being wrong: who
    picks among many corrects the confidence.
    """
    return query_ends(terms, confidence, "lower"), query_ends(terms, confidence, "upper")


def query_ends(terms: QueryTerms, confidence: float, end: Literal["lower", "upper"]) -> Vector:
    """(Q,) one of the two bounds of each query, some queries at a time."""
    lower, least, most = end == "lower", terms.least, terms.most
    units = terms.for_lower if lower else terms.for_upper
    starts, losing = units.starts(len(least)), least if lower else -most
    known, out = np.isfinite(losing), np.empty(len(least))
    for first, last in ranges(starts, SOME):
        own, mine = slice(first, last), slice(int(starts[first]), int(starts[last]))
        some = units.at(mine)
        inside = some.units().within(least[some.queries], most[some.queries])
        out[own] = lower_bounds(
            starts[first : last + 1] - starts[first],
            inside if lower else inside.mirrored(),
            np.where(known, losing, 0.0)[own],
            (1 - confidence) / 2,
            many=len(least) > 1,
        )
    found = np.where(known, out, -np.inf)
    return found if lower else -found


def lower_bound(units: Units, least: float, delta: float) -> float:
    """What the mean per impression is above, but for a chance of δ, if no term per impression is below `least`.

    >>> from counterrank.statistics.histogram import Histogram
    >>> round(lower_bound(Units.of(Histogram.of([0.0, 1.0], [10, 10])), 0.0, 0.025), 3)
    0.172
    """
    if not math.isfinite(least):
        return -math.inf
    return float(lower_bounds(np.array([0, len(units.counts)]), units, np.array([least]), delta)[0])


def lower_bounds(starts: Codes, units: Units, least: Vector, delta: float, many: bool = False) -> Vector:
    """The same of groups of units, of which the g-th goes from starts[g] to starts[g + 1]; one by itself is found more
    closely than `many`, of which these may be a part."""
    from counterrank.interval.mixture import BETS, CLOSE, NEAR, WEIGHTS, least_means  # compiled

    out = np.empty(len(least))
    columns = (units.counts, units.sums, units.low, units.high, units.sizes)
    made = (np.ascontiguousarray(each, dtype=np.float64) for each in columns)
    close = CLOSE if len(least) == 1 and not many else NEAR
    least_means(starts.astype(np.int64), *made, least.astype(np.float64), -math.log(delta), close, BETS, WEIGHTS, out)
    return out


def log_capitals(starts: Codes, units: Units, least: Vector, mean: float = 0.0) -> Vector:
    """The logarithm of the capital of all bets against "the mean is at most this", of each group.

    Where it is above log(1/δ) the group's lower bound is above that mean, whatever δ: one look for all confidences.

    >>> from counterrank.statistics.histogram import Histogram
    >>> units, least = Units.of(Histogram.of([0.0, 1.0], [10, 10])), np.array([0.0])
    >>> bound = lower_bound(units, 0.0, 0.025)
    >>> capital = log_capitals(np.array([0, 2]), units, least, bound)[0]
    >>> abs(round(float(capital + math.log(0.025)), 6))
    0.0
    """
    from counterrank.interval import mixture  # compiled

    out = np.empty(len(least))
    columns = (units.counts, units.sums, units.low, units.high, units.sizes)
    made = (np.ascontiguousarray(each, dtype=np.float64) for each in columns)
    mixture.log_capitals(
        starts.astype(np.int64), *made, least.astype(np.float64), mean, mixture.BETS, mixture.WEIGHTS, out
    )
    return out
