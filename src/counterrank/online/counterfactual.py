"""CFTopK, CFRandomK and CFEpsilon: a feature model fitted to debiased clicks, and three ways to explore by it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.online.least_squares import LeastSquares
from counterrank.online.memory import TRAINING, Memory, sums, totals
from counterrank.online.ranker import BEHAVIOUR, Options, Ranker
from counterrank.statistics.hashing import uniform

LEAST = 20  # items are learnt from once they were shown more often


@njit(inline="always")
def behaviour(rows, row, examination, by_exposure):  # type: ignore[no-untyped-def]
    """x^b = C/n (or clicks/E), 0 where never shown."""
    n, clicks, weighted, exposure = sums(rows, row, examination)
    if n == 0:
        return 0.0
    return clicks / exposure if by_exposure > 0 else weighted / n


@njit(nogil=True)
def by_model(rows, first, size, examination, params, key, out):  # type: ignore[no-untyped-def]
    """The model's value, with its weight of the behaviour feature."""
    for i in range(size):
        out[i] = rows.belief[first + i, 0]
        if params[2] != 0:
            out[i] += params[2] * behaviour(rows, first + i, examination, params[1])


@njit(nogil=True)
def with_noise(rows, first, size, examination, params, key, out):  # type: ignore[no-untyped-def]
    """The same plus ε·U[0, 1)."""
    by_model(rows, first, size, examination, params, key, out)
    if params[0] != 0:
        for i in range(size):
            out[i] += params[0] * uniform(key, i)


@njit(nogil=True)
def by_chance(rows, first, size, examination, params, key, out):  # type: ignore[no-untyped-def]
    """In random order, or by the model where nothing is explored."""
    by_model(rows, first, size, examination, params, key, out)
    if params[0] != 0:
        for i in range(size):
            out[i] = uniform(key, i)


class CFTopK(Ranker):
    """Sorts by a linear model fitted to C/n of shown items (squared error, exact). Explores nothing."""

    name: ClassVar[str] = "cftopk"
    says: ClassVar[str] = "feature model, best first"
    behaviours: ClassVar[tuple[str, ...]] = ("none", "concat")
    score = by_model

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.model = LeastSquares(options.behaviour == "concat", least=LEAST)

    def fit(self, memory: Memory) -> None:
        at = memory.rows_in(TRAINING)
        self.model.fit(self.training(memory), totals(memory.rows, at, self.options.examination)[:, 0])
        self.params[BEHAVIOUR] = self.model.of_behaviour

    def beliefs(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack([self.model.predict(features), np.zeros(len(features))])


class CFRandomK(CFTopK):
    """CFTopK's model, but items are shown in random order."""

    name: ClassVar[str] = "cfrandomk"
    says: ClassVar[str] = "feature model, shown in random order"
    exploration: ClassVar[float] = 1.0
    grid: ClassVar[tuple[float, ...]] = (1.0,)
    score = by_chance


class CFEpsilon(CFTopK):
    """CFTopK's model plus ε·U[0, 1) for each item and page; ε = 1 in the paper."""

    name: ClassVar[str] = "cfepsilon"
    says: ClassVar[str] = "feature model plus noise"
    exploration: ClassVar[float] = 1.0
    grid: ClassVar[tuple[float, ...]] = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    score = with_noise
