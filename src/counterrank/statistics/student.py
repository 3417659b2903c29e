"""Student's t: how far a mean of few may lie from the truth."""

from __future__ import annotations

import math
from statistics import NormalDist

_MANY = 3e3  # degrees of freedom from which the expansion around the normal is exact
_STEPS = 100_000
_TINY = 1e-300


def student_quantile(chance: float, freedom: float) -> float:
    """What Student's t of so many degrees of freedom lies below with this chance, from 0.5 to 1.

    SciPy has it too, but takes longer to load than a small log takes to judge. The tail is an incomplete beta function,
    by its continued fraction (Lentz), and is solved for by Newton's steps between two ends.

    >>> round(student_quantile(0.975, 4.0), 9), round(student_quantile(0.975, 1e6), 6)
    (2.776445105, 1.959966)
    """
    if chance <= 0.5:
        return 0.0
    if chance >= 1.0:
        return math.inf
    t = _expanded(chance, freedom)
    if freedom >= _MANY:
        return t
    tail = 1.0 - chance
    low, high = 0.0, math.inf
    slope = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    for _ in range(200):
        off = _tail(t, freedom) - tail
        low, high = (t, high) if off > 0 else (low, t)
        density = math.exp(slope - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        there = t + off / density
        if not low < there < high:
            there = 2 * t + 1 if high == math.inf else (low + high) / 2
        if abs(there - t) <= 1e-15 * there:
            return there
        t = there
    return t


def _expanded(chance: float, freedom: float) -> float:
    """Around the normal quantile, in powers of 1/freedom (Cornish and Fisher)."""
    z = NormalDist().inv_cdf(chance)
    parts = (
        z * (z**2 + 1) / 4,
        z * (5 * z**4 + 16 * z**2 + 3) / 96,
        z * (3 * z**6 + 19 * z**4 + 17 * z**2 - 15) / 384,
        z * (79 * z**8 + 776 * z**6 + 1482 * z**4 - 1920 * z**2 - 945) / 92160,
    )
    return z + sum(part / freedom ** (power + 1) for power, part in enumerate(parts))


def _tail(t: float, freedom: float) -> float:
    """The chance of more than t, above 0."""
    return 0.5 * _beta(freedom / 2, 0.5, freedom / (freedom + t * t), t * t / (freedom + t * t))


def _beta(a: float, b: float, x: float, rest: float) -> float:
    """The incomplete beta function of a and b, from 0 to x, as a share of the whole; `rest` is 1 − x."""
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _beta(b, a, rest, x)
    if x <= 0:
        return 0.0
    front = a * math.log(x) + b * math.log(rest) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    c, d = 1.0, 1.0 / ((1.0 - (a + b) * x / (a + 1)) or _TINY)
    fraction = d
    for k in range(1, _STEPS):
        even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k))
        odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
        for part in (even, odd):
            d, c = 1.0 / ((1.0 + part * d) or _TINY), (1.0 + part / c) or _TINY
            fraction *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return math.exp(front) * fraction / a
