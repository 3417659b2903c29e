"""How far a pseudoinverse estimate may be from the truth, whatever the rewards within their range."""

from __future__ import annotations

import math


def deviation(sigma2: float, rho: float, impressions: int, confidence: float, largest: float) -> float:
    """|V̂ − V| ≤ B·(√(2σ²·ln(2/δ)/n) + 2(ρ+1)·ln(2/δ)/(3n)) with chance 1 − δ, for rewards within [−B, B].

    Assumes that rewards are sums over (item, position) pairs, that Γ is known and that q lies in its range. It is
    Bernstein's inequality. Where the weights average 1 exactly, rewards may be counted from the middle of their range,
    and B is half of it. Reference: swaminathan2017, theorem 3, where B = 1.

    >>> round(deviation(1.0, 1.0, 100, 0.95, 1.0), 4)
    0.3208
    """
    log = math.log(2 / (1 - confidence))
    return largest * (math.sqrt(2 * sigma2 * log / impressions) + 2 * (rho + 1) * log / (3 * impressions))
