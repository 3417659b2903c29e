"""A pattern's integrand over the lattice, as the exponential of a sum of the lattice's rows, each so many times.

Nearly all time of a fit goes into these sums. Rows are taken by fours, and by unsigned indices: so compilers make
vector instructions of them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from counterrank.compiled import njit

GONE = 14.0  # what is this much lower, in logarithms, than the top is summed as an exponential
_LEAST = -32.0  # what is lower still counts as this
_LITTLE = 1e-13  # of the top: what is less has nothing beyond it
_MORE = 8  # points by which a window grows: two vectors
_SUMS = {"reassoc", "contract"}  # sums may be taken in any order; not-a-number and infinity stay what they are
_U = np.uint64


class Rows(NamedTuple):
    """The rows of the lattice that a pattern takes: of γ, of 1 − γ and of its cells; and zeros, up to a full four."""

    numbers: Any
    begins: Any  # where each begins in the flat table
    times: Any  # α and the clicks, β, and the misses of each cell


@njit(nogil=True)
def no_rows(cells: int, at: Any) -> Any:
    """Room for the rows of patterns with up to so many cells."""
    size = cells + 5
    found = Rows(np.zeros(size, dtype=np.uint64), np.zeros(size, dtype=np.uint64), np.zeros(size))
    found.numbers[1], found.begins[1] = 1, at.width
    return found


@njit(nogil=True)
def sides(up: float, step: float) -> tuple[int, int]:
    """About how many steps to its left and to its right an integrand of so many clicks is lower than the top by GONE.

    Where γ is small, it is exp(up·(x − exp(x))), at x to the right of the top.
    """
    fall = GONE / up
    left, right = -math.sqrt(2.0 * fall), min(math.sqrt(2.0 * fall), 1.0 + math.log1p(fall))
    for _ in range(3):  # steps of Newton's
        left -= (math.exp(left) - left - 1.0 - fall) / (math.exp(left) - 1.0)
        right -= (math.exp(right) - right - 1.0 - fall) / (math.exp(right) - 1.0)
    return math.ceil(min(-left / step, 1e6)), math.ceil(min(right / step, 1e6)) + 1


@njit(nogil=True, fastmath=_SUMS)
def _heights(first: int, last: int, at: Any, rows: Any, size: Any, out: Any) -> None:
    """The log of the integrand at points first to last."""
    begin, width = _U(first), _U(last - first)
    for j in range(width):
        out[begin + j] = 0.0
    for i in range(_U(0), _U(size), _U(4)):
        a, b, c, d = rows.begins[i], rows.begins[i + _U(1)], rows.begins[i + _U(2)], rows.begins[i + _U(3)]
        a, b, c, d = a + begin, b + begin, c + begin, d + begin
        w, x, y, z = rows.times[i], rows.times[i + _U(1)], rows.times[i + _U(2)], rows.times[i + _U(3)]
        for j in range(width):
            out[begin + j] += w * at.free[a + j] + x * at.free[b + j] + y * at.free[c + j] + z * at.free[d + j]


@njit(nogil=True, fastmath=_SUMS)
def sums(first: int, last: int, at: Any, rows: Any, size: Any, weight: Any, out: Any) -> None:
    """Σ over points first to last of their weights times log γ, log(1 − γ) and the odds of each cell."""
    begin, width = _U(first), _U(last - first)
    for i in range(_U(0), _U(size), _U(4)):
        a, b, c, d = rows.begins[i], rows.begins[i + _U(1)], rows.begins[i + _U(2)], rows.begins[i + _U(3)]
        a, b, c, d = a + begin, b + begin, c + begin, d + begin
        w, x, y, z = 0.0, 0.0, 0.0, 0.0
        for j in range(width):
            w += weight[begin + j] * at.odds[a + j]
            x += weight[begin + j] * at.odds[b + j]
            y += weight[begin + j] * at.odds[c + j]
            z += weight[begin + j] * at.odds[d + j]
        out[i], out[i + _U(1)], out[i + _U(2)], out[i + _U(3)] = w, x, y, z


@njit(nogil=True, fastmath=_SUMS)
def _raised(first: int, last: int, top: float, out: Any) -> float:
    """exp(out − top) into `out`, at points first to last, of which none is above the top; and their sum.

    exp(x) is exp(x/64)⁶⁴ with −½ ≤ x/64 ≤ 0, for which twelve terms of the series about −¼ are enough. In a loop, that
    is several times faster than to call for exp(x).
    """
    begin, total = _U(first), 0.0
    for j in range(_U(last - first)):
        x = max(out[begin + j] - top, _LEAST) * (1.0 / 64.0) + 0.25
        rest = 1 / 5040 + x * (1 / 40320 + x * (1 / 362880 + x * (1 / 3628800 + x * (1 / 39916800))))
        root = 1.0 + x * (1.0 + x * (1 / 2 + x * (1 / 6 + x * (1 / 24 + x * (1 / 120 + x * (1 / 720 + x * rest))))))
        root *= 0.7788007830714049  # exp(−¼)
        root *= root
        root *= root
        root *= root
        root *= root
        root *= root
        root *= root
        out[begin + j] = root
        total += root
    return total


@njit(nogil=True)
def integrand(top: int, beside: Any, at: Any, rows: Any, size: Any, weight: Any) -> Any:
    """The integrand at points first to last, relative to its top, into `weight`; these two, the sum, the log of the
    integral; and how much further out the rest beyond the two lies on the left and on the right, times its weight.

    The rest counts for the two. `top` is a guess.
    """
    more = -(beside[0] + beside[1] + 1) % _MORE
    first, last = max(top - beside[0] - more // 2, 0), min(top + beside[1] + 1 + more - more // 2, at.width)
    _heights(first, last, at, rows, size, weight)
    while True:
        while top + 1 < last and weight[top + 1] > weight[top]:
            top += 1
        while top > first and weight[top - 1] > weight[top]:
            top -= 1
        if first > 0 and weight[first] > weight[top] - GONE:
            was, first = first, max(first - _MORE, 0)
            _heights(first, was, at, rows, size, weight)
        elif last < at.width and weight[last - 1] > weight[top] - GONE:
            was, last = last, min(last + _MORE, at.width)
            _heights(was, last, at, rows, size, weight)
        else:
            break
    here = weight[top]
    total = _raised(first, last, here, weight)
    left, right = 0.0, 0.0  # what a step further out leaves; at the ends of all lattices that is known
    if at.first + first == -at.half:
        left = math.exp(-rows.times[0] * at.step)
    elif weight[first] > _LITTLE:
        left = weight[first] / weight[first + 1]
    if at.first + last - 1 == at.half:
        right = math.exp(-rows.times[1] * at.step)
    elif weight[last - 1] > _LITTLE:
        right = weight[last - 1] / weight[last - 2]
    left_rest, right_rest = weight[first] * left / (1.0 - left), weight[last - 1] * right / (1.0 - right)
    weight[first] += left_rest
    weight[last - 1] += right_rest
    total += left_rest + right_rest
    log = here + math.log(total * at.step)
    return first, last, total, log, at.step * left_rest / (1.0 - left), at.step * right_rest / (1.0 - right)
