"""How unlikely a sum of squares is by chance."""

from __future__ import annotations

import math

_STEPS = 100_000
_TINY = 1e-300


def upper_tail(x: float, freedom: float) -> float:
    """The chance that a chi-square of so many degrees of freedom is above x.

    SciPy has it too, but takes longer to load than a small log takes to judge. Below the mean by the series of the
    incomplete gamma function, above it by its continued fraction (Lentz).

    >>> round(upper_tail(3.841458820694124, 1), 9), upper_tail(0.0, 5)
    (0.05, 1.0)
    """
    if x <= 0:
        return 1.0
    a, half = freedom / 2, x / 2
    scale = math.exp(a * math.log(half) - half - math.lgamma(a))
    if half < a + 1:
        term = total = 1 / a
        for k in range(1, _STEPS):
            term *= half / (a + k)
            total += term
            if term < total * 1e-16:
                break
        return max(1 - scale * total, 0.0)
    b = half + 1 - a
    c, d = 1 / _TINY, 1 / b
    fraction = d
    for k in range(1, _STEPS):
        an = -k * (k - a)
        b += 2
        d = an * d + b
        c = b + an / c
        d, c = 1 / (d or _TINY), c or _TINY
        fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return scale * fraction


def holm(chances: list[float]) -> list[float]:
    """Chances of several questions at once, corrected so that all are right together (Holm).

    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    order = sorted(range(len(chances)), key=chances.__getitem__)
    corrected, least = [0.0] * len(chances), 0.0
    for rank, i in enumerate(order):
        least = max(least, min((len(chances) - rank) * chances[i], 1.0))
        corrected[i] = least
    return corrected
