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
    """Puts L below the diagonal of G and D on it. The rank, -1 where pivots leave a doubt, and which depend on others."""
    size = len(matrix)
    free = np.zeros(size, dtype=np.bool_)
    scale, column = np.empty(size), np.empty(size)
    for k in range(size):
        scale[k] = matrix[k, k]
    rank = 0
    for k in range(size):
        pivot = matrix[k, k]
        if abs(pivot) <= ZERO * scale[k]:
            free[k] = True
            continue
        if not pivot >= CLEAR * scale[k]:
            return -1, free
        rank += 1
        for i in range(k + 1, size):
            column[i] = matrix[i, k]
        for i in range(k + 1, size):
            if column[i] != 0.0:
                part = column[i] / pivot
                row = matrix[i]
                row[k] = part
                for j in range(i - k):  # from 0 on, so that the loop is made of wide instructions
                    row[k + 1 + j] -= part * column[k + 1 + j]
    return rank, free


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
