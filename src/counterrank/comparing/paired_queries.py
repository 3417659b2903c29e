"""Paired differences query by query, each with an interval of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.comparing.comparison import VERDICTS, QueryVerdicts
from counterrank.estimate import Estimate
from counterrank.judging.remarks import FEW
from counterrank.statistics.counts import Counts

ROUNDING = 1e-12  # relative: a difference that is smaller is 0 but for rounding
Vector = NDArray[np.float64]


def per_query(
    counts: Counts, gap: Estimate, sides: Sequence[Estimate], confidence: float
) -> tuple[pa.Table, QueryVerdicts | None]:
    """The difference of each query, and how many each policy wins, where the estimator tells how far it may be off.

    A query where a policy has fewer than 30 impressions' worth of evidence has no interval: an approximation says
    nothing there. The others have Student's t.
    """
    value = _rounded(gap.per_query, sides)
    columns = {
        "query": counts.pairs.query_ids.column(),
        "impressions": pa.array(counts.impressions),
        "difference": _column(value),
    }
    sizes = [side.sizes for side in sides]
    if gap.within is None or any(size is None for size in sizes):
        return pa.table(columns), None
    n = counts.impressions.astype(np.float64)
    size = np.minimum.reduce([n, *(each for each in sizes if each is not None)])
    with np.errstate(divide="ignore", invalid="ignore"):
        stderr = np.where(n > 1, np.sqrt(gap.within / n / (n - 1)), np.nan)
    stderr = np.where(np.isfinite(value), stderr, np.nan)
    half = _half(stderr, size, confidence)
    found, corrected = (_signs(value, _half(stderr, size, c)) for c in (confidence, 1 - (1 - confidence) / len(n)))
    columns |= {
        "stderr": _column(stderr),
        "lower": _column(value - half),
        "upper": _column(value + half),
        "verdict": pa.array([VERDICTS[sign] for sign in found.tolist()]),
        "impressions_needed": _needed(value, half, n, found),
        "significant_after_correction": pa.array(corrected != 0),
    }
    return pa.table(columns), QueryVerdicts.of(found, corrected, confidence)


def _rounded(value: Vector, sides: Sequence[Estimate]) -> Vector:
    with np.errstate(invalid="ignore"):
        most = np.maximum.reduce([np.abs(side.per_query) for side in sides])
        return np.where(np.abs(value) <= ROUNDING * most, 0.0, value)


def _half(stderr: Vector, size: Vector, confidence: float) -> Vector:
    from scipy.special import stdtrit  # slow to import

    t = np.asarray(stdtrit(np.maximum(size - 1, 1.0), (1 + confidence) / 2))
    return np.where(size >= FEW, t * stderr, np.nan)


def _signs(value: Vector, half: Vector) -> NDArray[np.int64]:
    """1: the target wins, -1: the baseline, 0: undecided."""
    with np.errstate(invalid="ignore"):
        return (value - half > 0).astype(np.int64) - (value + half < 0)


def _needed(value: Vector, half: Vector, n: Vector, found: NDArray[np.int64]) -> pa.Array:
    """Further impressions of the query until its interval leaves 0 out; none where the difference is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        more = np.floor(n * (half / value) ** 2) + 1 - n
    known = np.isfinite(more) & (value != 0)
    whole = np.clip(np.where(known, more, 0.0), 1, 2.0**62).astype(np.int64)
    return pa.array(np.where(found != 0, 0, whole), mask=~known)


def _column(values: Vector) -> pa.Array:
    return pa.array(values, mask=~np.isfinite(values))
