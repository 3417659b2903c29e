"""Pages sorted by score, from the pages before: the compiled part of bandits."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterrank.compiled import njit


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
