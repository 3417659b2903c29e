"""Bets that are made at once, and what their capital says of a mean: the compiled part of `betting`.

A bet is a share u in (0, 1) of the largest that cannot be ruined. Against "the mean is at most m" it is
λ = u / ((m + B)·N), where −B is the least term per impression and N the largest unit. With t = m + B and y = T + B·n,
which is at least 0, a unit multiplies the capital by 1 + λ(T − m·n) = 1 − u·n/N + u·y/(N·t): less the larger m is, for
each bet, so that the mixture's capital falls with m and crosses 1/δ once.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np

from counterrank.compiled import njit

STEP, FIRST, LAST = 0.5, -16.0, 5.0  # of the logits of the bets
FLAT = -5.5, 1.0  # between these all logits have the same weight: bets from 0.4 % to 73 %
BELOW, ABOVE = 0.3, 1.0  # how fast the weight falls outside, per unit of the logit
NEGLIGIBLE = 30.0  # bets with e⁻³⁰ of what is needed are left out, which only takes from the capital
CLOSE = 1e-10  # relative to the distance from the mean
ROUNDING = 1e-13  # the least step, relative; it doubles with every step back
ROUNDS = 100


def _bets() -> tuple[np.ndarray, np.ndarray]:
    """The bets and the logarithms of their weights, fixed before any log is seen."""
    logits = np.arange(FIRST, LAST + STEP / 2, STEP)
    falling = BELOW * np.minimum(logits - FLAT[0], 0.0) - ABOVE * np.maximum(logits - FLAT[1], 0.0)
    return 1 / (1 + np.exp(-logits)), falling - math.log(np.exp(falling).sum())


BETS, WEIGHTS = _bets()


@njit(nogil=True)
def least_means(starts, counts, sums, low, high, sizes, least, target, bets, weights, out):
    """Of each group of units, starts[g] to starts[g+1], the largest m whose capital reaches e^target for all below.

    `least` is one per group. Between its edges a bucket's units are put on the edges, so that the mean is kept: the
    logarithm is concave, so this takes from the capital.
    """
    most = 0
    for g in range(len(starts) - 1):
        most = max(most, starts[g + 1] - starts[g])
    y, mass, size = np.empty(2 * most), np.empty(2 * most), np.empty(2 * most)
    for g in range(len(starts) - 1):
        used, largest, whole, total = 0, 0.0, 0.0, 0.0
        for i in range(starts[g], starts[g + 1]):
            shift = -least[g] * sizes[i]
            mean = sums[i] / counts[i]
            upper = 0.0
            if high[i] > low[i]:
                upper = min(max((mean - low[i]) / (high[i] - low[i]), 0.0), 1.0)
            for side in range(2):
                part = counts[i] * (upper if side else 1.0 - upper)
                if part > 0.0:
                    at = max((high[i] if side else low[i]) + shift, 0.0)
                    y[used], mass[used], size[used] = at, part, sizes[i]
                    total += part * at
                    used += 1
            largest = max(largest, sizes[i])
            whole += counts[i] * sizes[i]
        out[g] = least[g]
        if total > 0.0:
            points = y[:used], mass[:used], size[:used]
            out[g] += _crossing(points, largest, whole, total / whole, target, bets, weights)


@njit(nogil=True)
def _crossing(points, largest, whole, mean, target, bets, weights):
    """Where the capital is e^target, as t = m + B, or a little below; 0 where it never is.

    The logarithm of the capital is convex and falls with log t, so that Newton's steps come from below, where the
    capital is larger, after the first at the latest.
    """
    y, mass, size = points
    spread = 0.0
    for i in range(len(y)):
        spread += mass[i] * (y[i] - mean * size[i]) ** 2
    wide = math.sqrt(2 * (target + 2.5) * spread) / whole  # about what it will be
    t = max(mean - wide, mean / (1.0 + wide / mean) ** 2)
    active = np.ones(len(bets), dtype=np.bool_)
    logs, slopes = np.empty(len(bets)), np.empty(len(bets))
    back = ROUNDING
    for _ in range(ROUNDS):
        best = -np.inf
        for j in range(len(bets)):
            if not active[j]:
                continue
            u = bets[j] / largest
            value, slope = weights[j], 0.0
            for i in range(len(y)):
                gain = u * y[i] / t
                factor = 1.0 - u * size[i] + gain
                value += mass[i] * math.log(factor)
                slope -= mass[i] * gain / factor
            logs[j], slopes[j] = value, slope
            best = max(best, value)
        capital, slope = 0.0, 0.0
        for j in range(len(bets)):
            if active[j]:
                share = math.exp(logs[j] - best)
                capital += share
                slope += share * slopes[j]
        above = best + math.log(capital) - target
        step = -above / (slope / capital)
        if above >= 0.0:
            if step * t <= CLOSE * (mean - t) or step <= back:
                return t
            for j in range(len(bets)):  # a bet that has so little here has less where the capital is e^target
                active[j] = active[j] and logs[j] > target - NEGLIGIBLE
        else:
            step, back = min(max(step, -50.0), -back), 2 * back
        t *= math.exp(step)
        if not t > 0.0:
            return 0.0
    return t if above >= 0.0 else 0.0
