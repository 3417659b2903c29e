"""The feature model of counterfactual rankers: squared error to each item's mean debiased click, linear, exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterrank.regress import Scale, Seen

Vector = NDArray[np.float64]
NEAR = 1e-9  # weights below this are rounding: items that they would tell apart are equal
PENALTY = 1.0
ROWS = 2  # rows a feature: with fewer, items shown less often are learnt from too


class LeastSquares:
    """y ≈ b + w·z (+ w_b·x^b), z standardised; y is C/n of items shown more than `least` times.

    Solved exactly by normal equations with |w|² as penalty. With the behaviour feature x^b = C/n, which is the label
    itself, there is no penalty: w_b is 1, all else 0, and items without clicks are equal. A descent that stops early
    would keep a trace of the other features, which breaks these ties well; that is an accident of the optimiser.
    """

    def __init__(self, behaviour: bool = False, least: float = 0.0) -> None:
        self.behaviour, self.least = behaviour, least
        self.scale: Scale | None = None
        self.weights: Vector = np.zeros(0)
        self.of_behaviour = 0.0

    def fit(self, seen: Seen, impressions: Vector) -> None:
        good = (impressions > self.least) & (seen.looks > 0)
        if good.sum() < ROWS * seen.x.shape[1]:
            good = seen.looks > 0
        if good.sum() < 2:
            return
        y, x = seen.clicks[good] / seen.looks[good], seen.x[good]
        if self.scale is None:
            self.scale = Scale.of(x)
        z = self.scale(x)
        if self.behaviour:
            self.weights, self.of_behaviour = self._with_label(z, y)
            return
        pull = np.full(z.shape[1], PENALTY)
        pull[0] = 0.0
        self.weights = np.asarray(np.linalg.solve(z.T @ z + np.diag(pull + 1e-9), z.T @ y), dtype=np.float64)

    def _with_label(self, z: NDArray[np.float64], y: Vector) -> tuple[Vector, float]:
        both = np.column_stack([z, y])
        found = np.asarray(np.linalg.lstsq(both, y, rcond=None)[0], dtype=np.float64)
        found[np.abs(found) < NEAR] = 0.0
        return found[:-1], float(found[-1])

    def predict(self, x: NDArray[np.float64]) -> Vector:
        """Without the behaviour feature's part."""
        if self.scale is None:
            return np.zeros(len(x))
        return np.asarray(self.scale(x) @ self.weights)
