"""A Beta prior whose log α is a sum of trees: LightGBM with the slope of eq. 13 and the information of the mean."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from counterrank.posterior import terms
from counterrank.regress import _lightgbm
from counterrank.regress.base import Matrix, Vector
from counterrank.regress.prior import BETA, Seen

MOST = 300  # trees; a fit that would have more begins anew
ROUNDS = 60  # at most in one fit
PATIENCE = 5
LEAST, MOST_LOG = -23.0, 23.0  # of log α
NOTHING: Vector = np.zeros(0)
FLOOR = 1e-3  # of the information: an item that says nothing yet still counts as something
SHAPE: dict[str, Any] = {"learning_rate": 0.1, "num_leaves": 15, "min_data_in_leaf": 20, "lambda_l2": 1.0}


class BoostedPrior:
    """log α = b + Σ trees. Missing features go down a branch of their own.

    Another fit adds trees to those of the last. With `held` it stops once the loss there has not fallen for five trees,
    and keeps those up to the best. A β to be learnt is the most likely one for the model with all means as they are.
    """

    name: ClassVar[str] = "lightgbm"

    def __init__(self, beta: float | None = BETA) -> None:
        self.beta, self.learns = BETA if beta is None else beta, beta is None
        self.boosters: list[Any] = []  # one a fit
        self.bias = 0.0

    def fit(self, seen: Seen, held: Seen | None = None) -> None:
        seen = seen.shown()
        if not len(seen.x):
            return
        if not self.boosters or sum(each.num_trees() for each in self.boosters) >= MOST:
            mean = np.clip(seen.clicks.sum() / seen.looks.sum(), 0.01, 0.99)
            self.bias, self.boosters = float(np.log(self.beta * mean / (1 - mean))), []
        kept = held.shown() if held is not None else None
        self._grow(seen, kept if kept is not None and len(kept.x) else None)
        if self.learns:
            self._strengthen(seen)

    def _grow(self, seen: Seen, held: Seen | None) -> None:
        """More trees, up to the last that helped."""
        grown = _lightgbm.booster(_lightgbm.dataset(seen.x, seen.clicks, np.ones(len(seen.x))), SHAPE)
        raw, kept = self._raw(seen.x), 0
        left = self._raw(held.x) if held is not None else NOTHING
        best = self._loss(left, held) if held is not None else np.inf
        for trees in range(1, ROUNDS + 1):
            found = terms(seen.clicks, seen.looks, _power(raw), self.beta)
            bend = np.maximum(found.information, FLOOR)
            if grown.update(fobj=lambda *_, slope=found.by_alpha, bend=bend: (slope, bend)):
                break  # no tree can be grown
            last = {"start_iteration": trees - 1, "num_iteration": 1, "raw_score": True, "num_threads": 1}
            raw = raw + grown.predict(seen.x, **last)
            if held is None:
                kept = trees
                continue
            left = left + grown.predict(held.x, **last)
            now = self._loss(left, held)
            if now < best:
                best, kept = now, trees
            elif trees - kept >= PATIENCE:
                break
        while grown.num_trees() > kept:
            grown.rollback_one_iter()
        if kept:
            self.boosters.append(grown)

    def _strengthen(self, seen: Seen) -> None:
        from scipy.optimize import minimize_scalar

        mean = self._raw(seen.x) - np.log(self.beta)

        def loss(log_beta: float) -> float:
            return float(terms(seen.clicks, seen.looks, _power(mean + log_beta), np.exp(log_beta)).loss.sum())

        found = minimize_scalar(loss, bounds=(np.log(0.05), np.log(500.0)), method="bounded")
        self.bias += float(found.x - np.log(self.beta))
        self.beta = float(np.exp(found.x))

    def _loss(self, raw: Vector, seen: Seen) -> float:
        return float(terms(seen.clicks, seen.looks, _power(raw), self.beta).loss.sum())

    def _raw(self, x: Matrix) -> Vector:
        out = np.full(len(x), self.bias)
        for each in self.boosters:
            out += each.predict(x, raw_score=True, num_threads=1)
        return out

    def alpha(self, x: Matrix) -> Vector:
        return _power(self._raw(x)) if len(x) else np.zeros(0)

    def to_dict(self) -> dict[str, Any]:
        trees = [each.model_to_string() for each in self.boosters]
        return {"model": self.name, "beta": self.beta, "learns": self.learns, "bias": self.bias, "trees": trees}

    @classmethod
    def of_dict(cls, kept: dict[str, Any]) -> BoostedPrior:
        made = cls(None if kept["learns"] else float(kept["beta"]))
        made.beta, made.bias = float(kept["beta"]), float(kept["bias"])
        made.boosters = [_lightgbm.of_text(text) for text in kept["trees"]]
        return made


def _power(raw: Vector) -> Vector:
    return np.asarray(np.exp(np.clip(raw, LEAST, MOST_LOG)))
