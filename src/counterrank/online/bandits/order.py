"""The compiled part of bandits: pages sorted by score, from the pages before, and what users do on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterrank.compiled import njit
from counterrank.statistics.hashing import mix

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit(nogil=True)
def sort_pages(starts: Any, asked: Any, scores: Any, keys: Any, positions: Any) -> None:  # pragma: no cover
    """Sorts the items of each asked query by falling score, then by rising key, into `positions`, from 0.

    One click moves few items, so that items are inserted one by one into the order of the page before.
    """
    longest = 0
    for q in asked:
        longest = max(longest, starts[q + 1] - starts[q])
    order = np.empty(longest, dtype=np.int64)
    for q in asked:
        first, size = starts[q], starts[q + 1] - starts[q]
        for i in range(size):
            order[positions[first + i]] = first + i
        for place in range(1, size):
            item = order[place]
            score, key = scores[item], keys[item]
            at = place
            while at > 0:
                above = order[at - 1]
                if scores[above] > score or (scores[above] == score and keys[above] < key):
                    break
                order[at] = above
                at -= 1
            order[at] = item
        for place in range(size):
            positions[order[place]] = place


@njit(nogil=True, inline="always")
def drawn(key: Any, number: Any) -> Any:  # pragma: no cover
    """The `number`-th draw from [0, 1) of a key: splitmix64's."""
    return (mix(key + np.uint64(number) * GOLDEN) >> np.uint64(11)) * 2.0**-53


@njit(nogil=True)
def next_of(chances: Any, after: int, last: int, chance: float) -> int:  # pragma: no cover
    """The next position after this one at which something happens that has these chances; `last` if nowhere.

    One draw, `chance`, tells for all positions: they are passed over with the product of what is left.
    """
    left = 1.0
    for position in range(after + 1, last):
        left *= 1.0 - chances[position]
        if left <= chance:
            return position
    return last
