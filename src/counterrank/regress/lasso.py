"""Lasso: least squares with a penalty on the sizes of the coefficients, so that many are 0."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np

from counterrank.regress.base import Matrix, Vector
from counterrank.regress.moments import LinearTraining, Standardised

PENALTIES = 40
SMALLEST = 1e-4  # of the penalty that makes all coefficients 0
ABOVE = 1e-9
TINY = 1e-10  # eigenvalues below this share of the largest are 0


class Lasso(LinearTraining):
    """Minimises ½·mean (y − ŷ)² + penalty·Σ|β| on columns scaled to variance 1; the intercept is free."""

    name: ClassVar[str] = "lasso"

    def penalties(self, data: Standardised) -> Vector:
        # a touch above the one where the first coefficient leaves 0, so that rounding has no say in whether it does
        largest = max(float(np.abs(data.with_y).max(initial=0.0)) * (1 + ABOVE), np.finfo(float).tiny)
        return np.geomspace(largest, largest * SMALLEST, PENALTIES)

    def betas(self, data: Standardised, penalties: Vector) -> Matrix:
        """As many made-up rows as columns have these covariances, and scikit-learn does the rest."""
        from sklearn.exceptions import ConvergenceWarning  # slow to import
        from sklearn.linear_model import lasso_path

        values, vectors = np.linalg.eigh(data.covariance)
        kept = values > TINY * max(float(values[-1]), np.finfo(float).tiny)
        if not kept.any():
            return np.zeros((len(values), len(penalties)))
        root = np.sqrt(values[kept])
        rows = root[:, None] * vectors[:, kept].T
        y = (vectors[:, kept].T @ data.with_y) / root
        size = len(rows)
        with warnings.catch_warnings():  # a fit that stops early is judged by cross-validation like any other
            warnings.simplefilter("ignore", ConvergenceWarning)
            _, found, _ = lasso_path(
                rows, y, alphas=penalties / size, precompute=np.ascontiguousarray(rows.T @ rows), Xy=rows.T @ y,
                max_iter=5000, tol=1e-6, check_input=True,
            )  # fmt: skip
        return np.asarray(found)

    def inverse(self, data: Standardised, penalty: float, beta: Vector) -> Matrix:
        """Of the columns that are used, as if they had been chosen beforehand."""
        out, used = np.zeros(data.covariance.shape), np.flatnonzero(beta)
        out[np.ix_(used, used)] = np.linalg.pinv(data.covariance[np.ix_(used, used)], hermitian=True)
        return out
