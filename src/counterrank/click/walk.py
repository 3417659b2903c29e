"""Expectation steps of models that read from the top: kernels over patterns.

Down to a page's last click everything was examined. Past it, it is not seen whether the user left or found nothing
attractive. With B_k the chance of no click from k on given that k is examined,

    B_k = (1 − a_k)·((1 − u_k) + u_k·B_{k+1}),  B beyond the end = 1,

a page whose last click is at l has the factor (1 − v_l) + v_l·B_{l+1} for what follows, and each later position was
examined with a chance that follows from the same numbers.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from counterrank.compiled import njit

TINY = 1e-200
LEAST = 1e-300  # a page of a thousand positions without a click is no impossible one


@njit(nogil=True)
def read_row(coded, clicked):
    """The length of a row of 2·pair + click, its last click (-1: none); clicks go to `clicked`."""
    length, last = 0, -1
    for k in range(len(coded)):
        if coded[k] < 0:
            break
        length += 1
        clicked[k] = coded[k] & 1
        if clicked[k]:
            last = k
    return length, last


@njit(nogil=True)
def walk(length, last, clicked, a, u, v, blank, examined):
    """Chances that each position was examined, given the clicks, into `examined`; the log-likelihood of the page.

    `blank[k]` becomes B_k. `examined[length]`, beyond the end, is the chance that the user would have read on.
    """
    total, chance = 0.0, 1.0  # logarithms are dear: one for many factors
    blank[length] = 1.0
    for k in range(length - 1, last, -1):
        blank[k] = max((1.0 - a[k]) * ((1.0 - u[k]) + u[k] * blank[k + 1]), LEAST)
    for k in range(last + 1):
        examined[k] = 1.0
        if not clicked[k]:
            chance *= (1.0 - a[k]) * u[k]
        else:
            chance *= a[k] * v[k] if k < last else a[k]
        if chance < TINY:
            total += np.log(chance)
            chance = 1.0
    if last >= 0:
        rest = (1.0 - v[last]) + v[last] * blank[last + 1]
        chance *= rest
        examined[last + 1] = v[last] * blank[last + 1] / rest
    else:
        examined[0] = 1.0
        chance *= blank[0]
    total += np.log(chance)
    for k in range(last + 1, length):
        rest = (1.0 - u[k]) + u[k] * blank[k + 1]
        examined[k + 1] = examined[k] * u[k] * blank[k + 1] / rest
    return total


@njit(nogil=True)
def dependent_step(of, coded, impressions, attraction, go_on, looks, doubt, went, could):
    """Expected looks and their doubt per pair, expected goings-on after a click; the log-likelihood.

    A click at the end of a page shorter than K tells nothing on going on; at K itself it counts as a stop.
    """
    positions = coded.shape[1]
    looks[:], doubt[:], went[:], could[:] = 0.0, 0.0, 0.0, 0.0
    clicked = np.zeros(positions, dtype=np.int64)
    a, u, v = np.empty(positions), np.ones(positions), np.empty(positions)
    blank, examined = np.empty(positions + 1), np.empty(positions + 1)
    total = 0.0
    for r in range(len(coded)):
        m, q = float(impressions[r]), of[r]
        length, last = read_row(coded[r], clicked)
        for k in range(length):
            a[k] = attraction[coded[r, k] >> 1]
            v[k] = go_on[q, k]
        total += m * walk(length, last, clicked, a, u, v, blank, examined)
        for k in range(length):
            p, w = coded[r, k] >> 1, examined[k]
            looks[p] += m * w
            doubt[p] += m * w * (1.0 - w)
            if clicked[k]:
                if k + 1 < length:
                    could[q, k] += m
                    went[q, k] += m * examined[k + 1]
                elif length == positions:
                    could[q, k] += m
                    total += m * np.log(1.0 - v[k])
    return total


@njit(nogil=True)
def bayesian_step(coded, impressions, attraction, satisfaction, perseverance, looks, doubt, satisfied, told, went):
    """Expected looks and their doubt, satisfactions of those that could be told; in `went`, goings-on and chances to go
    on; the log-likelihood. The end of a page tells nothing on what would have come after it.
    """
    positions = coded.shape[1]
    looks[:], doubt[:], satisfied[:], told[:], went[:] = 0.0, 0.0, 0.0, 0.0, 0.0
    clicked = np.zeros(positions, dtype=np.int64)
    a, u, v = np.empty(positions), np.full(positions, perseverance), np.empty(positions)
    blank, examined = np.empty(positions + 1), np.empty(positions + 1)
    total = 0.0
    for r in range(len(coded)):
        m = float(impressions[r])
        length, last = read_row(coded[r], clicked)
        for k in range(length):
            p = coded[r, k] >> 1
            a[k] = attraction[p]
            v[k] = perseverance * (1.0 - satisfaction[p])
        total += m * walk(length, last, clicked, a, u, v, blank, examined)
        for k in range(length):
            p, w = coded[r, k] >> 1, examined[k]
            looks[p] += m * w
            doubt[p] += m * w * (1.0 - w)
            if k + 1 == length:
                break
            content = 0.0
            if clicked[k]:
                if k == last:
                    content = satisfaction[p] / ((1.0 - v[k]) + v[k] * blank[k + 1])
                told[p] += m
                satisfied[p] += m * content
            went[0] += m * examined[k + 1]
            went[1] += m * (w - content)
    return total


@njit(nogil=True)
def click_chain_step(coded, impressions, attraction, continuation, looks, doubt, good, told, went, could):
    """Expected looks and their doubt; draws of τ₃ (`good`) of clicks that could be told; goings-on by τ₁, τ₂, τ₃."""
    positions = coded.shape[1]
    looks[:], doubt[:], good[:], told[:], went[:], could[:] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    clicked = np.zeros(positions, dtype=np.int64)
    low, high = continuation[1], continuation[2]
    a, u, v = np.empty(positions), np.full(positions, continuation[0]), np.empty(positions)
    blank, examined = np.empty(positions + 1), np.empty(positions + 1)
    total = 0.0
    for r in range(len(coded)):
        m = float(impressions[r])
        length, last = read_row(coded[r], clicked)
        for k in range(length):
            a[k] = attraction[coded[r, k] >> 1]
            v[k] = low * (1.0 - a[k]) + high * a[k]
        total += m * walk(length, last, clicked, a, u, v, blank, examined)
        for k in range(length):
            p, w = coded[r, k] >> 1, examined[k]
            looks[p] += m * w
            doubt[p] += m * w * (1.0 - w)
            if k + 1 == length:
                break
            if not clicked[k]:
                could[0] += m * w
                went[0] += m * examined[k + 1]
                continue
            # both chances of going on, and of what is seen after that, by which draw it was
            if k < last:
                on_high, on_low = a[k] * high / v[k], (1.0 - a[k]) * low / v[k]
                drew = on_high
            else:
                rest = (1.0 - v[k]) + v[k] * blank[k + 1]
                on_high = a[k] * high * blank[k + 1] / rest
                on_low = (1.0 - a[k]) * low * blank[k + 1] / rest
                drew = on_high + a[k] * (1.0 - high) / rest
            told[p] += m
            good[p] += m * drew
            could[1] += m * (1.0 - drew)
            went[1] += m * on_low
            could[2] += m * drew
            went[2] += m * on_high
    return total
