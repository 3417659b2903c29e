"""G†x of a symmetric positive semidefinite matrix G for a few x, by factoring it: a third of the work of inverting it.

Matrices are packed: the lower triangle, row by row, so that row i begins at i(i + 1)/2.

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
def factor(packed: Any, size: Any, free: Any) -> int:  # pragma: no cover
    """Puts L below the diagonal of G and D on it, and into `free` who depends on others.

    Gives the rank, -1 where pivots leave a doubt."""
    rank, start = 0, 0
    scaled = np.empty(size)  # of a row, L times D
    for i in range(size):
        row = packed[start : start + i + 1]
        start += i + 1
        pivot, above = row[i], 0
        for j in range(i):
            other = packed[above : above + j + 1]
            above += j + 1
            scaled[j] = 0.0 if free[j] else row[j] - _dot(scaled, other, j)
            row[j] = 0.0 if free[j] else scaled[j] / other[j]
            pivot -= row[j] * scaled[j]
        free[i] = abs(pivot) <= ZERO * row[i]
        if not free[i]:
            if not pivot >= CLEAR * row[i]:
                return -1
            rank += 1
        row[i] = pivot
    return rank


@njit(nogil=True, fastmath={"reassoc", "contract"})
def _dot(one: Any, other: Any, size: Any) -> float:  # pragma: no cover
    """In any order, so that the loop is made of wide instructions."""
    total = 0.0
    for i in range(size):
        total += one[i] * other[i]
    return total


@njit(nogil=True)
def dependent(packed: Any, rank: Any, free: Any) -> Any:  # pragma: no cover
    """Orthonormal vectors that span G's null space, from its factors."""
    size = len(free)
    null = np.zeros((size - rank, size))
    row = 0
    for s in range(size):
        if free[s]:
            null[row, s] = 1.0
            for k in range(s):
                if not free[k]:
                    null[row, k] = -packed[s * (s + 1) // 2 + k]
            for i in range(s - 1, -1, -1):
                if not free[i]:
                    for k in range(i):
                        if not free[k]:
                            null[row, k] -= packed[i * (i + 1) // 2 + k] * null[row, i]
            row += 1
    orthonormal(null)
    return null


@njit(nogil=True)
def solved(packed: Any, free: Any, null: Any, given: Any, out: Any, explained: Any) -> None:  # pragma: no cover
    """G†x into `out`, and GG†x into `explained`."""
    size = len(free)
    for i in range(size):
        explained[i] = given[i]
    _without(null, explained)
    for i in range(size):
        out[i] = 0.0 if free[i] else explained[i]
        if not free[i]:  # of coordinates that depend on others, `out` is 0
            out[i] -= _dot(out, packed[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2], i)
    for i in range(size):
        if not free[i]:
            out[i] /= packed[i * (i + 3) // 2]
    for i in range(size - 1, -1, -1):
        if not free[i]:
            row = packed[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2]
            for k in range(i):
                out[k] -= row[k] * out[i]
        else:
            out[i] = 0.0
    _without(null, out)


@njit(nogil=True)
def _without(null: Any, vector: Any) -> None:  # pragma: no cover
    """Takes out what lies in the span of orthonormal rows."""
    for n in range(len(null)):
        dot = _dot(null[n], vector, len(vector))
        for i in range(len(vector)):
            vector[i] -= dot * null[n, i]
