"""LightGBM: boosted regression trees, as many as cross-validation likes best."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from counterrank.records import dataclass
from counterrank.regress import _lightgbm
from counterrank.regress.base import Matrix, Vector, splits
from counterrank.regress.rows import RowTraining

MOST = 300
STEP = 10  # the number of trees is chosen from multiples of this
SHAPE: dict[str, Any] = {"learning_rate": 0.05, "num_leaves": 15, "min_data_in_leaf": 20, "lambda_l2": 1.0}


@dataclass(frozen=True)
class BoostedFit:
    """A sum of trees."""

    booster: Any
    chosen: str
    r2: float | None = None
    notes: list[str] = field(default_factory=list)

    def predict(self, x: Matrix) -> Vector:
        return np.asarray(self.booster.predict(np.asarray(x, dtype=np.float32)))


class LightGBM(RowTraining):
    """Trees of 15 leaves at a learning rate of 0.05; up to 300 of them, chosen by cross-validation."""

    name: ClassVar[str] = "lightgbm"
    linear: ClassVar[bool] = False

    def fit(self, without: int | None = None) -> BoostedFit:
        x, y, weight, fold, notes = self.gathered(without)
        whole = _lightgbm.dataset(x, y, weight)
        counts = np.arange(STEP, MOST + 1, STEP)
        loss, plain = np.zeros(len(counts)), 0.0
        parts = splits(np.unique(fold).tolist())
        for tested, _ in parts:
            out = fold == tested
            booster = _lightgbm.train(whole.subset(np.flatnonzero(~out)).construct(), MOST, SHAPE)
            held, left = x[out], y[out].astype(np.float64)
            for i, count in enumerate(counts):
                left = left - booster.predict(held, start_iteration=count - STEP, num_iteration=STEP)
                loss[i] += float(weight[out] @ left**2)
            plain += float(weight[out] @ (y[out] - np.average(y[~out], weights=weight[~out])) ** 2)
        best = int(counts[np.argmin(loss)]) if parts else 100
        if not parts:
            notes = [*notes, "the number of trees is not cross-validated: all queries are in one fold"]
        r2 = float(1 - loss.min() / plain) if plain > 0 else None
        return BoostedFit(_lightgbm.train(whole, best, SHAPE), f"{best} trees", r2, notes)
