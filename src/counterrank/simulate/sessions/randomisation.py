"""Fisher's randomisation test: would rankers differ as much if, for each query, a coin had said which is which?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

DRAWS = 10_000
CHUNK = 500


def randomisation(differences: NDArray[np.float64], seed: int = 0, draws: int = DRAWS) -> NDArray[np.float64]:
    """(D,) two-sided p-values for D sums of differences (Q, D): each query's sign is drawn anew, the same in all D.

    p = (1 + draws at least as far from 0 as what was seen) / (1 + draws). Reference: Smucker and others, CIKM 2007.

    >>> randomisation(np.ones((4, 1))).round(1).tolist()  # 2 of 16 signs are as extreme
    [0.1]
    """
    rng = np.random.default_rng(seed)
    seen = np.abs(differences.sum(axis=0))
    slack = 1e-12 * np.abs(differences).sum(axis=0)
    beyond = np.zeros(differences.shape[1])
    for start in range(0, draws, CHUNK):
        signs = rng.integers(0, 2, (min(CHUNK, draws - start), len(differences))) * 2.0 - 1.0
        beyond += (np.abs(signs @ differences) >= seen - slack).sum(axis=0)
    return np.asarray((1 + beyond) / (1 + draws))


def by_query(shares: Sequence[Sequence[float]], queries: Sequence[Sequence[int]]) -> dict[int, float]:
    """What each query adds, averaged over the trials."""
    out: dict[int, float] = {}
    for values, which in zip(shares, queries, strict=True):
        for query, value in zip(which, values, strict=True):
            out[query] = out.get(query, 0.0) + value / len(shares)
    return out
