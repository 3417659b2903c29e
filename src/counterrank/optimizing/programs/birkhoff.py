"""A table of chances (item × position) as a distribution over rankings: Birkhoff and von Neumann, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.statistics.pairs import Table

_NOTHING = 1e-11


def rankings_of(starts: Codes, shown: Table, lengths: Codes) -> tuple[Codes, Codes, NDArray[np.float64]]:
    """Queries (G,), rankings (G, K) as rows of `shown`, and probabilities (G,) whose marginals are `shown`.

    Query q has the rows starts[q]:starts[q+1]. Each of its first lengths[q] columns sums to 1, no row to more.

    >>> rankings_of(np.array([0, 2]), np.array([[0.25, 0.75], [0.75, 0.25]]), np.array([2]))[2].tolist()
    [0.75, 0.25]
    """
    queries, rows, chances = [], [], []
    for q, length in enumerate(lengths.tolist()):
        mine = slice(starts[q], starts[q + 1])
        table = np.asarray(shown[mine, :length], dtype=np.float64)
        used = np.flatnonzero(table.sum(axis=1) > _NOTHING)
        held, chance = _split(np.ascontiguousarray(table[used]))
        order = np.argsort(-np.round(chance, 11), kind="stable")  # the most likely first
        held, chance = held[order], chance[order]
        each = np.full((len(chance), shown.shape[1]), -1, dtype=np.int64)
        each[:, :length] = starts[q] + used[held]
        queries.append(np.full(len(chance), q, dtype=np.int64))
        rows.append(each)
        chances.append(chance / chance.sum())
    return np.concatenate(queries), np.concatenate(rows), np.concatenate(chances)


@njit(nogil=True)
def _split(table: Any) -> tuple[Any, Any]:  # pragma: no cover
    """(G, L) items by position, and chances. Empty columns make the table square; what a row lacks goes there."""
    size, length = table.shape
    square = np.zeros((size, size))
    column, room = length, 1.0
    for a in range(size):
        rest = 0.0
        for k in range(length):
            square[a, k] = table[a, k]
            rest += table[a, k]
        rest = 1.0 - rest
        while rest > _NOTHING and column < size:
            part = min(rest, room)
            square[a, column] += part
            rest -= part
            room -= part
            if room <= _NOTHING:
                column, room = column + 1, 1.0
    most = 1  # each ranking uses up a cell or more
    for a in range(size):
        for k in range(size):
            most += square[a, k] != 0.0
    held, chance = np.empty((min(most, 16), length), dtype=np.int64), np.empty(most)
    item = np.full(size, -1, dtype=np.int64)  # of each column
    column_of = np.full(size, -1, dtype=np.int64)
    left, number = 1.0, 0
    while left > _NOTHING and number < most:
        whole = True
        for k in range(size):
            if item[k] < 0 and not _augment(square, k, item, column_of):
                whole = False
                break
        if not whole:
            break  # rounding has eaten an entry: what is left is next to nothing
        least = left
        for k in range(size):
            least = min(least, square[item[k], k])
        if number == len(held):
            wider = np.empty((min(2 * number, most), length), dtype=np.int64)
            for g in range(number):
                for k in range(length):
                    wider[g, k] = held[g, k]
            held = wider
        for k in range(length):
            held[number, k] = item[k]
        chance[number] = least
        number += 1
        left -= least
        for k in range(size):
            a = item[k]
            square[a, k] -= least
            if square[a, k] <= _NOTHING:
                square[a, k] = 0.0
                item[k], column_of[a] = -1, -1
    return held[:number], chance[:number]


@njit(nogil=True)
def _augment(square: Any, k: int, item: Any, column_of: Any) -> bool:  # pragma: no cover
    """Give column k an item, moving others where needed: breadth first."""
    size = len(item)
    came = np.full(size, -1, dtype=np.int64)  # the column from which each item was reached
    queue = np.empty(size, dtype=np.int64)
    queue[0] = k
    head, tail = 0, 1
    while head < tail:
        column = queue[head]
        head += 1
        for a in range(size):
            if square[a, column] > 0.0 and came[a] < 0:
                came[a] = column
                if column_of[a] < 0:
                    while True:
                        at = came[a]
                        following = item[at]
                        item[at], column_of[a] = a, at
                        if at == k:
                            return True
                        a = following
                queue[tail] = column_of[a]
                tail += 1
    return False
