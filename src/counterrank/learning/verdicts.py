"""The gates by name: how far the difference of two policies may be off, query by query or over all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.interval.betting import lower_bounds
from counterrank.learning.gate import contrast, relative_bounds, sea_bounds
from counterrank.learning.gate.bounds import FEWEST
from counterrank.learning.ground import Ground
from counterrank.records import dataclass
from counterrank.statistics.cluster_terms import capped
from counterrank.statistics.pairs import sum_by
from counterrank.statistics.query_terms import QueryUnits
from counterrank.statistics.terms import Units

Vector = NDArray[np.float64]
MANY_OF_QUERY, MANY_TERMS = 1 << 10, 1 << 16  # different terms from which they go into buckets


@dataclass(frozen=True)
class Verdicts:
    """A difference per query, or one of all, on the selection part, and between what numbers it lies.

    NaN: there is no difference without impressions, and no bound with fewer than two clicks.
    """

    impressions: Codes
    clicks: Codes
    difference: Vector
    lower: Vector
    upper: Vector

    def wins(self, bounded: bool = True) -> NDArray[np.bool_]:
        """Where the lower bound is above 0; without bounds, where the difference is."""
        with np.errstate(invalid="ignore"):
            return np.asarray((self.lower if bounded else self.difference) > 0)


Ends = tuple[Vector, Vector]
Gate = Callable[[Ground, Vector, Vector, float, bool], Ends]


def judged(
    ground: Ground, first: Vector, second: Vector, gate: str, confidence: float | None, *, whole: bool = False
) -> Verdicts:
    """R(first) − R(second), rank weights (P,), on the selection part, with the bound of a gate; none: no bound."""
    part = ground.selection
    n = np.array([part.impressions.sum()]) if whole else part.impressions
    clicks = np.array([part.clicks.sum()]) if whole else ground.clicks(part).per_query.astype(np.int64)
    value = relative_bounds(ground.clicks(part), first, second, whole=whole).value
    value = np.where(n > 0, value, np.nan)
    if confidence is None:
        return Verdicts(n, clicks, value, np.full(len(n), np.nan), np.full(len(n), np.nan))
    lower, upper = GATES[gate](ground, first, second, confidence, whole)
    enough = (clicks >= FEWEST) & (n > 0)
    ends = [np.where(enough & np.isfinite(end), end, np.nan) for end in (lower, upper)]
    return Verdicts(n, clicks, value, ends[0], ends[1])


def by_bernstein(ground: Ground, first: Vector, second: Vector, confidence: float, whole: bool) -> Ends:
    """genspec2021's relative bound; K is that of the log, b the query's own."""
    found = relative_bounds(ground.clicks(ground.selection), first, second, whole=whole)
    half = found.half(confidence)
    return found.value - half, found.value + half


def by_two(ground: Ground, first: Vector, second: Vector, confidence: float, whole: bool) -> Ends:
    """SEA's two bounds, as one interval for the difference."""
    found = sea_bounds(ground.clicks(ground.selection), first, second, whole=whole)
    half = found.half(confidence)
    return found.value - half, found.value + half


def by_bets(ground: Ground, first: Vector, second: Vector, confidence: float, whole: bool) -> Ends:
    """Betting on one term Σ_d R an impression, or a cluster: no term is below what the worst page could bring."""
    worth = ground.clicks(ground.selection).worth(contrast(first, second, ground.most))
    least, most = reach(ground, worth)
    if whole:
        least, most = np.array([least.min(initial=0.0)]), np.array([most.max(initial=0.0)])
    owner, units = terms_of(ground, worth, whole)
    starts, delta = np.searchsorted(owner, np.arange(len(least) + 1)), (1 - confidence) / 2
    units = units.within(least[owner], most[owner])
    if whole and ground.clustered:
        units = capped(units)[0]
    return lower_bounds(starts, units, least, delta), -lower_bounds(starts, units.mirrored(), -most, delta)


GATES: dict[str, Gate] = {"betting": by_bets, "genspec": by_bernstein, "sea": by_two}


def reach(ground: Ground, worth: Vector) -> tuple[Vector, Vector]:
    """(Q,) the least and the largest term of an impression, by weights and policies, whatever was clicked.

    The worst page shows as many items as a list of the query has, those that lose most, all clicked.
    """
    pairs = ground.pairs
    ends = []
    for sign in (1.0, -1.0):
        order = np.lexsort((sign * worth, pairs.queries))
        rank = np.arange(len(order)) - pairs.starts[pairs.queries]
        value = np.minimum(sign * worth[order], 0.0)
        value[rank >= pairs.lengths[pairs.queries]] = 0.0
        ends.append(sign * sum_by(pairs.queries, value, len(pairs.lengths)))
    return ends[0], ends[1]


def terms_of(ground: Ground, worth: Vector, whole: bool) -> tuple[Codes, Units]:
    """The terms of the selection part by query, or as if of one query: one an impression, or a cluster.

    Each with its number, as it is; a query with very many different ones has them in buckets.
    """
    patterns = ground.selection.patterns
    term = np.empty(len(patterns))
    _terms(patterns.coded, worth, term)
    n, queries, size = patterns.impressions.astype(np.float64), patterns.queries, np.ones(len(patterns))
    queries = np.zeros_like(queries) if whole else queries
    if patterns.clusters is not None:
        order = np.lexsort((patterns.clusters, queries))
        heads = _heads(queries[order], patterns.clusters[order])
        size, term = (_sums(each[order], heads) for each in (n, n * term))
        queries, n = queries[order][heads], np.ones(len(heads))
    order = np.lexsort((term, size, queries))
    heads = _heads(queries[order], size[order], term[order])
    n, first = _sums(n[order], heads), order[heads]
    queries, size, term = queries[first], size[first], term[first]
    many = np.bincount(queries, minlength=1)[queries] > (MANY_TERMS if whole else MANY_OF_QUERY)
    rest = np.flatnonzero(~many)
    exact = Units(n[rest], n[rest] * term[rest], term[rest], term[rest], size[rest])
    if not many.any():
        return queries, exact
    dense = QueryUnits.of(queries[many], term[many], n[many], size[many])
    owner = np.concatenate([queries[rest], dense.queries])
    order, units = np.argsort(owner, kind="stable"), Units.joined([exact, dense.units()])
    columns = (each[order] for each in (units.counts, units.sums, units.low, units.high, units.sizes))
    return owner[order], Units(*columns)


def _heads(*columns: NDArray[Any]) -> Codes:
    """Where a new group begins in sorted columns."""
    new = np.ones(len(columns[0]), dtype=bool)
    new[1:] = np.logical_or.reduce([each[1:] != each[:-1] for each in columns])
    return np.flatnonzero(new)


def _sums(values: Vector, heads: Codes) -> Vector:
    return np.add.reduceat(values, heads) if len(heads) else np.zeros(0)


@njit(nogil=True)
def _terms(coded: Any, worth: Any, out: Any) -> None:  # pragma: no cover
    for g in range(len(coded)):
        out[g] = 0.0
        for k in range(coded.shape[1]):
            v = coded[g, k]
            if v < 0:
                break
            if v & 1:
                out[g] += worth[v >> 1]


@dataclass(frozen=True)
class Together:
    """How the estimates of two policies go together, and how much narrower one bound is than two (appendix B)."""

    covariance: Vector  # of the two estimates
    ratio: Vector  # the width of the relative bound over that of SEA's two


def together(ground: Ground, first: Vector, second: Vector, confidence: float, *, whole: bool = False) -> Together:
    """Per query, or over all; NaN where there are fewer than two clicks."""
    clicks = ground.clicks(ground.selection)
    one, two = relative_bounds(clicks, first, second, whole=whole), sea_bounds(clicks, first, second, whole=whole)
    terms = one.impressions.astype(np.float64) * one.positions
    with np.errstate(divide="ignore", invalid="ignore"):
        each = [bound.spread / (terms * (terms - 1)) for bound in (two.first, two.second, one)]
        ratio = one.half(confidence) / two.half(confidence)
    known = np.isfinite(ratio)
    return Together(np.where(known, (each[0] + each[1] - each[2]) / 2, np.nan), np.where(known, ratio, np.nan))


__all__ = ["GATES", "Together", "Verdicts", "judged", "reach", "terms_of", "together"]
