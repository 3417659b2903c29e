"""The log's own pair marginals Γ̂ of blocks of queries, their pseudoinverses, and each ranking's weight."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit

from counterrank.estimate._pinv import pseudoinverse, swept
from counterrank.estimate.base import Vector
from counterrank.ids import Codes
from counterrank.statistics.counts import Counts
from counterrank.statistics.pairs import Table
from counterrank.statistics.rankings import Rankings

BLOCK = 32 << 20  # entries of the matrices held at a time: 256 MB
THREADS = 2


@dataclass(frozen=True)
class Weighed:
    """Groups of rankings with their weight, the reward that the regression expects, and their leverage."""

    groups: Rankings
    weight: Vector  # (G,) qᵀΓ̂†1_A
    expected: Vector  # (G,) 1_Aᵀφ̂
    leverage: Vector  # (G,) of one impression: 1_AᵀΓ̂†1_A / n


class LogGamma:
    """Γ̂ of every query on the (item, position) coordinates that the log shows.

    After `weighed` has run through, `sigma2`, `lost`, `kappa` and `condition` hold one number per query: q̂ᵀΓ̂†q,
    ‖(I − Γ̂Γ̂†)q‖², the largest κ with Γ̂ ≥ κ times uniform's pair marginals, and Γ̂'s condition number (0: harmless).
    """

    def __init__(self, counts: Counts, target: Table) -> None:
        self.counts, self.target = counts, np.ascontiguousarray(target)
        pairs = counts.pairs
        size = len(counts.impressions)
        active = counts.shown > 0
        upto = np.concatenate([[0], np.cumsum(active)])
        at = upto[pairs.starts * pairs.positions]
        self.dims: Codes = np.diff(at)
        self.coordinate = np.where(active, upto[1:].reshape(active.shape) - 1 - at[pairs.queries][:, None], -1)
        self.sigma2, self.lost, self.kappa, self.condition = (np.zeros(size) for _ in range(4))
        whole = np.einsum("pk,pk->p", target, target)
        outside = np.where(active, 0.0, target)
        self.norm = np.bincount(pairs.queries, whole, size)
        self._outside = np.bincount(pairs.queries, np.einsum("pk,pk->p", outside, outside), size)

    @property
    def work(self) -> float:
        """Multiplications, about."""
        return float((self.dims.astype(float) ** 3).sum())

    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of queries whose matrices fit into memory together."""
        number = np.cumsum(self.dims.astype(np.int64) ** 2) // BLOCK
        edges = np.flatnonzero(np.r_[True, number[1:] != number[:-1], True])
        return list(pairwise(edges.tolist()))

    def weighed(self) -> Iterator[Weighed]:
        blocks = self.blocks()
        for first, last in blocks:
            sizes = self.dims[first:last] ** 2
            offsets = np.concatenate([[0], np.cumsum(sizes)])
            gamma = np.zeros(int(offsets[-1]))
            theta = np.zeros(self.target.shape)
            for chunk in self._chunks(first, last, len(blocks)):
                _add(chunk.queries, chunk.rows, chunk.impressions, chunk.reward, self.coordinate, self.dims, offsets,
                     first, gamma, theta)  # fmt: skip
            u, phi = np.zeros(self.target.shape), np.zeros(self.target.shape)
            self._solve(first, last, offsets, gamma, theta, u, phi)
            for chunk in self._chunks(first, last, len(blocks)):
                out = np.zeros((3, len(chunk)))
                _weigh(chunk.queries, chunk.rows, self.coordinate, self.dims, offsets, first, gamma, u, phi, out)
                yield Weighed(chunk, out[0], out[1], out[2] / self.counts.impressions[chunk.queries])

    def _chunks(self, first: int, last: int, blocks: int) -> Iterator[Rankings]:
        assert self.counts.rankings is not None  # noqa: S101 - the plan asked for them
        for chunk in self.counts.rankings.chunks():
            if blocks == 1:
                yield chunk
            elif (inside := (chunk.queries >= first) & (chunk.queries < last)).any():
                yield chunk.taken(np.flatnonzero(inside))

    def _solve(self, first: int, last: int, offsets: Codes, gamma: Vector, theta: Table, u: Table, phi: Table) -> None:
        pairs, n = self.counts.pairs, self.counts.impressions.astype(np.float64)
        doubt = np.zeros(last, dtype=bool)
        cost = np.cumsum(self.dims[first:last].astype(float) ** 3)
        middle = first + int(np.searchsorted(cost, cost[-1] / 2))

        def work(span: tuple[int, int]) -> None:
            _solve(*span, first, pairs.starts, pairs.lengths, self.coordinate, self.dims, offsets, n, self.target,
                   gamma, theta, u, phi, self.sigma2, self.lost, self.kappa, doubt)  # fmt: skip

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, [(first, middle), (middle, last)]))
        for q in np.flatnonzero(doubt):
            size = int(self.dims[q])
            original = gamma[offsets[q - first] : offsets[q - first + 1]].reshape(size, size).copy()
            inverse, self.condition[q] = pseudoinverse(original)
            gamma[offsets[q - first] : offsets[q - first + 1]] = inverse.ravel()
            _finish(q, pairs.starts, self.coordinate, n, self.target, inverse, original, theta, u, phi, self.sigma2,
                    self.lost)  # fmt: skip
        self.lost[first:last] += self._outside[first:last]


@njit(cache=True, nogil=True)
def _add(
    queries: Any, rows: Any, impressions: Any, reward: Any, coordinate: Any, dims: Any, offsets: Any, first: Any,
    gamma: Any, theta: Any,
) -> None:  # fmt: skip  # pragma: no cover
    at = np.empty(rows.shape[1], dtype=np.int64)
    for g in range(len(queries)):
        q, length = queries[g], 0
        while length < rows.shape[1] and rows[g, length] >= 0:
            at[length] = coordinate[rows[g, length], length]
            theta[rows[g, length], length] += reward[g]
            length += 1
        base, size = offsets[q - first], dims[q]
        for j in range(length):
            for k in range(length):
                gamma[base + at[j] * size + at[k]] += impressions[g]


@njit(cache=True, nogil=True)
def _weigh(
    queries: Any, rows: Any, coordinate: Any, dims: Any, offsets: Any, first: Any, gamma: Any, u: Any, phi: Any,
    out: Any,
) -> None:  # fmt: skip  # pragma: no cover
    at = np.empty(rows.shape[1], dtype=np.int64)
    for g in range(len(queries)):
        q, length = queries[g], 0
        while length < rows.shape[1] and rows[g, length] >= 0:
            at[length] = coordinate[rows[g, length], length]
            out[0, g] += u[rows[g, length], length]
            out[1, g] += phi[rows[g, length], length]
            length += 1
        base, size = offsets[q - first], dims[q]
        for j in range(length):
            for k in range(length):
                out[2, g] += gamma[base + at[j] * size + at[k]]


@njit(cache=True, nogil=True)
def _solve(
    low: Any, high: Any, first: Any, starts: Any, lengths: Any, coordinate: Any, dims: Any, offsets: Any, n: Any,
    target: Any, gamma: Any, theta: Any, u: Any, phi: Any, sigma2: Any, lost: Any, kappa: Any, doubt: Any,
) -> None:  # fmt: skip  # pragma: no cover
    for q in range(low, high):
        size = dims[q]
        matrix = gamma[offsets[q - first] : offsets[q - first + 1]].reshape((size, size))
        matrix /= n[q]
        items = starts[q + 1] - starts[q]
        kappa[q] = least_ratio(matrix, items, lengths[q]) if size == items * lengths[q] else 0.0
        original = matrix.copy()
        if swept(matrix):
            _finish(q, starts, coordinate, n, target, matrix, original, theta, u, phi, sigma2, lost)
        else:
            matrix[:] = original
            doubt[q] = True


@njit(cache=True, nogil=True)
def least_ratio(matrix: Any, items: Any, length: Any) -> float:  # pragma: no cover
    """The largest κ with Γ ≥ κ times the pair marginals of uniform rankings of `items` items."""
    least = np.inf
    if items == 1 or length == 1:
        for i in range(items * length):
            least = min(least, matrix[i, i] * items)
        return least
    for a in range(items):
        for b in range(a):
            for j in range(length):
                for k in range(length):
                    if j != k:
                        least = min(least, matrix[a * length + j, b * length + k] * items * (items - 1))
    return least


@njit(cache=True, nogil=True)
def _finish(
    q: Any, starts: Any, coordinate: Any, n: Any, target: Any, inverse: Any, gamma: Any, theta: Any, u: Any, phi: Any,
    sigma2: Any, lost: Any,
) -> None:  # fmt: skip  # pragma: no cover
    """u = Γ†q and φ = Γ†θ as tables, and what of q is outside Γ's range."""
    size, positions = len(inverse), target.shape[1]
    shown, credit, left = np.empty(size), np.empty(size), np.zeros(size)
    weight, worth = np.zeros(size), np.zeros(size)
    for p in range(starts[q], starts[q + 1]):
        for k in range(positions):
            if coordinate[p, k] >= 0:
                shown[coordinate[p, k]] = target[p, k]
                credit[coordinate[p, k]] = theta[p, k] / n[q]
    for i in range(size):
        for j in range(size):
            weight[i] += inverse[i, j] * shown[j]
            worth[i] += inverse[i, j] * credit[j]
    for i in range(size):
        left[i] = shown[i]
        for j in range(size):
            left[i] -= gamma[i, j] * weight[j]
        sigma2[q] += shown[i] * weight[i]
        lost[q] += left[i] ** 2
    for p in range(starts[q], starts[q + 1]):
        for k in range(positions):
            if coordinate[p, k] >= 0:
                u[p, k], phi[p, k] = weight[coordinate[p, k]], worth[coordinate[p, k]]
