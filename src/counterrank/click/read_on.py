"""One walk over endings of one length: their log-likelihood, and the sums that a step of a fit needs.

The formulas are those of `endings`. Two kernels give the same numbers: `read_through` where no chance can come near the
least that a number can tell, which is next to always, and `read_on` for all else, and for the doubt in looks.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from counterrank.compiled import njit

BLOCK = 64  # endings that a kernel goes over at a time
TINY = 1e-100
LEAST = 1e-280  # added to every B: a page of a thousand positions without a click is no impossible one
_U = np.uint64  # indices that compilers know not to be negative


class Sums(NamedTuple):
    """What a step fills: sums over endings, each as often as it was logged."""

    looks: Any  # (P,) expected looks at each pair
    doubt: Any  # (P,) Σ w(1 − w) of the chances w of looks; or no room, where it is not asked for
    after: Any  # (J, 2) by the place of the last click: 1 / ((1 − v) + v·B), and B / ((1 − v) + v·B), B = B_{l+1}
    lowest: Any  # (1,) expected looks at the last positions of pages


def far_from_none(size: int, u: float, most: float) -> bool:
    """Whether reading so many positions to the end, without a click, has a chance above TINY, whatever they show.

    `most` is the largest attraction there is.
    """
    least = u * (1.0 - most)
    return least > 0.0 and size * math.log(least) > math.log(TINY)


@njit(nogil=True)
def read_on(items: Any, places: Any, often: Any, attraction: Any, u: float, v: Any, sums: Any) -> float:
    """The log-likelihood of endings, and their sums. `u` is the chance to go on after no click, `v` after the last.

    A block of endings at a time goes up from their ends and then down: each loop does one thing, to many numbers.
    """
    size, many = items.shape
    on = np.empty((size, BLOCK))  # the chance that the next position is examined, if this one is
    free, b, w = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    total: float = 0.0
    chance = 1.0  # logarithms are dear: one for many factors
    for begin in range(0, many, BLOCK):
        n = min(BLOCK, many - begin)
        b[:] = 1.0
        for k in range(size - 1, -1, -1):
            for t in range(n):
                free[t] = 1.0 - attraction[items[k, begin + t]]
            for t in range(n):
                rest = (1.0 - u) + u * b[t]
                on[k, t] = u * b[t] / rest
                b[t] = free[t] * rest + LEAST
        for t in range(n):
            j, m = places[begin + t], often[begin + t]
            rest = (1.0 - v[j]) + v[j] * b[t]
            if m == 1.0 and rest > TINY:
                chance *= rest
                if chance < TINY:
                    total += np.log(chance)
                    chance = 1.0
            else:
                total += m * np.log(rest)
            sums.after[j, 0] += m / rest
            sums.after[j, 1] += m * b[t] / rest
            w[t] = m * (v[j] * b[t] / rest)
        for k in range(size):
            for t in range(n):
                sums.looks[items[k, begin + t]] += w[t]
            if len(sums.doubt) > 0:
                for t in range(n):
                    sums.doubt[items[k, begin + t]] += w[t] * (1.0 - w[t] / often[begin + t])
            if k + 1 < size:
                for t in range(n):
                    w[t] *= on[k, t]
        for t in range(n):
            sums.lowest[0] += w[t]
    total += np.log(chance)
    return total


@njit(nogil=True)
def read_through(items: Any, places: Any, often: Any, attraction: Any, u: float, v: Any, sums: Any) -> float:
    """As `read_on`, without a division for each position, and without the doubt.

    The t-th position of an ending is looked at with chance v / ((1 − v) + v·B) · F·B, where F is the chance to come to
    it from the ending's first position without a click, and B and v are as ever: what is divided by is the same all
    the way down.
    """
    size, many = _U(items.shape[0]), _U(items.shape[1])
    b, on = np.empty((size, BLOCK)), np.empty((size, BLOCK))  # on: not to click, and go on
    down = np.empty(BLOCK)
    looks, after, lowest = sums.looks, sums.after, 0.0
    total: float = 0.0
    chance = 1.0  # logarithms are dear: one for many factors
    for begin in range(_U(0), many, _U(BLOCK)):
        n = min(_U(BLOCK), many - begin)
        for i in range(_U(1), size + _U(1)):
            own = size - i
            for t in range(n):
                on[own, t] = 1.0 - attraction[_U(items[own, begin + t])]
            for t in range(n):
                b[own, t] = on[own, t] * ((1.0 - u) + u * b[own + _U(1), t]) if i > _U(1) else on[own, t]
                on[own, t] *= u
        for t in range(n):
            j, m = _U(places[begin + t]), often[begin + t]
            rest = (1.0 - v[j]) + v[j] * b[_U(0), t]
            if m == 1.0:
                chance *= rest
                if chance < TINY:
                    total += np.log(chance)
                    chance = 1.0
            else:
                total += m * np.log(rest)
            share = m / rest
            after[j, _U(0)] += share
            after[j, _U(1)] += share * b[_U(0), t]
            down[t] = share * v[j]
        for k in range(size):
            for t in range(n):
                b[k, t] *= down[t]
                down[t] *= on[k, t]
            for t in range(n):
                looks[_U(items[k, begin + t])] += b[k, t]
        for t in range(n):
            lowest += b[size - _U(1), t]
    sums.lowest[0] += lowest
    total += np.log(chance)
    return total
