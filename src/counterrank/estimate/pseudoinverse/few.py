"""Queries with fewer impressions than (item, position) coordinates: by the matrix of their rankings' overlaps.

With a row √(n_A/n)·1_A per ranking A, of n_A impressions, as the matrix B, Γ̂ = BᵀB, and G = BBᵀ is small. Where
s = Bq and v = G†s, the weight of A is v_A/√(n_A/n), qᵀΓ̂†q is ‖v‖², and what Γ̂ knows of q is Bᵀv. Likewise
Γ̂†q = BᵀG†v, and Γ̂†θ̂ = BᵀG†y with y_A = √(n_A/n) times A's mean reward.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterrank.compiled import njit
from counterrank.estimate.base import Vector
from counterrank.estimate.pseudoinverse.pinv import swept
from counterrank.ids import Codes
from counterrank.statistics.cells import cell_at
from counterrank.statistics.pairs import Table

NONE = 1e-9  # a weight, or a sum of weights per impression, that is 0 but for rounding


class Filled(NamedTuple):
    """Where each query's and each pair's cells begin, their positions, and q; then what is found: see `LogGamma`."""

    base: Codes
    cells: Codes
    positions: Codes
    target: Vector
    sigma2: Vector
    lost: Vector
    sums: Table
    u: Vector
    phi: Vector


@njit(nogil=True)
def collect(
    queries: Any, shown: Any, impressions: Any, reward: Any, reward2: Any, few: Any, starts: Any, first: Any, used: Any,
    rows: Any, sums: Any,
) -> None:  # fmt: skip  # pragma: no cover
    """Rankings of these queries, with their impressions, Σ reward and Σ reward²; each ranking once."""
    for g in range(len(queries)):
        if not few[queries[g]]:
            continue
        q = queries[g] - first
        start = starts[q]
        at = start
        while at < start + used[q]:
            same = True
            for k in range(shown.shape[1]):
                if rows[at, k] != shown[g, k]:
                    same = False
                    break
            if same:
                break
            at += 1
        if at == start + used[q]:
            for k in range(shown.shape[1]):
                rows[at, k] = shown[g, k]
            used[q] += 1
        sums[at, 0] += impressions[g]
        sums[at, 1] += reward[g]
        sums[at, 2] += reward2[g]


@njit(nogil=True)
def _sum(values: Any) -> float:  # pragma: no cover
    """As NumPy's, whose compiled form takes 0.3 s to load."""
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    return total


@njit(nogil=True)
def overlaps(rows: Any, impressions: Any) -> Any:  # pragma: no cover
    """G of one query's rankings."""
    size, total = len(rows), _sum(impressions)
    out = np.empty((size, size))
    for i in range(size):
        for j in range(i + 1):
            both = 0
            for k in range(rows.shape[1]):
                if rows[i, k] >= 0 and rows[i, k] == rows[j, k]:
                    both += 1
            out[i, j] = out[j, i] = both * np.sqrt(impressions[i] * impressions[j]) / total
    return out


@njit(nogil=True)
def solve(
    first: Any, last: Any, few: Any, starts: Any, used: Any, rows: Any, sums: Any, filled: Any, doubt: Any
) -> None:  # fmt: skip  # pragma: no cover
    """All queries of a block, but for those whose pivots leave a doubt."""
    for q in range(first, last):
        if few[q]:
            begin = starts[q - first]
            end = begin + used[q - first]
            gram = overlaps(rows[begin:end], sums[begin:end, 0])
            inverse = gram.copy()
            if swept(inverse):
                finish(q, gram, inverse, rows[begin:end], sums[begin:end], filled)
            else:
                doubt[q - first] = True


@njit(nogil=True)
def finish(q: Any, gram: Any, inverse: Any, rows: Any, sums: Any, filled: Any) -> None:  # pragma: no cover
    base, cells, positions, target, sigma2, lost, out, u, phi = filled
    size, total = len(rows), _sum(sums[:, 0])
    root, s, y = np.empty(size), np.zeros(size), np.empty(size)
    known = np.zeros(base[q + 1] - base[q])
    for i in range(size):
        root[i] = np.sqrt(sums[i, 0] / total)
        for k in range(rows.shape[1]):
            if rows[i, k] >= 0:
                s[i] += root[i] * target[cell_at(cells, positions, rows[i, k], k)]
        y[i] = sums[i, 1] / (root[i] * total)
    v, z = np.zeros(size), np.zeros(size)
    for i in range(size):
        for j in range(size):
            v[i] += inverse[i, j] * s[j]
            z[i] += inverse[i, j] * y[j]
    for i in range(size):
        sigma2[q] += v[i] ** 2
        expected = leverage = again = 0.0
        for j in range(size):
            expected += gram[i, j] * z[j]
            leverage += gram[i, j] * inverse[i, j]
            again += inverse[i, j] * v[j]
        for k in range(rows.shape[1]):
            if rows[i, k] >= 0:
                cell = cell_at(cells, positions, rows[i, k], k)
                known[cell - base[q]] += root[i] * v[i]
                u[cell] += root[i] * again
                phi[cell] += root[i] * z[i]
        n, f, f2 = sums[i, 0], sums[i, 1], sums[i, 2]
        out[q, 9] += n * (expected / root[i]) ** 2
        account(v[i] / root[i], n, f, f2, expected / root[i], 1 - leverage / n, out[q])
    for i in range(len(known)):
        lost[q] += (target[base[q] + i] - known[i]) ** 2


@njit(nogil=True, inline="always")
def account(w: Any, n: Any, f: Any, f2: Any, expected: Any, free: Any, out: Any) -> None:  # pragma: no cover
    """One ranking's part of the sums that `LogGamma` names; `free` is 1 less an impression's leverage."""
    if abs(w) <= NONE:
        return
    out[0] += w * f
    out[1] += w * n
    out[2] += w * w * n
    out[10] += w * expected * (f - n * expected)
    out[8] = max(out[8], abs(w))
    if free < NONE:
        out[7] += w * w * n
        return
    squares = max(f2 - 2 * expected * f + n * expected**2, 0.0)
    out[3] += w * w * squares
    out[4] += w * w * squares * (1 - free) / free
    out[5] += n * free
    out[6] += squares
