"""DBGD and MGD: a page drafted by rankers with slightly other weights; the weights move to whose items were clicked."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterrank.compiled import njit
from counterrank.online._draws import normal
from counterrank.online.gradient import RIVALS, STEP, WEIGHTS, Gradient, by_weights, table
from counterrank.statistics.hashing import mix, uniform


@njit()
def directions(key, count, width):  # type: ignore[no-untyped-def]
    """(count, width) unit vectors."""
    out = np.empty((count, width))
    for c in range(count):
        total = 0.0
        for j in range(width):
            out[c, j] = normal(mix(key ^ np.uint64(c + 1)), j)
            total += out[c, j] ** 2
        for j in range(width):
            out[c, j] /= total**0.5
    return out


@njit()
def draft(z, weights, ways, reach, length, key):  # type: ignore[no-untyped-def]
    """Team-draft multileaving: (length,) items, and whose each is: 0 for the weights themselves, else 1 + direction.

    Round by round, in random order, each ranker picks its best item that is not on the page yet.
    """
    teams = len(ways) + 1
    scores = np.empty((teams, len(z)))
    plain = by_weights(z, weights)
    for i in range(len(z)):
        scores[0, i] = plain[i]
    for c in range(len(ways)):
        moved = by_weights(z, ways[c])
        for i in range(len(z)):
            scores[c + 1, i] = plain[i] + reach * moved[i]
    page, team = np.empty(length, dtype=np.int64), np.empty(length, dtype=np.int64)
    free, order, place, turn = np.ones(len(z), dtype=np.bool_), np.arange(teams), 0, 0
    while place < length:
        for a in range(teams - 1, 0, -1):  # a fresh order for each round
            b = int(uniform(key, turn * teams + a) * (a + 1))
            order[a], order[b] = order[b], order[a]
        turn += 1
        for who in order:
            best = -1
            for i in range(len(z)):
                if free[i] and (best < 0 or scores[who, i] > scores[who, best]):
                    best = i
            page[place], team[place], free[best] = best, who, False
            place += 1
            if place == length:
                break
    return page, team, plain


@njit(nogil=True)
def score(rows, first, size, examination, params, key, out):  # type: ignore[no-untyped-def]
    """The drafted page in its order, the rest by the weights; without exploration all by the weights."""
    z = table(rows, first, size, examination, params)
    width = z.shape[1]
    weights = params[WEIGHTS : WEIGHTS + width]
    if params[0] == 0:
        by_linear = by_weights(z, weights)
        for i in range(size):
            out[i] = by_linear[i]
        return
    ways = directions(key, int(params[RIVALS]), width)
    length = min(size, len(examination))
    page, _, plain = draft(z, weights, ways, params[0], length, mix(key))
    top = -np.inf
    for i in range(size):
        out[i] = plain[i]
        top = max(top, plain[i] + 1.0)
    for place in range(length):
        out[page[place]] = top + length - place


@njit(nogil=True)
def observe(rows, first, size, examination, params, key, page, clicks):  # type: ignore[no-untyped-def]
    """The weights move by `step` towards the mean direction of the teams that won more clicks than the weights'."""
    if params[0] == 0:
        return
    z = table(rows, first, size, examination, params)
    width = z.shape[1]
    ways = directions(key, int(params[RIVALS]), width)
    length = min(size, len(examination))
    drafted, team, _ = draft(z, params[WEIGHTS : WEIGHTS + width], ways, params[0], length, mix(key))
    won = np.zeros(len(ways) + 1)
    for place in range(length):
        for j in range(length):
            if page[j] == drafted[place]:
                won[team[place]] += clicks[j]
    best = won[0]
    for c in range(len(ways)):
        best = max(best, won[c + 1])
    if won[0] >= best:
        return
    winners = 0
    for c in range(len(ways)):
        winners += won[c + 1] == best
    for c in range(len(ways)):
        if won[c + 1] == best:
            for j in range(width):
                params[WEIGHTS + j] += params[STEP] * ways[c, j] / winners


class DBGD(Gradient):
    """Dueling bandit gradient descent (Yue and Joachims): one rival at distance 1, team draft, step 0.01."""

    name: ClassVar[str] = "dbgd"
    says: ClassVar[str] = "duels with one other set of weights"
    exploration: ClassVar[float] = 1.0
    grid: ClassVar[tuple[float, ...]] = (0.0, 0.2, 0.5, 1.0, 2.0)
    step: ClassVar[float] = 0.01
    rivals: ClassVar[int] = 1
    score = score
    observe = observe
