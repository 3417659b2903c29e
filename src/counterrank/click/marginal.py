"""The position-based likelihood with attraction integrated out over a Beta prior: kernels over patterns of counts.

A pair with clicks c_k and misses m_k at positions k has the likelihood

    ∫ Beta(γ; α, β) Π_k (e_k γ)^c_k (1 − e_k γ)^m_k dγ.

With γ = 1/(1 + exp(−t)) the integrand falls off exponentially on both sides and is smooth, so that the sum over equal
steps h of t is exact but for exp(−2π²σ²/h²), σ being its width (the trapezoidal rule on the whole line). The steps of
all pairs lie on one lattice, so that log(1 − e_k γ) is looked up; pairs with many clicks have narrow integrands and
take a finer lattice. Far from its top and beyond the ends of the lattice the integrand is an exponential, whose sum is
known.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from counterrank.compiled import njit
from counterrank.posterior import slope_rise

REACH = 30.0  # the lattice goes from −REACH to REACH
COARSE = 0.5  # the step of level 0; two levels halve it
LEVELS = 21
FINE = 1.2  # the step in widths of the integrand
GONE = 14.0  # what is this much lower, in logarithms, than the top is summed as an exponential


class Grouped(NamedTuple):
    """Clicks and misses of patterns of pairs, by rising clicks; pattern g has the cells starts[g]:starts[g+1]."""

    starts: Any  # (G+1,)
    places: Any  # (cells,) positions
    hits: Any  # (cells,)
    missed: Any  # (cells,)
    clicks: Any  # (G,) in all
    count: Any  # (G,) how many pairs have it


class Prior(NamedTuple):
    """The curve, and the prior."""

    curve: Any  # (K,)
    alpha: float
    beta: float


class Lattice(NamedTuple):
    """At every step: log γ, log(1 − γ) and, by position, log(1 − e γ) and e γ / (1 − e γ)."""

    step: float
    low: Any
    high: Any
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
    """The lattice of a level, worked out from its steps `first` to `last`."""
    half = math.ceil(REACH / step)
    low, high = np.empty(2 * half + 1), np.empty(2 * half + 1)
    free, odds = np.empty((2 * half + 1, len(curve))), np.empty((2 * half + 1, len(curve)))
    for j in range(max(first, 0), min(last, 2 * half) + 1):
        t = (j - half) * step
        low[j], high[j] = _logs(t)
        gamma = math.exp(low[j])
        for k in range(len(curve)):
            q = curve[k] * gamma
            if t >= 0.0 and curve[k] == 1.0:  # 1 − γ is known where γ is rounded to 1
                free[j, k], odds[j, k] = high[j], math.exp(min(t, 700.0))
            else:
                free[j, k], odds[j, k] = math.log1p(-q), q / (1.0 - q)
    return Lattice(step, low, high, free, odds)


@njit(nogil=True)
def _logs(t: float) -> tuple[float, float]:
    """log γ and log(1 − γ)."""
    rest = math.log1p(math.exp(-abs(t)))
    return min(t, 0.0) - rest, min(-t, 0.0) - rest


@njit(nogil=True)
def _guess(up: float, down: float, curve: Any, places: Any, missed: Any, step: float) -> int:
    """Steps from the middle of the lattice to where the integrand's top may be."""
    against = down
    for i in range(len(places)):
        against += missed[i] * curve[places[i]]
    half = math.ceil(REACH / step)
    return min(max(round(math.log(up / against) / step), -half), half)


@njit(nogil=True)
def span(begin: int, end: int, pairs: Any, prior: Any, step: float) -> tuple[int, int]:
    """Steps of the lattice beyond which the integrands of patterns begin to end do not go.

    They go from the guess to the top and on until they are lower than the top by GONE. No integrand is above γ^up, nor
    above (1 − γ)^down: where one of these is lower than the guess by GONE, it has ended.
    """
    half = math.ceil(REACH / step)
    first, last = half, half
    for g in range(begin, end):
        up, down = prior.alpha + pairs.clicks[g], prior.beta
        of = slice(pairs.starts[g], pairs.starts[g + 1])
        places, missed = pairs.places[of], pairs.missed[of]
        t = _guess(up, down, prior.curve, places, missed, step) * step
        low, high = _logs(t)
        least = up * low + down * high - GONE
        for i in range(len(places)):
            e = prior.curve[places[i]]
            least += missed[i] * (high if e == 1.0 else math.log1p(-e * math.exp(low)))
        left, right = least / up, least / down
        first = min(first, half + math.floor(max((left - math.log(-math.expm1(left))) / step, -half)) - 1)
        last = max(last, half + math.ceil(min((math.log(-math.expm1(right)) - right) / step, half)) + 1)
    return first, last


@njit(nogil=True)
def _height(j: int, up: float, down: float, at: Any, places: Any, missed: Any) -> float:
    total: float = up * at.low[j] + down * at.high[j]
    for i in range(len(places)):
        total += missed[i] * at.free[j, places[i]]
    return total


@njit(nogil=True)
def integrand(
    up: float, down: float, curve: Any, at: Any, places: Any, missed: Any, weight: Any
) -> tuple[int, int, float, float, float]:
    """Shares of the integrand at lattice points first to last, into `weight`; these two, and the log of the integral.

    The rest beyond these two counts for them; and, in the end, how much further out it lies on the left and on the
    right, times its share.
    """
    size, step = len(at.low), at.step
    top = size // 2 + _guess(up, down, curve, places, missed, step)
    here = _height(top, up, down, at, places, missed)
    for way in (-1, 1):
        while 0 <= top + way < size:
            there = _height(top + way, up, down, at, places, missed)
            if there <= here:
                break
            top, here = top + way, there
    first, last, total = top, top, 1.0
    weight[top] = 1.0
    left, right = math.exp(-up * step), math.exp(-down * step)  # what a step further out leaves, at the lattice's ends
    while first > 0:
        first -= 1
        there = _height(first, up, down, at, places, missed) - here
        weight[first] = math.exp(there)
        total += weight[first]
        if there < -GONE:
            left = weight[first] / weight[first + 1]
            break
    while last < size - 1:
        last += 1
        there = _height(last, up, down, at, places, missed) - here
        weight[last] = math.exp(there)
        total += weight[last]
        if there < -GONE:
            right = weight[last] / weight[last - 1]
            break
    left_rest, right_rest = weight[first] * left / (1.0 - left), weight[last] * right / (1.0 - right)
    total += left_rest + right_rest
    weight[first] += left_rest
    weight[last] += right_rest
    left, right = step * left_rest / (1.0 - left), step * right_rest / (1.0 - right)
    for j in range(first, last + 1):
        weight[j] /= total
    return first, last, here + math.log(total * step), left / total, right / total


@njit(nogil=True)
def likelihood(begin: int, end: int, pairs: Any, prior: Any, at: Any, gradient: Any, information: Any) -> float:
    """The log-likelihood of patterns begin to end, but for the prior's constant.

    Adds to `gradient`, of log e, α and β, and to `information`, the sum of its outer products over pairs (the lower
    half of it).
    """
    size = len(prior.curve)
    total = 0.0
    weight = np.empty(len(at.low))
    own, rows = np.empty(size + 2), np.empty(size + 2, dtype=np.int64)
    slopes = slope_rise(prior.alpha, prior.beta), slope_rise(prior.beta, prior.alpha)  # of the prior's constant
    for g in range(begin, end):
        of = slice(pairs.starts[g], pairs.starts[g + 1])
        places, missed, hits = pairs.places[of], pairs.missed[of], pairs.hits[of]
        up = prior.alpha + pairs.clicks[g]
        first, last, log, left, right = integrand(up, prior.beta, prior.curve, at, places, missed, weight)
        cells = len(places)
        own[:cells] = 0.0
        own[cells], own[cells + 1] = -left, -right
        for j in range(first, last + 1):
            own[cells] += weight[j] * at.low[j]
            own[cells + 1] += weight[j] * at.high[j]
            for i in range(cells):
                own[i] += weight[j] * at.odds[j, places[i]]
        for i in range(cells):
            own[i] = hits[i] - missed[i] * own[i] if missed[i] > 0.0 else hits[i]
            rows[i] = places[i]
            if hits[i] > 0.0:
                log += hits[i] * math.log(prior.curve[places[i]])
        for i in range(2):
            own[cells + i] += slopes[i]
            rows[cells + i] = size + i
        total += pairs.count[g] * log
        for i in range(cells + 2):
            gradient[rows[i]] += pairs.count[g] * own[i]
            for k in range(i + 1):
                information[rows[i], rows[k]] += pairs.count[g] * own[i] * own[k]
    return total


@njit(nogil=True)
def attractions(begin: int, end: int, pairs: Any, prior: Any, at: Any, out: Any) -> None:
    """The posterior mean of each pattern's attraction, into `out`."""
    weight = np.empty(len(at.low))
    for g in range(begin, end):
        of = slice(pairs.starts[g], pairs.starts[g + 1])
        up = prior.alpha + pairs.clicks[g]
        first, last, _, _, _ = integrand(up, prior.beta, prior.curve, at, pairs.places[of], pairs.missed[of], weight)
        out[g] = 0.0
        for j in range(first, last + 1):
            out[g] += weight[j] * math.exp(at.low[j])
