"""Queries with fewer impressions than (item, position) coordinates: by the matrix of their rankings' overlaps.

With a row √(n_A/n)·1_A per ranking A, of n_A impressions, as the matrix B, Γ̂ = BᵀB, and G = BBᵀ is small. Where
s = Bq and v = G†s, the weight of A is v_A/√(n_A/n), qᵀΓ̂†q is ‖v‖², and what Γ̂ knows of q is Bᵀv. Likewise
Γ̂†q = BᵀG†v, and Γ̂†θ̂ = BᵀG†y with y_A = √(n_A/n) times A's mean reward. GG†y is what the pairs explain of y, and the
diagonal of GG† has the leverages of rankings.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterrank.compiled import njit
from counterrank.estimate.base import Vector
from counterrank.estimate.pseudoinverse.factored import dependent, factor, solved
from counterrank.ids import Codes
from counterrank.statistics.cells import cell_at
from counterrank.statistics.pairs import Table

NONE = 1e-9  # a weight, or a sum of weights per impression, that is 0 but for rounding


class Filled(NamedTuple):
    """Where each query's pairs and cells and each pair's cells begin, their positions, and q; then what is found: see
    `LogGamma`."""

    pairs: Codes
    base: Codes
    cells: Codes
    positions: Codes
    target: Vector
    sigma2: Vector
    lost: Vector
    sums: Table
    u: Vector
    phi: Vector


class Sides(NamedTuple):
    """Of one query's rankings: √(n_A/n), s and y; then G†s, G†y, G†G†s, GG†y and the diagonal of GG†."""

    root: Any
    s: Any
    y: Any
    v: Any
    z: Any
    again: Any
    expected: Any
    leverage: Any


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
def overlaps(q: Any, rows: Any, root: Any, filled: Any) -> Any:  # pragma: no cover
    """G of one query's rankings: for each position, rankings that show the same pair there are listed one by one."""
    size, begin = len(rows), filled.pairs[q]
    out = np.zeros((size, size))
    head, after = np.empty(filled.pairs[q + 1] - begin, dtype=np.int64), np.empty(size, dtype=np.int64)
    for k in range(rows.shape[1]):
        for p in range(len(head)):
            head[p] = -1
        for i in range(size):
            if rows[i, k] < 0:
                continue
            p = rows[i, k] - begin
            after[i], head[p] = head[p], i
            j = i
            while j >= 0:
                out[i, j] += 1.0
                j = after[j]
    for i in range(size):
        for j in range(i + 1):
            out[i, j] *= root[i] * root[j]
            out[j, i] = out[i, j]
    return out


@njit(nogil=True)
def sides(q: Any, rows: Any, sums: Any, filled: Any) -> Any:  # pragma: no cover
    """What is known of one query before G is inverted."""
    size, total = len(rows), _sum(sums[:, 0])
    out = Sides(
        np.empty(size), np.zeros(size), np.empty(size), np.empty(size), np.empty(size), np.empty(size), np.empty(size),
        np.empty(size),
    )  # fmt: skip
    for i in range(size):
        out.root[i] = np.sqrt(sums[i, 0] / total)
        for k in range(rows.shape[1]):
            if rows[i, k] >= 0:
                out.s[i] += filled.target[cell_at(filled.cells, filled.positions, rows[i, k], k)]
        out.s[i] *= out.root[i]
        out.y[i] = sums[i, 1] / (out.root[i] * total)
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
            at = sides(q, rows[begin:end], sums[begin:end], filled)
            matrix = overlaps(q, rows[begin:end], at.root, filled)
            rank, free = factor(matrix)
            if rank < 0:
                doubt[q - first] = True
                continue
            null = dependent(matrix, rank, free)
            solved(matrix, free, null, at.s, at.v, at.expected)
            solved(matrix, free, null, at.v, at.again, at.expected)
            solved(matrix, free, null, at.y, at.z, at.expected)
            for i in range(end - begin):
                at.leverage[i] = 1.0
                for n in range(len(null)):
                    at.leverage[i] -= null[n, i] ** 2
            finish(q, at, rows[begin:end], sums[begin:end], filled)


@njit(nogil=True)
def by_inverse(gram: Any, inverse: Any, at: Any) -> None:  # pragma: no cover
    """The rest of what `finish` asks for, where G† is given."""
    size = len(gram)
    for i in range(size):
        at.v[i] = at.z[i] = 0.0
        for j in range(size):
            at.v[i] += inverse[i, j] * at.s[j]
            at.z[i] += inverse[i, j] * at.y[j]
    for i in range(size):
        at.expected[i] = at.leverage[i] = at.again[i] = 0.0
        for j in range(size):
            at.expected[i] += gram[i, j] * at.z[j]
            at.leverage[i] += gram[i, j] * inverse[i, j]
            at.again[i] += inverse[i, j] * at.v[j]


@njit(nogil=True)
def finish(q: Any, at: Any, rows: Any, sums: Any, filled: Any) -> None:  # pragma: no cover
    """What is found of one query."""
    base, cells, positions, target, sigma2, lost, out, u, phi = filled[1:]
    known = np.zeros(base[q + 1] - base[q])
    for i in range(len(rows)):
        root, v = at.root[i], at.v[i]
        sigma2[q] += v**2
        for k in range(rows.shape[1]):
            if rows[i, k] >= 0:
                cell = cell_at(cells, positions, rows[i, k], k)
                known[cell - base[q]] += root * v
                u[cell] += root * at.again[i]
                phi[cell] += root * at.z[i]
        n, f, f2 = sums[i, 0], sums[i, 1], sums[i, 2]
        expected = at.expected[i] / root
        out[q, 9] += n * expected**2
        account(v / root, n, f, f2, expected, 1 - at.leverage[i] / n, out[q])
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
