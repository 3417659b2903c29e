"""G†x of a symmetric positive semidefinite matrix G for a few x, by factoring it: a third of the work of inverting it.

G_RR = LDLᵀ on the coordinates R that do not depend on earlier ones, as `pinv` tells them by their pivots. A coordinate
s that does makes a vector e_s − L⁻ᵀl_s of G's null space, l_s being its row of L. With N orthonormal on these and
Π = I − NNᵀ, G†x = Π·G_RR⁻¹·Πx and GG†x = Πx.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterrank.compiled import njit
from counterrank.estimate.pseudoinverse.pinv import CLEAR, ZERO, orthonormal


@njit(nogil=True)
def factor(matrix: Any) -> Any:  # pragma: no cover
    """Puts L below the diagonal of G and D on it; the rank, -1 where pivots leave a doubt, who depends on others."""
    size, rank = len(matrix), 0
    free = np.zeros(size, dtype=np.bool_)
    scaled = np.empty(size)  # of a row, L times D
    for i in range(size):
        row = matrix[i]
        pivot = row[i]
        for j in range(i):
            scaled[j] = 0.0 if free[j] else row[j] - _dot(scaled, matrix[j], j)
            row[j] = 0.0 if free[j] else scaled[j] / matrix[j, j]
            pivot -= row[j] * scaled[j]
        if abs(pivot) <= ZERO * row[i]:
            free[i] = True
        elif not pivot >= CLEAR * row[i]:
            return -1, free
        else:
            rank += 1
        row[i] = pivot
    return rank, free


@njit(nogil=True, fastmath={"reassoc", "contract"})
def _dot(one: Any, other: Any, size: Any) -> float:  # pragma: no cover
    """In any order, so that the loop is made of wide instructions."""
    total = 0.0
    for i in range(size):
        total += one[i] * other[i]
    return total


@njit(nogil=True)
def dependent(matrix: Any, rank: Any, free: Any) -> Any:  # pragma: no cover
    """Orthonormal vectors that span G's null space, from its factors."""
    size = len(matrix)
    null = np.zeros((size - rank, size))
    row = 0
    for s in range(size):
        if free[s]:
            null[row, s] = 1.0
            for k in range(s):
                if not free[k]:
                    null[row, k] = -matrix[s, k]
            for i in range(s - 1, -1, -1):
                if not free[i]:
                    for k in range(i):
                        if not free[k]:
                            null[row, k] -= matrix[i, k] * null[row, i]
            row += 1
    orthonormal(null)
    return null


@njit(nogil=True)
def solved(matrix: Any, free: Any, null: Any, given: Any, out: Any, explained: Any) -> None:  # pragma: no cover
    """G†x into `out`, and GG†x into `explained`."""
    size = len(matrix)
    for i in range(size):
        explained[i] = given[i]
    _without(null, explained)
    for i in range(size):
        out[i] = 0.0 if free[i] else explained[i]
        if not free[i]:
            for k in range(i):  # of coordinates that depend on others, `out` is 0
                out[i] -= matrix[i, k] * out[k]
    for i in range(size):
        if not free[i]:
            out[i] /= matrix[i, i]
    for i in range(size - 1, -1, -1):
        if not free[i]:
            for k in range(i):
                out[k] -= matrix[i, k] * out[i]
        else:
            out[i] = 0.0
    _without(null, out)


@njit(nogil=True)
def _without(null: Any, vector: Any) -> None:  # pragma: no cover
    """Takes out what lies in the span of orthonormal rows."""
    for n in range(len(null)):
        dot = 0.0
        for i in range(len(vector)):
            dot += null[n, i] * vector[i]
        for i in range(len(vector)):
            vector[i] -= dot * null[n, i]
