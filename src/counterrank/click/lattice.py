"""The lattice on which attraction is integrated out: equal steps of the log-odds of γ, the same for many pairs."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from counterrank.compiled import njit

REACH = 30.0  # the lattice goes from −REACH to REACH
COARSE = 0.5  # the step of level 0; two levels halve it
LEVELS = 21
FINE = 1.2  # the step in widths of the integrand


class Lattice(NamedTuple):
    """Points t = (first + j)·step, and two tables of them, row by row and flat: of a row for log γ, one for log(1 − γ)
    and one for each position's log(1 − e γ); and the same with e γ / (1 − e γ) in the place of the latter."""

    step: float
    first: int  # steps from 0
    half: int  # steps from 0 to the ends, which are beyond the points where only a part is worked out
    width: int  # points
    free: Any
    odds: Any


def steps_of(most: float) -> list[float]:
    """The step of each level that integrands with up to this many clicks, the prior's among them, take.

    An integrand is 1/√clicks wide or more.
    """
    steps = [COARSE]
    while len(steps) < LEVELS and steps[-1] ** 2 * most > FINE**2:
        steps.append(steps[-1] / math.sqrt(2.0))
    return steps


@njit(nogil=True)
def lattice(step: float, curve: Any, first: int, last: int) -> Any:
    """The lattice of a level, from `first` to `last` steps from 0, as far as it goes."""
    half = math.ceil(REACH / step)
    first, last = max(first, -half), min(last, half)
    width = last - first + 1
    free, odds = np.empty((len(curve) + 2, width)), np.empty((len(curve) + 2, width))
    for j in range(width):
        t = (first + j) * step
        low, high = logs(t)
        free[0, j], free[1, j] = low, high
        odds[0, j], odds[1, j] = low, high
        gamma = math.exp(low)
        for k in range(len(curve)):
            q = curve[k] * gamma
            if t >= 0.0 and curve[k] == 1.0:  # 1 − γ is known where γ is rounded to 1
                free[k + 2, j], odds[k + 2, j] = high, math.exp(t)
            else:
                free[k + 2, j], odds[k + 2, j] = math.log1p(-q), q / (1.0 - q)
    return Lattice(step, first, half, width, free.ravel(), odds.ravel())


@njit(nogil=True)
def logs(t: float) -> tuple[float, float]:
    """log γ and log(1 − γ)."""
    rest = math.log1p(math.exp(-abs(t)))
    return min(t, 0.0) - rest, min(-t, 0.0) - rest
