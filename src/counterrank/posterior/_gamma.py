"""Differences of log Γ and its derivatives that stay exact where both are huge: compiled, by Stirling's series."""

from __future__ import annotations

import math

from counterrank.compiled import njit

_TINY = 1e-150
_FAR = 10.0  # from here on the series below err by less than 1e-12


@njit()
def log_rise(a: float, n: float) -> float:
    """log Γ(a + n) − log Γ(a), for a > 0 and n ≥ 0."""
    if n == 0.0:
        return 0.0
    ratio, small = 1.0, 0.0
    while a < _FAR:
        ratio *= a / (a + n)
        if ratio < _TINY:  # before it becomes 0
            small += math.log(ratio)
            ratio = 1.0
        a += 1.0
    b = a + n
    main = (b - 0.5) * math.log1p(n / a) + n * (math.log(a) - 1.0)
    return float(main + _tail(b) - _tail(a) + math.log(ratio) + small)


@njit()
def _tail(x: float) -> float:
    y = 1.0 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / x


@njit()
def slope_rise(a: float, n: float) -> float:
    """ψ(a + n) − ψ(a): the derivative of `log_rise` in a."""
    if n == 0.0:
        return 0.0
    total = 0.0
    while a < _FAR:
        total += n / (a * (a + n))
        a += 1.0
    return float(total + math.log1p(n / a) - _slope_tail(a + n) + _slope_tail(a))


@njit()
def _slope_tail(x: float) -> float:
    y = 1.0 / (x * x)
    return 0.5 / x + y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))


@njit()
def bend_rise(a: float, n: float) -> float:
    """ψ'(a + n) − ψ'(a): the second derivative, never positive."""
    if n == 0.0:
        return 0.0
    total = 0.0
    while a < _FAR:
        total -= n * (2.0 * a + n) / (a * a * (a + n) * (a + n))
        a += 1.0
    return float(total + _bend(a + n) - _bend(a))


@njit()
def _bend(x: float) -> float:
    y = 1.0 / (x * x)
    return (1.0 + 0.5 / x + y * (1 / 6 - y * (1 / 30 - y * (1 / 42 - y / 30)))) / x
