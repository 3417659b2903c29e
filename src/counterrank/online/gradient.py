"""What rankers by online gradients share: a linear score whose weights move with every page."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.online.counterfactual import behaviour
from counterrank.online.memory import Memory
from counterrank.online.ranker import OWN, Options, Ranker
from counterrank.regress import Scale

STEP, RIVALS, WEIGHTS = OWN, OWN + 1, OWN + 2  # places in `params`: then F + 1 weights, F means, F scales


@njit(inline="always")
def standard(rows, row, examination, params, j):  # type: ignore[no-untyped-def]
    """Feature j, standardised; the last is x^b, which counts only where behaviour does."""
    width = rows.features.shape[1]
    if j == width:
        return behaviour(rows, row, examination, params[1]) if params[2] != 0 else 0.0
    value = (rows.features[row, j] - params[WEIGHTS + width + 1 + j]) * params[WEIGHTS + 2 * width + 1 + j]
    return 0.0 if np.isnan(value) else value


@njit()
def table(rows, first, size, examination, params):  # type: ignore[no-untyped-def]
    """(size, F + 1): the standardised features of a query's items."""
    width = rows.features.shape[1] + 1
    z = np.empty((size, width))
    for i in range(size):
        for j in range(width):
            z[i, j] = standard(rows, first + i, examination, params, j)
    return z


@njit()
def by_weights(z, weights):  # type: ignore[no-untyped-def]
    """The linear score of each row."""
    out = np.zeros(len(z))
    for i in range(len(z)):
        for j in range(z.shape[1]):
            out[i] += z[i, j] * weights[j]
    return out


class Gradient(Ranker):
    """A linear ranker whose weights start at 0 and move by `step` after pages of training queries."""

    behaviours: ClassVar[tuple[str, ...]] = ("none", "concat")
    step: ClassVar[float]
    rivals: ClassVar[int] = 0

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.params[2] = float(options.behaviour == "concat")

    def fit(self, memory: Memory) -> None:
        """Only the scale of the features is learnt here, once."""
        if len(self.params) > OWN:
            return
        width = len(memory.names)
        scale = Scale.of(self.training(memory).x)
        own = [self.step, self.rivals]
        self.params = np.concatenate([self.params, own, np.zeros(width + 1), scale.mean, 1 / scale.scale])

    def beliefs(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.zeros((len(features), 2))
