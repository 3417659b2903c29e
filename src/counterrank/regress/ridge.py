"""Ridge: least squares with a penalty on the squares of the coefficients."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterrank.regress.base import Matrix, Vector
from counterrank.regress.moments import LinearTraining, Standardised

PENALTIES = np.logspace(-6, 3, 28)


class Ridge(LinearTraining):
    """Minimises mean (y − ŷ)² + penalty·Σβ² on columns scaled to variance 1; the intercept is free."""

    name: ClassVar[str] = "ridge"

    def penalties(self, data: Standardised) -> Vector:
        return PENALTIES

    def betas(self, data: Standardised, penalties: Vector) -> Matrix:
        values, vectors = np.linalg.eigh(data.covariance)
        along = vectors.T @ data.with_y
        return np.asarray(vectors @ (along[:, None] / (np.maximum(values, 0.0)[:, None] + penalties)))

    def inverse(self, data: Standardised, penalty: float, beta: Vector) -> Matrix:
        values, vectors = np.linalg.eigh(data.covariance)
        return np.asarray((vectors / (np.maximum(values, 0.0) + penalty)) @ vectors.T)
