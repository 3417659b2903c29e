"""A Beta prior whose log α is linear in the features, by Fisher scoring."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from counterrank.posterior import Terms, terms
from counterrank.regress.base import Matrix, Vector
from counterrank.regress.prior import BETA, Scale, Seen

PENALTY = 1.0  # on squared weights of standardised features, beside the sum of losses
STEPS = 25
ENOUGH = 1e-5  # of the loss: a step that gains less is the last
LEAST, MOST = -23.0, 23.0  # of log α
BETAS = (0.05, 500.0)  # where β is looked for


class LinearPrior:
    """log α = b + w·z, with z the standardised features: logit of the prior mean is linear, given β.

    Minimises Σ l (eq. 13) + |w|²/2 over items that were shown. Each step is Fisher scoring with the information of the
    mean, halved until the loss falls. With `held`, stops when the loss there no longer falls, and keeps the best.
    Another fit begins with the weights of the last. ebrank2023 has a linear α, which may be negative; here it cannot.
    """

    name: ClassVar[str] = "linear"

    def __init__(self, beta: float | None = BETA) -> None:
        self.beta, self.learns = BETA if beta is None else beta, beta is None
        self.scale: Scale | None = None
        self.weights: Vector = np.zeros(0)
        self.steps = 0  # of the last fit

    def fit(self, seen: Seen, held: Seen | None = None) -> None:
        seen = seen.shown()
        if not len(seen.x):
            return
        if self.scale is None:
            self.scale = Scale.of(seen.x)
            mean = np.clip(seen.clicks.sum() / seen.looks.sum(), 0.01, 0.99)
            self.weights = np.zeros(seen.x.shape[1] + 1)
            self.weights[0] = np.log(self.beta * mean / (1 - mean))
        z = self.scale(seen.x)
        kept = held.shown() if held is not None else None
        stop = (self.scale(kept.x), kept) if kept is not None and len(kept.x) else None
        for _ in range(3 if self.learns else 1):
            self._climb(z, seen, stop)
            if self.learns:
                self._strengthen(z, seen)

    def _climb(self, z: Matrix, seen: Seen, stop: tuple[Matrix, Seen] | None) -> None:
        best = self.weights
        left = self._loss(best, *stop) if stop else np.inf
        found = self._terms(best, z, seen)
        for self.steps in range(1, STEPS + 1):
            moved, found = self._step(z, seen, found)
            if stop is None:
                best = self.weights
            else:
                now = self._loss(self.weights, *stop)
                if now >= left:
                    break
                left, best = now, self.weights
            if not moved:
                break
        self.weights = best

    def _step(self, z: Matrix, seen: Seen, found: Terms) -> tuple[bool, Terms]:
        """One step down from where `found` are the terms; whether it gained enough to go on, and the terms there."""
        pull = np.full(len(self.weights), PENALTY)
        pull[0] = 1e-8
        slope = z.T @ found.by_alpha + pull * self.weights
        bend = (z * found.information[:, None]).T @ z + np.diag(pull)
        way = _solved(bend, slope)
        now = float(found.loss.sum() + 0.5 * pull @ self.weights**2)
        for half in range(12):
            moved = self.weights - way / 2**half
            there = self._terms(moved, z, seen)
            then = float(there.loss.sum()) + float(0.5 * pull @ moved**2)
            if then < now:
                self.weights = moved
                return bool(now - then > ENOUGH * abs(now)), there
        return False, found

    def _strengthen(self, z: Matrix, seen: Seen) -> None:
        """The most likely β, with all means left as they are."""
        from scipy.optimize import minimize_scalar

        mean = z @ self.weights - np.log(self.beta)

        def loss(log_beta: float) -> float:
            alpha = np.exp(np.clip(mean + log_beta, LEAST, MOST))
            return float(terms(seen.clicks, seen.looks, alpha, np.exp(log_beta)).loss.sum())

        found = minimize_scalar(loss, bounds=tuple(np.log(BETAS)), method="bounded", options={"xatol": 1e-4})
        self.weights[0] += found.x - np.log(self.beta)
        self.beta = float(np.exp(found.x))

    def _loss(self, weights: Vector, z: Matrix, seen: Seen) -> float:
        return float(self._terms(weights, z, seen).loss.sum())

    def _terms(self, weights: Vector, z: Matrix, seen: Seen) -> Terms:
        return terms(seen.clicks, seen.looks, self._alpha(z, weights), self.beta)

    def _alpha(self, z: Matrix, weights: Vector) -> Vector:
        return np.asarray(np.exp(np.clip(z @ weights, LEAST, MOST)))

    def alpha(self, x: Matrix) -> Vector:
        if self.scale is None:
            return np.ones(len(x))
        return self._alpha(self.scale(x), self.weights)

    def to_dict(self) -> dict[str, Any]:
        scale = self.scale or Scale(np.zeros(0), np.zeros(0))
        lists = {"mean": scale.mean, "scale": scale.scale, "weights": self.weights}
        return {"model": self.name, "beta": self.beta, "learns": self.learns} | {
            k: v.tolist() for k, v in lists.items()
        }

    @classmethod
    def of_dict(cls, kept: dict[str, Any]) -> LinearPrior:
        made = cls(None if kept["learns"] else float(kept["beta"]))
        made.beta = float(kept["beta"])
        made.weights = np.array(kept["weights"], dtype=np.float64)
        if len(made.weights):
            made.scale = Scale(*(np.array(kept[name], dtype=np.float64) for name in ("mean", "scale")))
        return made


def _solved(bend: Matrix, slope: Vector) -> Vector:
    from scipy.linalg import cho_factor, cho_solve  # slow to import

    return np.asarray(cho_solve(cho_factor(bend), slope))
