"""Linear regressions from additive moments: memory does not grow with the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field
from typing import ClassVar

import numpy as np

from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.regress.base import FOLDS, Matrix, Vector, splits

SAME = 1e-9  # losses that differ by less are alike
FLAT = 1e-12  # a column whose variance is below this share of its mean square does not vary


@dataclass(frozen=True, kw_only=True)
class LinearFit:
    """intercept + x @ coefficients.

    A row (x, y) moves the prediction at z by 1/weight of y − ŷ + (z − mean) @ inverse @ ((x − mean)·(y − ŷ) − pull).
    """

    intercept: float
    coefficients: Vector
    chosen: str
    weight: float
    mean: Vector
    inverse: Matrix
    pull: Vector  # the mean of (x − mean)·(y − ŷ), which the penalty holds back
    r2: float | None = None
    notes: list[str] = field(default_factory=list)

    def predict(self, x: Matrix) -> Vector:
        return np.asarray(x @ self.coefficients + self.intercept)


@dataclass(frozen=True)
class Standardised:
    """Covariances of columns with mean 0 and variance 1 (0 where a column does not vary), and with y."""

    weight: float
    mean: Vector
    scale: Vector
    mean_y: float
    covariance: Matrix
    with_y: Vector

    def unscaled(self, beta: Matrix) -> tuple[Vector, Matrix]:
        """Intercepts and coefficients (a column per fit) for columns as they came."""
        coefficients = beta / self.scale[:, None]
        return self.mean_y - self.mean @ coefficients, coefficients


class LinearTraining(ABC):
    """Σ w·zzᵀ of z = (1, x, y) per fold, counted from the first rows' mean. Members say how penalties become fits."""

    name: ClassVar[str]
    linear: ClassVar[bool] = True

    def __init__(self, width: int, folds: int = FOLDS) -> None:
        self.sums = np.zeros((folds, width + 2, width + 2))
        self.origin: Vector | None = None

    @abstractmethod
    def penalties(self, data: Standardised) -> Vector:
        """What to choose from."""

    @abstractmethod
    def betas(self, data: Standardised, penalties: Vector) -> Matrix:
        """(width, penalties): the coefficients for each penalty."""

    @abstractmethod
    def inverse(self, data: Standardised, penalty: float, beta: Vector) -> Matrix:
        """(width, width): how the coefficients of this fit move with the covariances with y."""

    def add(self, x: Matrix, y: Vector, weight: Vector, fold: Codes) -> None:
        z = np.column_stack([np.ones(len(y)), x, y])
        if self.origin is None:
            self.origin = np.average(z, axis=0, weights=weight) if weight.sum() > 0 else z.mean(axis=0)
            self.origin[0] = 0.0
        z -= self.origin
        z *= np.sqrt(weight)[:, None]
        for number in np.unique(fold):
            rows = z if (fold == number).all() else z[fold == number]
            self.sums[number] += rows.T @ rows

    def fit(self, without: int | None = None) -> LinearFit:
        present = [f for f in np.flatnonzero(self.sums[:, 0, 0] > 0).tolist() if f != without]
        if not present:
            raise InputError("there are no rows to learn from: give features for the items that the log shows")
        data = _standardised(self.sums[present].sum(axis=0))
        penalties = self.penalties(data)
        loss, plain = np.zeros(len(penalties)), 0.0
        for tested, others in splits(present):
            part = _standardised(self.sums[others].sum(axis=0))
            loss += _loss(self.sums[tested], *part.unscaled(self.betas(part, penalties)))
            plain += float(_loss(self.sums[tested], np.array([part.mean_y]), np.zeros((len(part.mean), 1)))[0])
        notes = [] if len(present) > 1 else ["the penalty is not cross-validated: all queries are in one fold"]
        best = len(penalties) // 2
        if len(present) > 1:  # of penalties that do as well but for rounding, the largest
            best = int(np.argmax(np.where(loss <= loss.min() * (1 + SAME), penalties, 0.0)))
        betas = self.betas(data, penalties[best : best + 1])
        intercept, coefficients = data.unscaled(betas)
        inverse = self.inverse(data, float(penalties[best]), betas[:, 0]) / np.outer(data.scale, data.scale)
        assert self.origin is not None  # noqa: S101 - rows were added
        shift = self.origin[-1] - self.origin[1:-1] @ coefficients[:, 0]
        r2 = float(1 - loss[best] / plain) if plain > 0 else None
        mean = data.mean + self.origin[1:-1]
        pull = data.scale * (data.with_y - data.covariance @ betas[:, 0])
        chosen = f"penalty {penalties[best]:.3g}"
        return LinearFit(
            intercept=float(intercept[0] + shift),
            coefficients=coefficients[:, 0],
            chosen=chosen,
            weight=data.weight,
            mean=mean,
            inverse=inverse,
            pull=pull,
            r2=r2,
            notes=notes,
        )


def _standardised(sums: Matrix) -> Standardised:
    weight = float(sums[0, 0])
    mean = sums[0, 1:] / weight
    covariance = sums[1:, 1:] / weight - np.outer(mean, mean)
    variance = np.diag(covariance)[:-1]
    varies = variance > FLAT * np.maximum(np.diag(sums)[1:-1] / weight, np.finfo(float).tiny)
    scale = np.where(varies, np.sqrt(np.where(varies, variance, 1.0)), 1.0)
    x = np.where(np.outer(varies, varies), covariance[:-1, :-1], 0.0) / np.outer(scale, scale)
    with_y = np.where(varies, covariance[:-1, -1], 0.0) / scale
    return Standardised(weight, mean[:-1], scale, float(mean[-1]), x, with_y)


def _loss(sums: Matrix, intercept: Vector, coefficients: Matrix) -> Vector:
    """Σ w(y − ŷ)² of each fit, from a fold's moments."""
    beta = np.vstack([intercept, coefficients, np.full((1, coefficients.shape[1]), -1.0)])
    return np.asarray(np.maximum(np.einsum("ik,ik->k", beta, sums @ beta), 0.0))
