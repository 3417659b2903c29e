"""The normal approximation."""

from __future__ import annotations

from statistics import NormalDist

from counterrank.interval.base import Spread


def normal(spread: Spread, confidence: float) -> tuple[float, float]:
    """value ± z·stderr, right where many impressions carry the value and no few of them dominate.

    >>> [round(x, 2) for x in normal(Spread(value=1.0, stderr=0.5, impressions=100), 0.95)]
    [0.02, 1.98]
    """
    z = -NormalDist().inv_cdf((1 - confidence) / 2)
    return spread.value - z * spread.stderr, spread.value + z * spread.stderr
