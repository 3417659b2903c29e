"""Student's t: the normal approximation for few impressions."""

from __future__ import annotations

from counterrank.interval.base import Spread
from counterrank.statistics.student import student_quantile


def student(spread: Spread, confidence: float) -> tuple[float, float]:
    """value ± t·stderr, with the effective sample size less 1 as degrees of freedom, at least 1.

    >>> [round(x, 2) for x in student(Spread(value=1.0, stderr=0.5, impressions=100, effective=5.0), 0.95)]
    [-0.39, 2.39]
    """
    size = spread.impressions if spread.effective is None else min(spread.effective, spread.impressions)
    t = student_quantile((1 + confidence) / 2, max(size - 1.0, 1.0))
    return spread.value - t * spread.stderr, spread.value + t * spread.stderr
