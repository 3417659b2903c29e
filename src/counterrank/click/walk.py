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
from numba import njit


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def walk(length, last, clicked, a, u, v, blank, examined):
    """Chances that each position was examined, given the clicks, into `examined`; the log-likelihood of the page.

    `blank[k]` becomes B_k. `examined[length]`, beyond the end, is the chance that the user would have read on.
    """
    total = 0.0
    blank[length] = 1.0
    for k in range(length - 1, last, -1):
        blank[k] = (1.0 - a[k]) * ((1.0 - u[k]) + u[k] * blank[k + 1])
    for k in range(last + 1):
        examined[k] = 1.0
        if clicked[k]:
            total += np.log(a[k])
            if k < last:
                total += np.log(v[k])
        else:
            total += np.log((1.0 - a[k]) * u[k])
    if last >= 0:
        rest = (1.0 - v[last]) + v[last] * blank[last + 1]
        total += np.log(rest)
        examined[last + 1] = v[last] * blank[last + 1] / rest
    else:
        examined[0] = 1.0
        total += np.log(blank[0])
    for k in range(last + 1, length):
        rest = (1.0 - u[k]) + u[k] * blank[k + 1]
        examined[k + 1] = examined[k] * u[k] * blank[k + 1] / rest
    return total


@njit(cache=True, nogil=True)
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
    return total
