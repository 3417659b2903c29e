"""Rankings whose (item, position) values sum to the most: each item once, each position filled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes


def assign(values: NDArray[np.float64], starts: Codes, lengths: Codes) -> Codes:
    """(Q, K) rows of the pairs, -1 beyond a ranking's end.

    Query q has the pairs starts[q]:starts[q+1], at least lengths[q] of them with finite values; -inf is an item that
    may not be shown. Shortest augmenting paths, exact up to rounding.

    >>> assign(np.array([[5.0, 4.0], [4.0, 0.0]]), np.array([0, 2]), np.array([2])).tolist()
    [[1, 0]]
    """
    out = np.full((len(lengths), values.shape[1]), -1, dtype=np.int64)
    _assign(np.ascontiguousarray(values.T, dtype=np.float64), starts, lengths, out)
    return out


@njit(nogil=True)
def _assign(values: Any, starts: Any, lengths: Any, out: Any) -> None:  # pragma: no cover
    # values are (K, P): a position's items stand side by side
    for q in range(len(lengths)):
        first, size, length = starts[q], starts[q + 1] - starts[q], lengths[q]
        rise, drop = np.zeros(length), np.zeros(size)  # prices of positions and items
        holder = np.full(size, -1, dtype=np.int64)  # the position that holds each item
        for k in range(length):
            least = np.full(size, np.inf)
            came = np.full(size, -1, dtype=np.int64)  # the item before it on the path
            done = np.zeros(size, dtype=np.bool_)
            position, item, shortest = k, -1, 0.0
            while True:
                next_item, next_cost = -1, np.inf
                for a in range(size):
                    if done[a]:
                        continue
                    v = values[position, first + a]
                    if v > -np.inf:
                        cost = shortest - v - rise[position] - drop[a]
                        if cost < least[a]:
                            least[a] = cost
                            came[a] = item
                    if least[a] < next_cost:
                        next_item, next_cost = a, least[a]
                if next_item < 0:
                    break
                item, shortest = next_item, next_cost
                done[item] = True
                if holder[item] < 0:
                    break
                position = holder[item]
            if item < 0 or holder[item] >= 0:
                break
            rise[k] += shortest
            for a in range(size):
                if done[a] and a != item:
                    rise[holder[a]] += shortest - least[a]
                    drop[a] -= shortest - least[a]
            while item >= 0:
                before = came[item]
                holder[item] = k if before < 0 else holder[before]
                item = before
        for a in range(size):
            if holder[a] >= 0:
                out[q, holder[a]] = first + a
