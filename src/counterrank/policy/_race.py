"""Kernels of the exponential race behind Plackett–Luce: exact ranking probabilities and position marginals.

Item a arrives at time T_a ~ Exp(λ_a); the order of arrival is a Plackett–Luce ranking, and

    P(a at k) = ∫ λ_a t exp(-λ_a t) · P(exactly k-1 others arrived by t) ds,   t = e^s.

The trapezoid rule in s, with step h. Given the whole ranking, the k-th arrival time is a sum of k independent
exponentials whatever the rates; so the integrand is a mixture of the densities of log(E_1/R_1 + ... + E_k/R_k), with
total weight P(a at k). Turning the path of integration by θ bounds the Fourier transform of each such density at
ω by exp(-θω) cos(θ)^-k, for every rates; the best θ = atan(ω/k) gives

    |relative error| ≤ 2 Σ_j B(jω),   B(ω) = exp(-ω atan(ω/k)) (1 + ω²/k²)^(k/2),   ω = 2π/h,

and h is the largest step with 2 B(ω) ≤ 1e-15. Position 1 is a softmax. What is cut off is below 1e-17 each: times
before any second arrival, times after K arrivals, items that surely have (x > 45) or have not arrived. Counts of
arrivals come by prefix and suffix convolutions, sums and products of nonnegative numbers only, so nothing cancels;
where they can be many (more than 64), by halving the items again and again (`_others.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.policy._others import add, everyone, room_for
from counterrank.policy.ordered import is_ranking

_SURE = np.log(45.0)  # log(λt) beyond which the item has arrived: 45·exp(-45) = 1e-18
_EARLY = -41.4  # log(λt) below which it has not: exp(-41.4) = 1e-18
_FIRST = -20.5  # log(Λt) below which two have not: exp(-41)/2 < 1e-18
_TAIL = 1e-17
_WIDE = 64  # numbers of arrivals from which halving the items is quicker than convolving
_SMALL = -600.0  # exp of it is still far from 0


def steps(positions: int) -> NDArray[np.float64]:
    """The trapezoid step for each number of positions 0..positions: by bisection on 2 B(2π/h) = 1e-15."""
    k = np.maximum(np.arange(positions + 1), 1).astype(np.float64)
    low, high = np.ones(len(k)), 1000 + 20 * k
    for _ in range(60):
        omega = (low + high) / 2
        small = -omega * np.arctan(omega / k) + k / 2 * np.log1p((omega / k) ** 2) <= np.log(0.5e-15)
        low, high = np.where(small, low, omega), np.where(small, omega, high)
    return np.asarray(2 * np.pi / high, dtype=np.float64)


@njit(nogil=True)
def marginals(starts: Any, rows: Any, logs: Any, shown: Any, step: Any, out: Any) -> None:  # pragma: no cover
    """Fills out (P, K). `logs` are log rates by query, descending."""
    for q in range(len(shown)):
        low, high = starts[q], starts[q + 1]
        if shown[q] == 0:
            continue
        race = _race(logs[low:high], shown[q], step[shown[q]])
        for a in range(high - low):
            for k in range(shown[q]):
                out[rows[low + a], k] = race[a, k]


@njit(nogil=True)
def _race(logs: Any, places: Any, step: Any) -> Any:  # pragma: no cover
    size = len(logs)
    out = np.zeros((size, places))
    first_place, total = np.empty(size), 0.0
    for a in range(size):
        first_place[a] = np.exp(logs[a] - logs[0])
        total += first_place[a]
    for a in range(size):
        first_place[a] /= total
    if places == 1:
        for a in range(size):
            out[a, 0] = first_place[a]
        return out
    density, gone, left = np.empty(size), np.empty(size), np.empty(size)
    before = np.empty((size + 1, min(places, _WIDE)))
    row, rows = np.empty(places), room_for(places if places > _WIDE else 0)
    sure = late = 0  # items :sure have arrived, items late: have not
    node = int(np.floor((_FIRST - logs[0] - np.log(total)) / step))
    while True:
        node += 1
        s = node * step
        while sure < size and logs[sure] + s > _SURE:
            sure += 1
        while late < size and logs[late] + s > _EARLY:
            late += 1
        if sure >= places or sure == size:
            break
        if sure == late:  # nothing happens until the next item's time comes
            node = max(node, int(np.floor((_EARLY - logs[late]) / step)))
            continue
        rate = 0.0
        for a in range(sure, late):
            x = np.exp(logs[a] + s)
            gone[a] = -np.expm1(-x)
            left[a] = np.exp(-x)
            density[a] = step * x * left[a]
            rate += x
        room = places - sure
        width = _width(rate, room)
        first, last = 0, width
        if width <= _WIDE:
            _before(left, gone, sure, late, width, before)
            for n in range(width):
                row[n] = before[late, n]
        else:
            first, last = everyone(left, gone, sure, late, width, row)
        if width == room:
            any_left = 0.0
            for n in range(first, last):
                any_left += row[n]
            if any_left < _TAIL:
                break
        if width <= _WIDE:
            _add(density, left, gone, sure, late, width, before, out)
        else:
            add(density, left, gone, sure, late, width, rows, out)
        for a in range(late, size):  # far from arriving, yet its small chance is kept in proportion
            small = step * np.exp(logs[a] + s)
            for n in range(first, last):
                out[a, sure + n] += small * row[n]
    for a in range(size):
        out[a, 0] = first_place[a]
    return out


@njit(nogil=True)
def _width(rate: float, room: int) -> int:  # pragma: no cover
    """How many numbers of arrivals can be, of at most `room`: P(n or more arrive) ≤ rate^n / n!."""
    width, bound = 1, rate
    while width < room and bound > 1e-18:
        width += 1
        bound *= rate / width
    return width


@njit(nogil=True)
def _before(left: Any, gone: Any, low: int, high: int, width: int, before: Any) -> None:  # pragma: no cover
    """Fills before[a, n]: the chance that n of the items low:a have arrived."""
    for n in range(width):
        before[low, n] = 0.0
    before[low, 0] = 1.0
    for a in range(low, high):
        before[a + 1, 0] = before[a, 0] * left[a]
        for n in range(1, width):
            before[a + 1, n] = before[a, n] * left[a] + before[a, n - 1] * gone[a]


@njit(nogil=True)
def _add(
    density: Any, left: Any, gone: Any, low: int, high: int, width: int, before: Any, out: Any
) -> None:  # pragma: no cover
    """Adds density_a · P(n of the others arrived) to out[a, low + n]: before a, and behind it, convolved."""
    after, others = np.zeros(width), np.empty(width)
    after[0] = 1.0
    for a in range(high - 1, low - 1, -1):
        for n in range(width):
            others[n] = 0.0
        for i in range(width):
            share = before[a, i] * density[a]
            for n in range(i, width):
                others[n] += share * after[n - i]
        for n in range(width):
            out[a, low + n] += others[n]
        for n in range(width - 1, 0, -1):
            after[n] = after[n] * left[a] + after[n - 1] * gone[a]
        after[0] *= left[a]


@njit(nogil=True)
def rates(starts: Any, logs: Any, out: Any) -> None:  # pragma: no cover
    """Fills out with exp(logs); with -1 at the first candidate of a query some of whose rates would be too small."""
    for q in range(len(starts) - 1):
        for at in range(starts[q], starts[q + 1]):
            out[at] = np.exp(logs[at])
        if starts[q + 1] > starts[q] and logs[starts[q + 1] - 1] < _SMALL:
            out[starts[q]] = -1.0


@njit(nogil=True)
def probability(
    first: int,
    last: int,
    starts: Any,
    shown: Any,
    place: Any,
    logs: Any,
    rate: Any,
    queries: Any,
    rankings: Any,
    out: Any,
) -> None:  # pragma: no cover
    """Fills out first to last: Π exp(l_k) / Σ of what is not yet shown, summed from the end: nothing cancels."""
    stamp = np.full(len(logs), -1, dtype=np.int64)
    for g in range(np.uint64(first), np.uint64(last)):
        q, mark = np.uint64(queries[g]), np.int64(g)
        start, end, ranking = starts[q], starts[q + np.uint64(1)], rankings[g]
        if not is_ranking(start, end, shown[q], ranking, place, stamp, mark):
            continue
        if start < end and rate[start] < 0.0:
            out[g] = _relative(start, end, shown[q], place, logs, ranking, stamp, mark)
            continue
        total, chance = _of_others(np.uint64(start), np.uint64(end), rate, stamp, mark), 1.0
        for k in range(shown[q] - 1, -1, -1):
            value = rate[np.uint64(place[np.uint64(ranking[np.uint64(k)])])]
            total += value
            chance *= value / total
        out[g] = max(chance, 5e-324)  # what can be shown never has probability 0


@njit(nogil=True)
def _of_others(start: Any, end: Any, rate: Any, stamp: Any, mark: int) -> float:  # pragma: no cover
    """The sum of rates of candidates that are not stamped with the mark: four at a time, and without a branch."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    one, two, three, whole = np.uint64(1), np.uint64(2), np.uint64(3), end - (end - start) % np.uint64(4)
    for at in range(start, whole, np.uint64(4)):
        a += rate[at] * (stamp[at] != mark)
        b += rate[at + one] * (stamp[at + one] != mark)
        c += rate[at + two] * (stamp[at + two] != mark)
        d += rate[at + three] * (stamp[at + three] != mark)
    for at in range(whole, end):
        a += rate[at] * (stamp[at] != mark)
    return (a + b) + (c + d)


@njit(nogil=True)
def _relative(
    start: int, end: int, shown: int, place: Any, logs: Any, ranking: Any, stamp: Any, g: int
) -> float:  # pragma: no cover
    """The same relative to the largest term, where rates are too far apart for plain sums."""
    top, total = -np.inf, 0.0
    for at in range(start, end):
        if stamp[at] != g:
            if total == 0.0:
                top = logs[at]
            total += np.exp(logs[at] - top)
    chance = 1.0
    for k in range(shown - 1, -1, -1):
        value = logs[place[ranking[k]]]
        if value > top:
            total = total * np.exp(top - value) + 1.0
            top = value
        else:
            total += np.exp(value - top)
        chance *= np.exp(value - top) / total
    return max(chance, 5e-324)
