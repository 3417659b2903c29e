"""Rankers that learn nothing: one feature, chance, and the truth."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.online.ranker import Ranker
from counterrank.statistics.hashing import uniform


@njit(nogil=True)
def by_belief(rows, first, size, examination, params, key, out):  # type: ignore[no-untyped-def]
    """What was said of the item."""
    for i in range(size):
        out[i] = rows.belief[first + i, 0]


@njit(nogil=True)
def any_order(rows, first, size, examination, params, key, out):  # type: ignore[no-untyped-def]
    """A uniform draw."""
    for i in range(size):
        out[i] = uniform(key, i)


class BM25(Ranker):
    """Sorts by the warm-up feature: what the paper collects its first clicks with."""

    name: ClassVar[str] = "bm25"
    says: ClassVar[str] = "the warm-up feature"
    score = by_belief

    def beliefs(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack([np.nan_to_num(features[:, self.options.feature]), np.zeros(len(features))])


class Random(Ranker):
    """Any order: the floor."""

    name: ClassVar[str] = "random"
    says: ClassVar[str] = "any order"
    exploration: ClassVar[float] = 1.0
    grid: ClassVar[tuple[float, ...]] = (1.0,)
    score = any_order


class Truth(Ranker):
    """Sorts by the true relevance, which a simulation tells: the ceiling."""

    name: ClassVar[str] = "truth"
    says: ClassVar[str] = "the true relevance"
    told: ClassVar[bool] = True
    score = by_belief
