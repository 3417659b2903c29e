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
CLOSE, NEAR = 1e-10, 1e-9  # relative to the distance from the mean: of one bound, and of many at once
ROUNDING = 1e-13  # the least step, relative; it doubles with every step back
ROUNDS = 100
MANY, TINY = 1e5, 1e-4  # where many bounds are asked for, bets this small say nothing of fewer impressions: left out
ROOT, LOG2, OFFSET = math.sqrt(2.0), math.log(2.0), 2.0**52 + 1023
FRACTION, ONE, WHOLE, DIGITS = (np.uint64(each) for each in ((1 << 52) - 1, 1023 << 52, 1075 << 52, 52))  # bits


def _bets() -> tuple[np.ndarray, np.ndarray]:
    """The bets and the logarithms of their weights, fixed before any log is seen."""
    logits = np.arange(FIRST, LAST + STEP / 2, STEP)
    falling = BELOW * np.minimum(logits - FLAT[0], 0.0) - ABOVE * np.maximum(logits - FLAT[1], 0.0)
    return 1 / (1 + np.exp(-logits)), falling - math.log(np.exp(falling).sum())


BETS, WEIGHTS = _bets()


@njit(nogil=True)
def least_means(starts, counts, sums, low, high, sizes, least, target, close, bets, weights, out):
    """Of each group of units, starts[g] to starts[g+1], the largest m whose capital reaches e^target for all below.

    `least` is one per group. A bound is off by `close` of its distance from the mean at most, to the safe side. Between
    its edges a bucket's units are put on the edges, so that the mean is kept: the logarithm is concave, so this takes
    from the capital.
    """
    most = 0
    for g in range(len(starts) - 1):
        most = max(most, starts[g + 1] - starts[g])
    y, mass, size = np.empty(2 * most), np.empty(2 * most), np.empty(2 * most)
    few = _tiny(bets) if close > CLOSE else 0
    for g in range(len(starts) - 1):
        columns = counts, sums, low, high, sizes
        used, largest, whole, total = _placed(starts[g], starts[g + 1], columns, least[g], y, mass, size)
        out[g] = least[g]
        if total > 0.0:
            points = y[:used], mass[:used], size[:used]
            some = few if whole < MANY else 0
            out[g] += _crossing(points, largest, whole, total / whole, target, close, bets[some:], weights[some:])


@njit(nogil=True)
def log_capitals(starts, counts, sums, low, high, sizes, least, m, bets, weights, out):
    """Of each group the logarithm of the capital against "the mean is at most m", all else as in `least_means`."""
    most = 0
    for g in range(len(starts) - 1):
        most = max(most, starts[g + 1] - starts[g])
    y, mass, size = np.empty(2 * most), np.empty(2 * most), np.empty(2 * most)
    few = _tiny(bets) if len(starts) > 2 else 0
    room = np.empty((5, len(bets)))
    final = np.zeros(2)
    for g in range(len(starts) - 1):
        columns = counts, sums, low, high, sizes
        used, largest, whole, total = _placed(starts[g], starts[g + 1], columns, least[g], y, mass, size)
        t = m - least[g]
        if total > 0.0 and t > 0.0:
            some = few if whole < MANY else 0
            points, part = (y[:used], mass[:used], size[:used]), room[:, some:].copy()
            _capital(points, t, bets[some:] / largest, weights[some:], part, part.view(np.uint64), final)
            out[g] = final[0]
        else:
            out[g] = np.inf if total > 0.0 else 0.0


@njit(nogil=True)
def _tiny(bets):
    """How many bets are too small to say anything of few impressions."""
    count = 0
    while count < len(bets) and bets[count] < TINY:
        count += 1
    return count


@njit(nogil=True)
def _placed(start, stop, columns, least, y, mass, size):
    """Units on the edges of their buckets, into y = T + B·n, their numbers and sizes; and what they come to."""
    counts, sums, low, high, sizes = columns
    used, largest, whole, total = 0, 0.0, 0.0, 0.0
    for i in range(start, stop):
        shift = -least * sizes[i]
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
    return used, largest, whole, total


@njit(nogil=True)
def _crossing(points, largest, whole, mean, target, close, bets, weights):
    """Where the capital is e^target, as t = m + B, or a little below; 0 where it never is.

    The logarithm of the capital is convex and falls with log t, so that Newton's steps come from below, where the
    capital is larger, after the first at the latest.
    """
    y, mass, size = points
    spread = 0.0
    for i in range(len(y)):
        spread += mass[i] * (y[i] / mean - size[i]) ** 2
    wide = math.sqrt(2 * (target + 2.5) * spread) / whole  # about what it will be, relative to the mean
    t = mean * max(1.0 - wide, 1.0 / (1.0 + wide) ** 2)
    room = np.empty((5, len(bets)))
    bits = room.view(np.uint64)
    shares, final = bets / largest, np.zeros(2)
    back = ROUNDING
    for _ in range(ROUNDS):
        _capital(points, t, shares, weights, room, bits, final)
        above, slope = final[0] - target, final[1]
        step = -above / slope
        if above >= 0.0:
            if step * t <= close * (mean - t) or step <= back:
                return t
        else:
            step, back = min(max(step, -50.0), -back), 2 * back
        t *= math.exp(step)
        if not t > 0.0:
            return 0.0
    return 0.0


@njit(nogil=True)
def _capital(points, t, shares, weights, room, bits, out):
    """The logarithm of the mixture's capital, and its slope in log t.

    log is spelled out, as exponent and series of the fraction, so that all bets are reckoned at once: it is right to
    thirteen digits.
    """
    y, mass, size = points
    logs, slopes = room[0], room[1]
    for j in range(len(shares)):
        logs[j], slopes[j] = weights[j], 0.0
    for i in range(len(y)):
        often, ratio, whole = mass[i], y[i] / t, size[i]
        for j in range(len(shares)):
            gain = shares[j] * ratio
            factor = 1.0 - shares[j] * whole + gain
            room[2, j] = factor
            slopes[j] -= often * gain / factor
        for j in range(len(shares)):
            bits[3, j] = (bits[2, j] & FRACTION) | ONE
            bits[4, j] = (bits[2, j] >> DIGITS) | WHOLE  # the exponent, as digits of a number
        for j in range(len(shares)):
            fraction, exponent = room[3, j], room[4, j] - OFFSET
            up = 1.0 if fraction > ROOT else 0.0
            fraction -= 0.5 * up * fraction
            s = (fraction - 1.0) / (fraction + 1.0)
            s2 = s * s
            series = 1 / 13 + s2 * (1 / 15 + s2 / 17)
            series = 1 / 7 + s2 * (1 / 9 + s2 * (1 / 11 + s2 * series))
            series = 1.0 + s2 * (1 / 3 + s2 * (1 / 5 + s2 * series))
            logs[j] += often * ((exponent + up) * LOG2 + 2.0 * s * series)
    best = logs[0]
    for j in range(len(shares)):
        best = max(best, logs[j])
    capital, slope = 0.0, 0.0
    for j in range(len(shares)):
        share = math.exp(logs[j] - best)
        capital += share
        slope += share * slopes[j]
    out[0], out[1] = best + math.log(capital), slope / capital
