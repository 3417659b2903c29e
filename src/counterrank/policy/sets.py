"""Pair marginals of sampling without replacement (Plackett–Luce), exactly, by recursion over sets of items.

Let E(S; a, j) be the chance that the first |S| places hold the set S, with item a at place j. Then

    E(S ∪ {c}; a, j) += E(S; a, j)·r(c | S),   r(c | S) = λ_c / Σ_{b not in S} λ_b,
    P(a at j, b at k) = Σ_{|S| = k-1, a in S, b not in S} E(S; a, j)·r(b | S).

Only nonnegative numbers are added and multiplied, and r is taken relative to the largest λ that is left, so nothing
cancels and nothing overflows. Sets of one size are numbered by Σ binomial(c_i, i+1) over their sorted items c.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit

WORK = 200_000_000  # multiplications that one query may take: about half a second
ROOM = 8_000_000  # numbers that the sets of one size may hold


def feasible(items: int, positions: int) -> bool:
    """Whether the recursion is short enough."""
    sizes = range(1, positions)
    work = sum(comb(items, s) * s * s * items for s in sizes)
    return work <= WORK and all(comb(items, s) * s * s <= ROOM for s in sizes)


def pair_marginals(logs: NDArray[np.float64], positions: int) -> NDArray[np.float64]:
    """(m·L, m·L): the chance that a is at j and b at k, from log rates."""
    items = len(logs)
    binomial = np.array([[comb(n, k) for k in range(positions + 1)] for n in range(items + 1)], dtype=np.int64)
    out = np.zeros((items, positions, items, positions))
    _recursion(np.ascontiguousarray(logs, dtype=np.float64), positions, binomial, out)
    return out.reshape(items * positions, items * positions)


@njit(nogil=True)
def _chances(logs: Any, inside: Any, chance: Any) -> None:  # pragma: no cover
    """r(c | S) of every item outside S."""
    top = -np.inf
    for c in range(len(logs)):
        if not inside[c] and logs[c] > top:
            top = logs[c]
    total = 0.0
    for c in range(len(logs)):
        chance[c] = 0.0
        if not inside[c]:
            chance[c] = np.exp(logs[c] - top)
            total += chance[c]
    for c in range(len(logs)):
        chance[c] /= total


@njit(nogil=True)
def _recursion(logs: Any, positions: Any, binomial: Any, out: Any) -> None:  # pragma: no cover
    items = len(logs)
    inside = np.zeros(items, dtype=np.bool_)
    chance = np.empty(items)
    _chances(logs, inside, chance)
    for b in range(items):
        out[b, 0, b, 0] = chance[b]
    state = np.empty((items, 1, 1))
    for a in range(items):
        state[a, 0, 0] = chance[a]
    for size in range(1, positions):
        more = size + 1 < positions
        after = np.zeros((binomial[items, size + 1] if more else 0, size + 1, size + 1))
        members, bigger = np.arange(size), np.empty(size + 1, dtype=np.int64)
        for number in range(binomial[items, size]):
            for i in range(size):
                inside[members[i]] = True
            _chances(logs, inside, chance)
            whole = 0.0
            for i in range(size):
                whole += state[number, i, 0]
            for b in range(items):
                if inside[b]:
                    continue
                out[b, size, b, size] += whole * chance[b]
                for i in range(size):
                    for j in range(size):
                        out[members[i], j, b, size] += state[number, i, j] * chance[b]
                if not more:
                    continue
                at, rank = 0, 0
                for i in range(size):
                    if members[i] < b:
                        bigger[i] = members[i]
                        at = i + 1
                    else:
                        bigger[i + 1] = members[i]
                bigger[at] = b
                for i in range(size + 1):
                    rank += binomial[bigger[i], i + 1]
                for i in range(size):
                    to = i if i < at else i + 1
                    for j in range(size):
                        after[rank, to, j] += state[number, i, j] * chance[b]
                after[rank, at, size] += whole * chance[b]
            for i in range(size):
                inside[members[i]] = False
            for i in range(size):  # the next set in this order
                if i == size - 1 or members[i] + 1 < members[i + 1]:
                    members[i] += 1
                    for low in range(i):
                        members[low] = low
                    break
        state = after
    for a in range(items):
        for j in range(positions):
            for b in range(items):
                for k in range(j + 1, positions):
                    out[b, k, a, j] = out[a, j, b, k]
