"""Hoeffding's inequality: true for every log, and wide."""

from __future__ import annotations

import math

from counterrank.interval.base import Spread
from counterrank.interval.bounded import width_of


def hoeffding(spread: Spread, confidence: float) -> tuple[float, float]:
    """value ± width·√(ln(2/δ)/(2n)), for the mean of n independent terms that lie within `width` of each other.

    A clip keeps the width small; the interval is then one for the clipped value.

    >>> [round(x, 3) for x in hoeffding(Spread(value=0.5, stderr=0.05, impressions=100, width=1.0), 0.95)]
    [0.364, 0.636]
    """
    radius = width_of(spread) * math.sqrt(math.log(2 / (1 - confidence)) / (2 * spread.impressions))
    return spread.value - radius, spread.value + radius
