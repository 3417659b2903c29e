"""The most likely Beta prior of each group inside a box: Newton steps in log α, log β, compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterrank.compiled import njit
from counterrank.posterior._gamma import bend_rise, slope_rise
from counterrank.posterior.likelihood import _of_group

_STEPS = 200
_ENOUGH = 1e-12  # a rise of the log-likelihood, relative to its size, not worth a step


@njit()
def climb(
    hits: Any, misses: Any, count: Any, starts: Any, begin: Any, low: float, high: float
) -> Any:  # pragma: no cover
    """(groups, 3): α, β and the log-likelihood there, starting from `begin` (groups, 2)."""
    out = np.empty((len(starts) - 1, 3))
    for g in range(len(starts) - 1):
        first, stop = starts[g], starts[g + 1]
        out[g, 0], out[g, 1], out[g, 2] = _one(hits, misses, count, first, stop, begin[g, 0], begin[g, 1], low, high)
    return out


@njit()
def _one(
    hits: Any, misses: Any, count: Any, first: int, stop: int, alpha: float, beta: float, low: float, high: float
) -> tuple[float, float, float]:  # pragma: no cover
    bottom, top = math.log(low), math.log(high)
    u, v = math.log(alpha), math.log(beta)
    best = _of_group(hits, misses, count, first, stop, alpha, beta)
    damping = 0.0
    for _ in range(_STEPS):
        du, dv, duu, dvv, duv = _slopes(hits, misses, count, first, stop, alpha, beta)
        free_u = not ((u <= bottom and du <= 0.0) or (u >= top and du >= 0.0))
        free_v = not ((v <= bottom and dv <= 0.0) or (v >= top and dv >= 0.0))
        if not free_u and not free_v:
            break
        moved = False
        gain = 0.0
        for _ in range(60):
            step_u, step_v = _newton(du, dv, duu, dvv, duv, free_u, free_v, damping)
            gain = du * step_u + dv * step_v
            new_u, new_v = min(max(u + step_u, bottom), top), min(max(v + step_v, bottom), top)
            if new_u == u and new_v == v:
                break
            a, b = _value(new_u, bottom, top, low, high), _value(new_v, bottom, top, low, high)
            there = _of_group(hits, misses, count, first, stop, a, b)
            if there > best or (there >= best - _ENOUGH * (1.0 + abs(best)) and gain <= _ENOUGH * (1.0 + abs(best))):
                moved = True
                u, v, alpha, beta, best = new_u, new_v, a, b, max(there, best)
                damping = damping / 10.0 if damping > 1e-8 else 0.0
                break
            damping = max(damping * 10.0, 1e-6 * (abs(duu) + abs(dvv)) + 1e-300)
        if not moved or gain <= _ENOUGH * (1.0 + abs(best)):
            break
    return alpha, beta, _of_group(hits, misses, count, first, stop, alpha, beta)


@njit()
def _value(x: float, bottom: float, top: float, low: float, high: float) -> float:  # pragma: no cover
    """exp(x), and exactly the edge on an edge."""
    if x <= bottom:
        return low
    return high if x >= top else min(max(math.exp(x), low), high)


@njit()
def _slopes(
    hits: Any, misses: Any, count: Any, first: int, stop: int, alpha: float, beta: float
) -> tuple[float, float, float, float, float]:  # pragma: no cover
    """The gradient and the curvature in log α, log β."""
    a = b = aa = bb = ab = 0.0
    for p in range(first, stop):
        whole = hits[p] + misses[p]
        shared, bent = slope_rise(alpha + beta, whole), bend_rise(alpha + beta, whole)
        a += count[p] * (slope_rise(alpha, hits[p]) - shared)
        b += count[p] * (slope_rise(beta, misses[p]) - shared)
        aa += count[p] * (bend_rise(alpha, hits[p]) - bent)
        bb += count[p] * (bend_rise(beta, misses[p]) - bent)
        ab -= count[p] * bent
    return alpha * a, beta * b, alpha * alpha * aa + alpha * a, beta * beta * bb + beta * b, alpha * beta * ab


@njit()
def _newton(
    du: float, dv: float, duu: float, dvv: float, duv: float, free_u: bool, free_v: bool, damping: float
) -> tuple[float, float]:  # pragma: no cover
    """An uphill step, no longer than 3 in either logarithm; where the hill is not concave its curvature is turned."""
    if free_u and free_v:
        mean, half = 0.5 * (duu + dvv), 0.5 * (duu - dvv)
        radius = math.sqrt(half * half + duv * duv)
        large, small = mean + radius, mean - radius
        if radius > 0.0:
            x, y = (duv, large - duu) if abs(large - duu) > abs(large - dvv) else (large - dvv, duv)
            norm = math.sqrt(x * x + y * y)
            x, y = x / norm, y / norm
        else:
            x, y = 1.0, 0.0
        along, across = du * x + dv * y, -du * y + dv * x
        along /= max(abs(large), 1e-300) + damping
        across /= max(abs(small), 1e-300) + damping
        along, across = min(max(along, -3.0), 3.0), min(max(across, -3.0), 3.0)
        return along * x - across * y, along * y + across * x
    if free_u:
        return min(max(du / (max(abs(duu), 1e-300) + damping), -3.0), 3.0), 0.0
    return 0.0, min(max(dv / (max(abs(dvv), 1e-300) + damping), -3.0), 3.0)
