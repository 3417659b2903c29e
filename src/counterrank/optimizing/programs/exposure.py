"""The best division of exposure among a query's items, and the chances (item × position) that give it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.statistics.pairs import Table
from counterrank.statistics.sorting import falling

Vector = NDArray[np.float64]


def best_exposure(
    worth: Vector,
    cap: Vector,
    liked: Vector,
    allowed: NDArray[np.bool_],
    looks: Vector,
    starts: Codes,
    *,
    lengths: Codes,
) -> Table:
    """(P, K) chances h that maximise Σ worth·min(⟨looks, h⟩, cap) over all policies.

    Which exposures e = ⟨looks, h⟩ are possible: the j largest sum to no more than the j largest looks, for every j.
    That is a polymatroid, and stays one under caps, so the greedy choice is best: the worthiest item first, each with
    as much as is left for it. What remains goes to the items by `liked`. Equal ones: the first row.
    """
    out = np.zeros((len(worth), len(looks)))
    order = np.lexsort((np.arange(len(worth)), -liked, -worth))
    fill = np.lexsort((np.arange(len(worth)), -liked))
    of = np.repeat(np.arange(len(lengths)), np.diff(starts))
    order, fill = order[np.argsort(of[order], kind="stable")], fill[np.argsort(of[fill], kind="stable")]
    _best(worth, cap, allowed, looks, starts, lengths, order, fill, out)
    return out


@njit(nogil=True)
def _best(
    worth: Any, cap: Any, allowed: Any, looks: Any, starts: Any, lengths: Any, order: Any, fill: Any, out: Any
) -> None:  # pragma: no cover
    for q in range(len(lengths)):
        first, stop, length = starts[q], starts[q + 1], lengths[q]
        size = stop - first
        places = falling(looks[:length])  # the most looked at first
        height = np.empty(length)
        for k in range(length):
            height[k] = looks[places[k]]
        exposure, ranked, used = np.zeros(size), np.empty(size), 0
        for i in range(first, stop):
            p = order[i]
            if allowed[p] and worth[p] > 0.0:
                exposure[p - first] = max(min(cap[p], _room(ranked, used, height)), 0.0)
                used = _put(ranked, used, exposure[p - first])
        for i in range(first, stop):
            p = fill[i]
            if allowed[p]:
                if worth[p] > 0.0:
                    used = _take(ranked, used, exposure[p - first])
                exposure[p - first] = max(exposure[p - first], _room(ranked, used, height))
                used = _put(ranked, used, exposure[p - first])
        _chances(exposure, allowed[first:stop], height, places, fill[first:stop], first, out[first:stop])


@njit(nogil=True)
def _room(ranked: Any, used: int, height: Any) -> float:  # pragma: no cover
    """The most exposure that one more item can have beside those ranked, which are sorted from above."""
    most, above, below = np.inf, 0.0, 0.0
    for j in range(used + 1):
        above += height[j] if j < len(height) else 0.0
        most = min(most, above - below)
        if j < used:
            below += ranked[j]
    return most


@njit(nogil=True)
def _put(ranked: Any, used: int, value: float) -> int:  # pragma: no cover
    """One more among those ranked, in its place; how many they are then."""
    at = used
    while at > 0 and ranked[at - 1] < value:
        ranked[at] = ranked[at - 1]
        at -= 1
    ranked[at] = value
    return used + 1


@njit(nogil=True)
def _take(ranked: Any, used: int, value: float) -> int:  # pragma: no cover
    """One fewer among those ranked; how many they are then."""
    at = 0
    while at < used - 1 and ranked[at] != value:
        at += 1
    for j in range(at, used - 1):
        ranked[j] = ranked[j + 1]
    return used - 1


@njit(nogil=True)
def _chances(
    exposure: Any, allowed: Any, height: Any, places: Any, fill: Any, first: int, out: Any
) -> None:  # pragma: no cover
    """Chances with this exposure: peel off orders in which tied items share their positions, until all is tied."""
    length = len(height)
    kept, size = np.empty(len(fill), dtype=np.int64), 0
    for p in fill:
        if allowed[p - first]:
            kept[size] = p - first
            size += 1
    wide, e = np.zeros(size), np.empty(size)
    for k in range(min(length, size)):
        wide[k] = height[k]
    for j in range(size):
        e[j] = exposure[kept[j]]
    order = falling(e)
    left = 1.0
    tied = np.zeros(size, dtype=np.bool_)  # whether the j-th in order is tied with the next
    scale = max(wide[0], 1e-300)
    for j in range(size - 1):
        tied[j] = e[order[j]] - e[order[j + 1]] <= 1e-13 * scale
    while left > 0.0:
        shared = np.empty(size)
        head = 0
        for j in range(size):
            if not tied[j]:
                total = 0.0
                for i in range(head, j + 1):
                    total += wide[i]
                for i in range(head, j + 1):
                    shared[i] = total / (j + 1 - head)
                head = j + 1
        # e = (1−c)·e' + c·shared, with c as large as keeps the order of e'
        part, where = 1.0, -1
        for j in range(size - 1):
            gap, step = e[order[j]] - e[order[j + 1]], shared[j] - shared[j + 1]
            if not tied[j] and step > 0.0 and gap < part * step - 1e-12 * max(step, scale):  # not by rounding
                part, where = max(gap / step, 0.0), j
        head = 0
        for j in range(size):
            if not tied[j]:
                if wide[head] == wide[j]:  # equal looks: any order gives the same exposure
                    for k in range(head, min(j + 1, length)):
                        out[kept[order[k]], places[k]] += left * part
                else:
                    for i in range(head, j + 1):
                        for k in range(head, min(j + 1, length)):
                            out[kept[order[i]], places[k]] += left * part / (j + 1 - head)
                head = j + 1
        if where < 0 or part >= 1.0:
            break
        for j in range(size):
            e[order[j]] = (e[order[j]] - part * shared[j]) / (1.0 - part)
        tied[where] = True
        left *= 1.0 - part
