"""PRIOR: clicks as a feature, and a model's guess of it where there are none."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.online.counterfactual import LEAST, CFTopK, behaviour
from counterrank.online.least_squares import LeastSquares
from counterrank.online.memory import TRAINING, Memory, totals
from counterrank.online.ranker import BEHAVIOUR, Options


@njit(nogil=True)
def score(rows, first, size, examination, params, key, out):  # type: ignore[no-untyped-def]
    """v(x) + w_b·x^b, where x^b of an item never shown is guessed."""
    for i in range(size):
        row = first + i
        shown = False
        for k in range(rows.shown.shape[1]):
            shown = shown or rows.shown[row, k] > 0
        felt = behaviour(rows, row, examination, params[1]) if shown else rows.belief[row, 1]
        out[i] = rows.belief[row, 0] + params[2] * felt


class Prior(CFTopK):
    """CFTopK with x^b = C/n as a feature; a second model guesses x^b from the other features where n = 0."""

    name: ClassVar[str] = "prior"
    says: ClassVar[str] = "clicks as a feature, guessed where there are none"
    behaviours: ClassVar[tuple[str, ...]] = ("concat",)
    score = score

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.guess = LeastSquares(least=LEAST)

    def fit(self, memory: Memory) -> None:
        impressions = totals(memory.rows, memory.rows_in(TRAINING), self.options.examination)[:, 0]
        seen = self.training(memory)
        self.model.fit(seen, impressions)
        self.guess.fit(seen, impressions)
        self.params[BEHAVIOUR] = self.model.of_behaviour

    def beliefs(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack([self.model.predict(features), self.guess.predict(features)])
