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


@njit()
def table(rows, first, size, examination, params):  # type: ignore[no-untyped-def]
    """(size, F + 1): the standardised features of a query's items; last x^b, or 0 where it does not count."""
    features = rows.features
    width = features.shape[1]
    mean = params[WEIGHTS + width + 1 : WEIGHTS + 2 * width + 1]
    scale = params[WEIGHTS + 2 * width + 1 :]
    z = np.zeros((size, width + 1))
    for i in range(size):
        for j in range(width):
            value = (features[first + i, j] - mean[j]) * scale[j]
            z[i, j] = 0.0 if np.isnan(value) else value
        if params[2] != 0:
            z[i, width] = behaviour(rows, first + i, examination, params[1])
    return z


@njit()
def by_weights(z, weights):  # type: ignore[no-untyped-def]
    """The linear score of each row."""
    out = np.empty(len(z))
    for i in range(len(z)):
        total = 0.0
        for j in range(z.shape[1]):
            total += z[i, j] * weights[j]
        out[i] = total
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
