"""Rankings from scores of (item, position) pairs: the best pair first, then the best of what is left."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes


def greedy(scores: NDArray[np.float64], starts: Codes, lengths: Codes) -> Codes:
    """(Q, K) rows of the pairs, -1 beyond a ranking's end.

    Query q has the pairs starts[q]:starts[q+1]. Of its first lengths[q] positions, the pair of item and position with
    the highest score is taken, then the highest of those left, until all are filled (swaminathan2017, section 4.2).
    Equal scores: the first position, then the first row. A score of -inf is a place where the item may not stand.

    >>> greedy(np.array([[1.0, 9.0], [2.0, 8.0]]), np.array([0, 2]), np.array([2])).tolist()
    [[1, 0]]
    """
    out = np.full((len(lengths), scores.shape[1]), -1, dtype=np.int64)
    _greedy(np.ascontiguousarray(scores, dtype=np.float64), starts, lengths, out)
    return out


@njit(nogil=True)
def _greedy(scores: Any, starts: Any, lengths: Any, out: Any) -> None:  # pragma: no cover
    for q in range(len(lengths)):
        first, stop, length = starts[q], starts[q + 1], lengths[q]
        used = np.zeros(stop - first, dtype=np.bool_)
        top = np.full(length, -1, dtype=np.int64)  # each open position's best item; looked up again once it is used
        for _ in range(length):
            chosen = -1
            for k in range(length):
                if out[q, k] >= 0:
                    continue
                if top[k] < 0 or used[top[k] - first]:
                    top[k] = -1
                    for p in range(first, stop):
                        better = top[k] < 0 or scores[p, k] > scores[top[k], k]
                        if not used[p - first] and scores[p, k] > -np.inf and better:
                            top[k] = p
                if top[k] >= 0 and (chosen < 0 or scores[top[k], k] > scores[top[chosen], chosen]):
                    chosen = k
            if chosen < 0:
                break
            out[q, chosen] = top[chosen]
            used[top[chosen] - first] = True
