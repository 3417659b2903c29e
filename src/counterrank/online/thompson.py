"""Thompson sampling on EBRank's posterior: each item by a draw of its attraction."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterrank.compiled import njit
from counterrank.online._draws import beta as drawn_from
from counterrank.online.ebrank import EBRank, posterior
from counterrank.online.memory import sums
from counterrank.statistics.hashing import mix


@njit(nogil=True)
def score(rows, first, size, examination, params, key, out):  # type: ignore[no-untyped-def]
    """R̂ + ε·(a draw from Beta(C + α, n − C + β) − R̂); C is cut to n, where the Beta would not exist."""
    for i in range(size):
        row = first + i
        estimate, _ = posterior(rows, row, examination, params[1])
        out[i] = estimate
        if params[0] != 0:
            n, clicks, weighted, exposure = sums(rows, row, examination)
            hits, looks = (clicks, exposure) if params[1] > 0 else (weighted, n)
            hits = min(hits, looks)
            draw = drawn_from(
                mix(key ^ mix(np.uint64(i))), hits + rows.belief[row, 0], looks - hits + rows.belief[row, 1]
            )
            out[i] += params[0] * (draw - estimate)


class Thompson(EBRank):
    """Sorts by a draw from each item's posterior: explores in proportion to the chance that an item is best.

    ε = 1 is Thompson sampling, less draws towards the mean.
    """

    name: ClassVar[str] = "thompson"
    says: ClassVar[str] = "a draw from EBRank's posterior"
    exploration: ClassVar[float] = 1.0
    grid: ClassVar[tuple[float, ...]] = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)
    score = score
