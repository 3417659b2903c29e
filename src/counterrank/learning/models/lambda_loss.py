"""Counterfactual LambdaLoss: pairs of a query's items, each weighed by what it would cost to have them the wrong way.

    loss = Σ over pairs with worth_a > worth_b of (worth_a − worth_b) · gain · log(1 + exp(score_b − score_a))

gain is λ(d) − λ(d+1), d how far apart the two stand in the present order: 1/log2(1+d) − 1/log2(2+d) for DCG. That
bounds what a ranking loses (Wang and others, 2018, NDCG-Loss2) as long as λ falls ever more slowly. Where it does not,
as for the first K of a longer list, gain is λ(rank_a) − λ(rank_b), what it would cost to swap the two, and five times
DCG's by distance (as in their NDCG-Loss2++): pairs below K would have no say at all, and fewer clicks be used.

Worth that is the same for all items of a query has no say: a click chance with a constant part changes nothing in
expectation (genspec2021, eqs. 11 and 12).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.learning.examples import Vector
from counterrank.statistics.sorting import falling

FURTHEST = 60.0  # scores further below the top than this count as this far: e^-60 does not overflow in 32 bits
BESIDE = 5.0  # how much DCG by distance counts beside λ by rank
FAST = {"reassoc", "contract", "nsz", "arcp"}  # sums in any order, so that they run side by side; NaN and inf stay


def gains(weights: Vector, longest: int) -> NDArray[np.float64]:
    """(2, longest): what a pair weighs at distance d, and λ at each rank from 0, of which the differences are added.

    By distance alone where λ is convex and falling down to the longest query, else by rank and by DCG's distance.

    >>> gains(np.array([1.0, 0.5, 0.25, 0.125]), 3).tolist()
    [[0.0, 0.5, 0.25], [0.0, 0.0, 0.0]]
    >>> gains(np.array([1.0, 0.5]), 4).round(2).tolist()
    [[0.0, 1.85, 0.65, 0.35], [1.0, 0.5, 0.0, 0.0]]
    """
    padded = np.zeros(max(longest, 1))
    padded[: min(len(weights), longest)] = weights[:longest]
    steps = -np.diff(padded)
    out = np.zeros((2, len(padded)))
    if len(weights) >= longest and (steps >= 0).all() and (np.diff(steps) <= 1e-12).all():
        out[0, 1:] = steps
    else:
        out[0, 1:] = -BESIDE * padded.max() * np.diff(1 / np.log2(np.arange(2, len(padded) + 2)))
        out[1] = np.maximum.accumulate(padded[::-1])[::-1]  # a weight that rises again counts as flat up to there
    return out


@njit(nogil=True, fastmath=FAST)
def scored(rows: Any, weights: Any, out: Any) -> None:  # pragma: no cover
    """rows @ weights into out: the same on any machine, and on one thread."""
    for i in range(rows.shape[0]):
        total = out.dtype.type(0)
        for f in range(rows.shape[1]):
            total += rows[i, f] * weights[f]
        out[i] = total


@njit(nogil=True, fastmath=FAST)
def paired(size: Any, score: Any, gain: Any) -> Any:  # pragma: no cover
    """The odds of items in the order of their scores, (size,); gains by distance, both ways, (2·size − 1,)."""
    odds, far = np.empty(size, score.dtype), np.empty(2 * size - 1, score.dtype)
    for i in range(size):
        odds[i] = np.exp(max(score[i] - score[0], -FURTHEST))
        far[size - 1 - i] = far[size - 1 + i] = gain[0, i]
    return odds, far


@njit(nogil=True, fastmath=FAST)
def slopes(size: Any, score: Any, worth: Any, gain: Any, slope: Any) -> None:  # pragma: no cover
    """The derivative of one query's loss by each score, into `slope`; items stand in the order of their scores."""
    odds, far = paired(size, score, gain)
    zero, rank = slope.dtype.type(0), gain[1]
    for i in range(size):
        slope[i] = zero
    for i in range(size):
        own, mine, level, total = odds[i], worth[i], rank[i], zero
        if mine == 0:
            continue
        apart = far[size - 1 - i : 2 * size - 1 - i]
        for j in range(size):  # no branch, so that several run side by side; each pair counts on the turn of its better
            more = max(mine - worth[j], zero) * (apart[j] + abs(level - rank[j]))
            push = more * odds[j] / (own + odds[j])
            total += push
            slope[j] += push
        slope[i] -= total


@njit(nogil=True, fastmath=FAST)
def bends(size: Any, score: Any, worth: Any, gain: Any, bend: Any) -> None:  # pragma: no cover
    """The second derivative of one query's loss by each score, into `bend`; items stand in order, as in `slopes`."""
    odds, far = paired(size, score, gain)
    zero, rank = bend.dtype.type(0), gain[1]
    for i in range(size):
        bend[i] = zero
    for i in range(size):
        own, mine, level, total = odds[i], worth[i], rank[i], zero
        if mine == 0:
            continue
        apart = far[size - 1 - i : 2 * size - 1 - i]
        for j in range(size):
            more = max(mine - worth[j], zero) * (apart[j] + abs(level - rank[j]))
            both = more * own * odds[j] / (own + odds[j]) ** 2
            total += both
            bend[j] += both
        bend[i] += total


@njit(nogil=True)
def loss(size: Any, score: Any, worth: Any, gain: Any) -> Any:  # pragma: no cover
    """One query's loss; items stand in the order of their scores."""
    total = 0.0
    for i in range(size):
        for j in range(size):
            if worth[i] > worth[j]:
                weight = (worth[i] - worth[j]) * (gain[0, abs(j - i)] + abs(gain[1, i] - gain[1, j]))
                below = score[j] - score[i]
                total += weight * (max(below, 0.0) + np.log1p(np.exp(-abs(below))))
    return total


@njit(nogil=True)
def losses(starts: Any, queries: Any, scores: Any, worth: Any, gain: Any) -> Any:  # pragma: no cover
    """The mean loss of these queries at these scores."""
    total = 0.0
    for q in queries:
        start, stop = starts[q], starts[q + 1]
        order = falling(scores[start:stop])
        score, value = ordered(scores[start:stop], order), ordered(worth[start:stop], order)
        total += loss(stop - start, score, value, gain)
    return total / max(len(queries), 1)


@njit(nogil=True)
def ordered(values: Any, order: Any) -> Any:  # pragma: no cover
    """The values in this order."""
    out = np.empty(len(order), values.dtype)
    for i in range(len(order)):
        out[i] = values[order[i]]
    return out


@njit(nogil=True)
def derivatives(
    starts: Any, queries: Any, scores: Any, worth: Any, gain: Any, first: Any, second: Any
) -> None:  # pragma: no cover
    """The derivatives of these queries' loss by each score, into first and second, (P,)."""
    longest = 0
    for q in queries:
        longest = max(longest, starts[q + 1] - starts[q])
    by, bend = np.empty(longest), np.empty(longest)
    for q in queries:
        start, stop = starts[q], starts[q + 1]
        order = falling(scores[start:stop])
        score, value = ordered(scores[start:stop], order), ordered(worth[start:stop], order)
        slopes(stop - start, score, value, gain, by)
        bends(stop - start, score, value, gain, bend)
        for i in range(stop - start):
            first[start + order[i]], second[start + order[i]] = by[i], bend[i]


@njit(nogil=True, fastmath=FAST)
def gradient(
    starts: Any, queries: Any, rows: Any, worth: Any, gain: Any, weights: Any, out: Any
) -> None:  # pragma: no cover
    """Add to `out` (F,) the derivative of these queries' loss by the weights of a linear model."""
    longest = 0
    for q in queries:
        longest = max(longest, starts[q + 1] - starts[q])
    width = rows.shape[1]
    found, by = np.empty(longest, rows.dtype), np.empty(longest, rows.dtype)
    for q in queries:
        start, size = starts[q], starts[q + 1] - starts[q]
        scored(rows[start : start + size], weights, found)
        order = falling(found[:size])
        slopes(size, ordered(found, order), ordered(worth[start : start + size], order), gain, by)
        for i in range(size):
            row, own = start + order[i], by[i]
            for f in range(width):
                out[f] += own * rows[row, f]
