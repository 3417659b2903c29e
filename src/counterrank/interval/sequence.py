"""A confidence sequence: it may be looked at every day, and stops being true with a chance of δ over all days."""

from __future__ import annotations

import math

from counterrank.interval.base import Spread

TUNED = 1000  # impressions at which it is narrowest compared with an interval for one look


def sequence(spread: Spread, confidence: float) -> tuple[float, float]:
    """value ± s·√(2(nρ²+1)/(n²ρ²)·ln(√(nρ²+1)/δ)), true for all n at once once the normal approximation holds.

    ρ² = (2·ln(1/δ) + ln(1 + 2·ln(1/δ)))/1000, so that it is narrowest at 1,000 impressions; it must not depend on the
    log. Reference: Robbins 1970; Waudby-Smith et al. 2021, theorem 2.2.

    >>> [round(x, 3) for x in sequence(Spread(value=0.5, stderr=0.01, impressions=10_000), 0.95)]
    [0.468, 0.532]
    """
    delta, n = 1 - confidence, spread.impressions
    twice = 2 * math.log(1 / delta)
    rho2 = (twice + math.log(1 + twice)) / TUNED
    s = spread.stderr * math.sqrt(n)
    radius = s * math.sqrt(2 * (n * rho2 + 1) / (n**2 * rho2) * math.log(math.sqrt(n * rho2 + 1) / delta))
    return spread.value - radius, spread.value + radius
