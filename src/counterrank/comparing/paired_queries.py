"""Paired differences query by query, each with an interval of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.comparing.comparison import VERDICTS, QueryVerdicts
from counterrank.comparing.ends import untold
from counterrank.estimate import Estimate
from counterrank.interval.betting import query_ends
from counterrank.judging.remarks import FEW
from counterrank.statistics.counts import Counts

ROUNDING = 1e-12  # relative: a difference that is smaller is 0 but for rounding
Vector = NDArray[np.float64]


def per_query(
    counts: Counts, done: Mapping[str, Estimate], kind: str, confidence: float
) -> tuple[pa.Table, QueryVerdicts | None]:
    """The difference of each query, and how many each policy wins, where the estimator tells how far it may be off.

    By betting each query has a bound of its own terms. Else it has Student's t, but for queries where a policy has
    fewer than 30 impressions' worth of evidence: an approximation says nothing there.
    """
    gap, sides = done["difference"], [done["target"], done["baseline"]]
    value = _rounded(gap.per_query, sides)
    columns = {
        "query": counts.pairs.query_ids.column(),
        "impressions": pa.array(counts.impressions),
        "difference": _column(value),
    }
    n = counts.impressions.astype(np.float64)
    stderr = _errors(gap, value, n)
    levels = confidence, 1 - (1 - confidence) / len(n)
    ends = [_bets(done, c) if kind == "betting" else None for c in levels]
    if None in ends:
        ends = [_students(value, stderr, sides, n, c) for c in levels]
    first, second = ends
    if first is None or second is None:
        return pa.table(columns), None
    (lower, upper), corrected = first, _signs(*second)
    found = _signs(lower, upper)
    half = np.where(value > 0, value - lower, upper - value)
    columns |= {
        "stderr": _column(stderr if stderr is not None else np.full(len(n), np.nan)),
        "lower": _column(lower),
        "upper": _column(upper),
        "verdict": pa.array([VERDICTS[sign] for sign in found.tolist()]),
        "impressions_needed": _needed(value, half, n, found),
        "significant_after_correction": pa.array(corrected != 0),
    }
    return pa.table(columns), QueryVerdicts.of(found, corrected, confidence)


Ends = tuple[Vector, Vector] | None


def _students(value: Vector, stderr: Vector | None, sides: Sequence[Estimate], n: Vector, confidence: float) -> Ends:
    """(Q,) both ends by Student's t; None where the estimator does not tell how far it may be off."""
    sizes = [side.sizes for side in sides if side.sizes is not None]
    if stderr is None or len(sizes) < len(sides):
        return None
    half = _half(stderr, np.minimum.reduce([n, *sizes]), confidence)
    return value - half, value + half


def _errors(gap: Estimate, value: Vector, n: Vector) -> Vector | None:
    """(Q,) standard errors; None where the estimator does not tell them."""
    if gap.within is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        stderr = np.where(n > 1, np.sqrt(gap.within / n / (n - 1)), np.nan)
    return np.where(np.isfinite(value), stderr, np.nan)


def _bets(done: Mapping[str, Estimate], confidence: float) -> Ends:
    """(Q,) both ends by betting; None where the terms of queries are not known."""
    low, high = done["low"].query_terms, done["high"].query_terms
    if low is None or high is None:
        return None
    nobody = untold(done)
    lower, upper = query_ends(low(), confidence, "lower"), query_ends(high(), confidence, "upper")
    return np.where(nobody, np.nan, lower), np.where(nobody, np.nan, upper)


def _rounded(value: Vector, sides: Sequence[Estimate]) -> Vector:
    with np.errstate(invalid="ignore"):
        most = np.maximum.reduce([np.abs(side.per_query) for side in sides])
        return np.where(np.abs(value) <= ROUNDING * most, 0.0, value)


def _half(stderr: Vector, size: Vector, confidence: float) -> Vector:
    from scipy.special import stdtrit  # slow to import

    t = np.asarray(stdtrit(np.maximum(size - 1, 1.0), (1 + confidence) / 2))
    return np.where(size >= FEW, t * stderr, np.nan)


def _signs(lower: Vector, upper: Vector) -> NDArray[np.int64]:
    """1: the target wins, -1: the baseline, 0: undecided."""
    with np.errstate(invalid="ignore"):
        return (lower > 0).astype(np.int64) - (upper < 0)


def _needed(value: Vector, half: Vector, n: Vector, found: NDArray[np.int64]) -> pa.Array:
    """Further impressions of the query until its interval leaves 0 out; none where the difference is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        more = np.floor(n * (half / value) ** 2) + 1 - n
    known = np.isfinite(more) & (value != 0)
    whole = np.clip(np.where(known, more, 0.0), 1, 2.0**62).astype(np.int64)
    return pa.array(np.where(found != 0, 0, whole), mask=~known)


def _column(values: Vector) -> pa.Array:
    return pa.array(values, mask=~np.isfinite(values))
