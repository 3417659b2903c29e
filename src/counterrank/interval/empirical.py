"""The empirical Bernstein bound as an interval: true for every log, and narrow where the terms hardly vary."""

from __future__ import annotations

from counterrank.interval.base import Spread
from counterrank.interval.bernstein import empirical_bernstein
from counterrank.interval.bounded import width_of


def bernstein(spread: Spread, confidence: float) -> tuple[float, float]:
    """value ± (√(2·s²·ln(4/δ)/n) + 7·width·ln(4/δ)/(3(n−1))), s² the variance of the terms.

    Each side fails with a chance of δ/2 at most, which is why it is 4 and not 2.

    >>> [round(x, 3) for x in bernstein(Spread(value=0.5, stderr=0.01, impressions=10_000, width=1.0), 0.95)]
    [0.469, 0.531]
    """
    n = spread.impressions
    squares = spread.stderr**2 * n * (n - 1)
    radius = empirical_bernstein(squares, n, width_of(spread), (1 + confidence) / 2)
    return spread.value - radius, spread.value + radius
