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

ROUNDING = 1e-13  # of the terms of a sum of squares: what is left of them is 0 but for rounding
NONE = 1e-9  # a weight, or a sum of weights per impression, that is 0 but for rounding


class FewQueries(NamedTuple):
    """What is known of a block of queries whatever the target is: nothing of those that have no few impressions.

    A ranking is known by its cells, -1 beyond its end; `sums` has its impressions, Σ reward and Σ reward². The
    rankings of a query begin at `starts`, `used` of them, and its packed factors at `at`.
    """

    starts: Codes
    used: Codes
    cells: Codes  # (R, K)
    sums: Table  # (R, 3)
    at: Codes
    packed: Vector
    rank: Codes  # of each query's G, -1 where pivots leave a doubt
    free: Any  # (R,) whose pivots are 0
    z: Vector  # (R,) G†y
    expected: Vector  # (R,) GG†y
    leverage: Vector  # (R,) the diagonal of GG†


class Filled(NamedTuple):
    """Where each query's cells begin, and q; then what is found: see `LogGamma`."""

    base: Codes
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
    queries: Any, shown: Any, impressions: Any, reward: Any, reward2: Any, few: Any, first: Any, cells: Any,
    positions: Any, out: Any,
) -> None:  # fmt: skip  # pragma: no cover
    """Rankings of these queries, each ranking once."""
    starts, used, rows, sums = out[:4]
    depth = shown.shape[1]
    mine = np.empty(depth, dtype=np.int64)
    for g in range(len(queries)):
        if not few[queries[g]]:
            continue
        q = queries[g] - first
        for k in range(depth):
            mine[k] = cell_at(cells, positions, shown[g, k], k) if shown[g, k] >= 0 else -1
        at, end = starts[q], starts[q] + used[q]
        while at < end:
            k = 0
            while k < depth and rows[at, k] == mine[k]:
                k += 1
            if k == depth:
                break
            at += 1
        if at == end:
            for k in range(depth):
                rows[at, k] = mine[k]
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
def overlaps(begin: Any, end: Any, rows: Any, root: Any, out: Any) -> None:  # pragma: no cover
    """G of one query's rankings, packed, whose cells are `begin` to `end`: the rankings that show a cell are listed."""
    head, after = np.full(end - begin, -1, dtype=np.int64), np.empty(rows.shape, dtype=np.int64)
    start = 0
    for i in range(len(rows)):
        for k in range(rows.shape[1]):
            if rows[i, k] >= 0:
                cell = rows[i, k] - begin
                after[i, k], head[cell] = head[cell], i
                j = i
                while j >= 0:
                    out[start + j] += 1.0
                    j = after[j, k]
        for j in range(i + 1):
            out[start + j] *= root[i] * root[j]
        start += i + 1


@njit(nogil=True)
def sides(q: Any, rows: Any, sums: Any, target: Any) -> Any:  # pragma: no cover
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
                out.s[i] += target[rows[i, k]]
        out.s[i] *= out.root[i]
        out.y[i] = sums[i, 1] / (out.root[i] * total)
    return out


@njit(nogil=True)
def factor_all(first: Any, last: Any, few: Any, base: Any, target: Any, block: Any) -> None:  # pragma: no cover
    """The factors of all queries of a block, and what follows from them alone."""
    starts, used, cells, sums, places, packed, rank, free, z, expected, leverage = block
    for q in range(first, last):
        if few[q]:
            begin, size = starts[q - first], used[q - first]
            mine = slice(begin, begin + size)
            at = sides(q, cells[mine], sums[mine], target)
            gram = packed[places[q - first] : places[q - first + 1]]
            overlaps(base[q], base[q + 1], cells[mine], at.root, gram)
            rank[q - first] = factor(gram, size, free[mine])
            if rank[q - first] >= 0:
                null = dependent(gram, rank[q - first], free[mine])
                solved(gram, free[mine], null, at.y, z[mine], expected[mine])
                for i in range(size):
                    leverage[begin + i] = 1.0
                    for n in range(len(null)):
                        leverage[begin + i] -= null[n, i] ** 2


@njit(nogil=True)
def solve(first: Any, last: Any, few: Any, block: Any, filled: Any) -> None:  # pragma: no cover
    """All queries of a block, but for those whose pivots leave a doubt."""
    starts, used, cells, sums, places, packed, rank, free, z, expected, leverage = block
    for q in range(first, last):
        if few[q] and rank[q - first] >= 0:
            mine = slice(starts[q - first], starts[q - first] + used[q - first])
            at = sides(q, cells[mine], sums[mine], filled.target)
            gram = packed[places[q - first] : places[q - first + 1]]
            null = dependent(gram, rank[q - first], free[mine])
            solved(gram, free[mine], null, at.s, at.v, at.expected)
            solved(gram, free[mine], null, at.v, at.again, at.expected)
            for i in range(used[q - first]):
                j = starts[q - first] + i
                at.z[i], at.expected[i], at.leverage[i] = z[j], expected[j], leverage[j]
            finish(q, at, cells[mine], sums[mine], filled)


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
    base, target, sigma2, lost, out, u, phi = filled
    known = np.zeros(base[q + 1] - base[q])
    for i in range(len(rows)):
        root, v = at.root[i], at.v[i]
        sigma2[q] += v**2
        for k in range(rows.shape[1]):
            cell = rows[i, k]
            if cell >= 0:
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
    squares, terms = f2 - 2 * expected * f + n * expected**2, f2 + 2 * abs(expected * f) + n * expected**2
    if squares <= ROUNDING * terms:
        squares = 0.0
    out[3] += w * w * squares
    out[4] += w * w * squares * (1 - free) / free
    out[5] += n * free
    out[6] += squares
