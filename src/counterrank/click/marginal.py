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

from counterrank.click.integrand import GONE, integrand, no_rows, sides, sums
from counterrank.click.lattice import logs
from counterrank.compiled import njit
from counterrank.posterior import slope_rise

_U = np.uint64


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


@njit(nogil=True)
def _guess(up: float, g: Any, pairs: Any, prior: Any) -> float:
    """The log-odds at which the integrand's top may be."""
    against = prior.beta
    for c in range(_U(pairs.starts[g]), _U(pairs.starts[g + 1])):
        against += pairs.missed[c] * prior.curve[_U(pairs.places[c])]
    return math.log(up / against)


@njit(nogil=True)
def span(begin: int, end: int, pairs: Any, prior: Any, step: float) -> tuple[int, int]:
    """Steps from 0 beyond which the integrands of patterns begin to end do not go.

    They go from the guess to the top and on until they are lower than the top by GONE. No integrand is above γ^up, nor
    above (1 − γ)^down: where one of these is lower than the guess by GONE, it has ended.
    """
    first, last, far = 0, 0, 1e9
    for g in range(begin, end):
        up, down = prior.alpha + pairs.clicks[g], prior.beta
        low, high = logs(round(_guess(up, g, pairs, prior) / step) * step)
        least = up * low + down * high - GONE
        for c in range(pairs.starts[g], pairs.starts[g + 1]):
            e = prior.curve[pairs.places[c]]
            least += pairs.missed[c] * (high if e == 1.0 else math.log1p(-e * math.exp(low)))
        left, right = least / up, least / down
        first = min(first, math.floor(max((left - math.log(-math.expm1(left))) / step, -far)) - 1)
        last = max(last, math.ceil(min((math.log(-math.expm1(right)) - right) / step, far)) + 1)
    return first, last


@njit(nogil=True)
def _taken(g: Any, pairs: Any, prior: Any, at: Any, rows: Any) -> tuple[Any, int]:
    """Put the rows of pattern g into `rows`: how many they are, and a guess at which point its integrand's top is."""
    size, against = _U(2), prior.beta
    for c in range(_U(pairs.starts[g]), _U(pairs.starts[g + 1])):
        k, missed = _U(pairs.places[c]), pairs.missed[c]
        against += missed * prior.curve[k]
        rows.numbers[size], rows.begins[size] = k + _U(2), (k + _U(2)) * _U(at.width)
        rows.times[size] = missed
        size += _U(1)
    up = prior.alpha + pairs.clicks[g]
    rows.times[0], rows.times[1] = up, prior.beta
    rows.times[size], rows.times[size + _U(1)], rows.times[size + _U(2)] = 0.0, 0.0, 0.0
    top = math.floor(math.log(up / against) / at.step + 0.5) - at.first
    return size, min(max(top, 0), at.width - 1)


@njit(nogil=True)
def likelihood(begin: int, end: int, pairs: Any, prior: Any, at: Any, gradient: Any, information: Any) -> float:
    """The log-likelihood of patterns begin to end, but for the prior's constant.

    Adds to `gradient`, of α, β and log e, and to `information`, the sum of its outer products over pairs (the lower
    half of it).
    """
    total, clicks, beside = 0.0, -1.0, (0, 0)
    weight, own, curve = np.empty(at.width), np.empty(len(prior.curve) + 5), np.log(prior.curve)
    rows = no_rows(len(curve), at)
    numbers = rows.numbers
    slopes = slope_rise(prior.alpha, prior.beta), slope_rise(prior.beta, prior.alpha)  # of the prior's constant
    for g in range(_U(begin), _U(end)):
        if pairs.clicks[g] != clicks:
            clicks = pairs.clicks[g]
            beside = sides(prior.alpha + clicks, at.step)
        size, top = _taken(g, pairs, prior, at, rows)
        first, last, whole, log, left, right = integrand(top, beside, at, rows, size, weight)
        sums(first, last, at, rows, size, weight, own)
        share, count = 1.0 / whole, pairs.count[g]
        own[0], own[1] = (own[0] - left) * share + slopes[0], (own[1] - right) * share + slopes[1]
        for i in range(_U(2), size):
            hits = pairs.hits[_U(pairs.starts[g]) + i - _U(2)]
            log += hits * curve[numbers[i] - _U(2)]
            own[i] = hits - rows.times[i] * share * own[i]
        total += count * log
        for i in range(size):
            gradient[numbers[i]] += count * own[i]
            for k in range(i + _U(1)):
                information[numbers[i], numbers[k]] += count * own[i] * own[k]
    return total


@njit(nogil=True)
def attractions(begin: int, end: int, pairs: Any, prior: Any, at: Any, out: Any) -> None:
    """The posterior mean of each pattern's attraction, into `out`."""
    weight, rows = np.empty(at.width), no_rows(len(prior.curve), at)
    for g in range(_U(begin), _U(end)):
        size, top = _taken(g, pairs, prior, at, rows)
        first, last, whole, _, _, _ = integrand(top, sides(rows.times[0], at.step), at, rows, size, weight)
        out[g] = 0.0
        for j in range(first, last):
            out[g] += weight[j] * math.exp(at.free[j])
        out[g] /= whole
