"""The pseudoinverse of a symmetric positive semidefinite matrix, and what it takes to trust it.

Γ is singular by nature: the indicators of each slot sum to one. Two ways to Γ†, with the same answer:

- Sweeping (Gauss–Jordan without pivoting), where the pivots tell clearly which coordinates depend on earlier ones: each
  is above `CLEAR` times its diagonal entry, or below `ZERO` times. Sweeping R gives Γ_RR⁻¹ and a basis of the null
  space, e_s − Γ_RR⁻¹Γ_Rs; with N orthonormal on it and Π = I − NNᵀ, Γ† = Π·Γ_RR⁻¹·Π. Compiled, d³/2 multiplications.
- The eigendecomposition otherwise. Eigenvalues up to d·`TOLERANCE`·λ_max count as 0: entries are sums of shares with an
  error of a few ε = 2.2e-16, which moves eigenvalues by d·ε·λ_max at most, and 1e-14 leaves 45 times that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit

TOLERANCE = 1e-14
ZERO = 1e-12
CLEAR = 1e-6
ILL = 1e8  # condition numbers from which rounding and rare rankings rule the answer


def pseudoinverse(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Γ† and Γ's condition number: largest by smallest eigenvalue above the tolerance, 0 where pivots are clear.

    >>> pseudoinverse(np.array([[0.5, 0.5], [0.5, 0.5]]))[0].round(12).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    out = np.array(matrix, dtype=np.float64, order="C")
    if swept(out):
        return out, 0.0
    values, vectors = np.linalg.eigh(matrix)
    kept = values > len(values) * TOLERANCE * max(values[-1], 0.0)
    if not kept.any():
        return np.zeros_like(out), 0.0
    basis = vectors[:, kept]
    return (basis / values[kept]) @ basis.T, float(values[-1] / values[kept][0])


@njit(nogil=True)
def swept(matrix: Any) -> bool:  # pragma: no cover
    """Puts Γ† in the place of Γ; False, and garbage, where pivots leave a doubt."""
    size = len(matrix)
    scale = np.empty(size)
    for k in range(size):
        scale[k] = matrix[k, k]
    used = np.zeros(size, dtype=np.bool_)
    column = np.empty(size)
    rank = 0
    for k in range(size):
        pivot = matrix[k, k]
        if abs(pivot) <= ZERO * scale[k]:
            continue
        if not pivot >= CLEAR * scale[k]:
            return False
        used[k] = True
        rank += 1
        for j in range(k):
            column[j] = matrix[k, j]
        for i in range(k, size):
            column[i] = matrix[i, k]
        for i in range(size):  # the lower triangle only
            factor = column[i] / pivot
            if factor != 0.0:
                for j in range(i + 1):
                    matrix[i, j] -= factor * column[j]
        for j in range(k):
            matrix[k, j] = column[j] / pivot
        for i in range(k + 1, size):
            matrix[i, k] = column[i] / pivot
        matrix[k, k] = -1.0 / pivot
    null = np.zeros((size - rank, size))
    row = 0
    for s in range(size):
        if not used[s]:
            for r in range(size):
                if used[r]:
                    null[row, r] = -matrix[max(r, s), min(r, s)]
            null[row, s] = 1.0
            row += 1
    for i in range(size):
        for j in range(i + 1):
            matrix[i, j] = -matrix[i, j] if used[i] and used[j] else 0.0
            matrix[j, i] = matrix[i, j]
    if rank < size:
        _project(matrix, null)
    return True


@njit(nogil=True)
def orthonormal(rows: Any) -> None:  # pragma: no cover
    """Makes rows that do not depend on each other orthonormal, spanning the same."""
    count, size = rows.shape
    for i in range(count):
        for _ in range(2):  # the second time takes out what rounding left
            for h in range(i):
                dot = 0.0
                for c in range(size):
                    dot += rows[i, c] * rows[h, c]
                for c in range(size):
                    rows[i, c] -= dot * rows[h, c]
        norm = 0.0
        for c in range(size):
            norm += rows[i, c] ** 2
        for c in range(size):
            rows[i, c] /= np.sqrt(norm)


@njit(nogil=True)
def _project(matrix: Any, null: Any) -> None:  # pragma: no cover
    """ΠGΠ in the place of G, Π taking out the span of the rows of `null`, which become orthonormal."""
    count, size = null.shape
    orthonormal(null)
    through = np.zeros((count, size))  # N G, less half of what N G N would take out twice
    for n in range(count):
        for i in range(size):
            if null[n, i] != 0.0:
                for c in range(size):
                    through[n, c] += null[n, i] * matrix[i, c]
    for n in range(count):
        for h in range(count):
            dot = 0.0
            for c in range(size):
                dot += through[n, c] * null[h, c]
            for c in range(size):
                through[n, c] -= 0.5 * dot * null[h, c]
    for i in range(size):
        for n in range(count):
            a, b = null[n, i], through[n, i]
            for c in range(size):
                matrix[i, c] -= a * through[n, c] + b * null[n, c]
