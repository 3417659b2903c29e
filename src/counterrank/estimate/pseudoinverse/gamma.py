"""The log's own pair marginals Γ̂ of blocks of queries, their pseudoinverses, and each ranking's weight."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.estimate.base import Vector
from counterrank.estimate.pseudoinverse import few as pi_few
from counterrank.estimate.pseudoinverse.few import NONE, account
from counterrank.estimate.pseudoinverse.pinv import pseudoinverse, swept
from counterrank.ids import Codes
from counterrank.policy.product import BoundSlots
from counterrank.statistics.cells import cell_at
from counterrank.statistics.counts import Counts
from counterrank.statistics.memo import remembered

THREADS = 2
BLOCK = (32 << 20) // THREADS  # entries of the matrices that a thread holds at a time: all threads together 256 MB
KEPT = 1 << 24  # entries of the matrices whose factors are kept for the next target: 64 MB
QUICK = 1 << 18  # the same where rankings are found quickly: 2 MB, which stay in a processor's cache


class Places(NamedTuple):
    """Where a block of queries, from `first`, has its matrices in `gamma`. A cell's coordinate in them is its number
    less `base`, that of its query's first cell."""

    base: Codes
    cells: Codes  # where the cells of each pair begin
    positions: Codes
    dims: Codes
    few: NDArray[np.bool_]
    offsets: Codes
    first: int
    gamma: Vector


class JudgedQueries(NamedTuple):
    """The pairs of each query, its impressions and q; and the slots of items and how many items a slot has."""

    starts: Codes
    lengths: Codes
    n: Vector
    target: Vector
    own: Codes
    room: Codes


class LogGamma:
    """Γ̂ of every query on the (item, position) cells that the log shows, where q is `target`, (C,).

    One number per query: `sigma2` qᵀΓ̂†q, `lost` ‖(I − Γ̂Γ̂†)q‖², `kappa` the largest κ with Γ̂ ≥ κ times uniform's pair
    marginals (over rankings, or over pages of the given slots), `condition` Γ̂'s condition number (0: harmless). Of
    cells: `u` Γ̂†q, and `phi` Γ̂†θ̂ with θ̂ the mean of reward·1_A, rewards counted from the counts' origin. And `sums`
    over its rankings, of n impressions, with rewards F, weight w, an impression's leverage h and squared residuals e:
    wF, wn, w²n, then where h is below 1 w²e, w²e·h/(1 − h), n(1 − h) and e, where it is 1 w²n, and the largest |w|; of
    what the pairs explain of a reward, g, the squares g²n and the product wg(F − gn).
    """

    def __init__(self, counts: Counts, target: Vector, slots: BoundSlots | None = None) -> None:
        self.counts, self.target = counts, np.ascontiguousarray(target)
        pairs, cells = counts.pairs, counts.cells
        size = len(counts.impressions)
        self.base: Codes = cells.starts[pairs.starts]  # (Q+1,)
        self.dims: Codes = np.diff(self.base)
        none = np.full(len(pairs), -1), np.zeros((size, 0), dtype=np.int64)
        self._slots = (slots.position_of, slots.sizes) if slots is not None else none
        self.few = few_impressions(counts) & ~self._slots[1].any(axis=1)  # κ of pages with slots may be positive
        self.sizes = np.where(self.few, counts.impressions, self.dims)
        self.sigma2, self.lost, self.kappa, self.condition = (np.zeros(size) for _ in range(4))
        self.sums = np.zeros((size, 11))
        self._n = counts.impressions.astype(np.float64)
        self._run()

    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of queries that a thread takes at a time: small where their rankings are found quickly."""
        assert self.counts.pages is not None  # noqa: S101 - the plan asked for them
        entries = self.sizes**2
        size = QUICK if self.counts.pages.quick else min(BLOCK, max(int(entries.sum()) // THREADS, 1))
        number = np.cumsum(entries) // size
        edges = np.flatnonzero(np.r_[True, number[1:] != number[:-1], True])
        return list(pairwise(edges.tolist()))

    def _run(self) -> None:
        theta, self.u, self.phi = (np.zeros(len(self.target)) for _ in range(3))
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda block: self._work(block, theta, self.u, self.phi), self.blocks()))

    def _work(self, block: tuple[int, int], theta: Vector, u: Vector, phi: Vector) -> None:
        """One block of queries: Γ̂ added up, inverted, and used on the same rankings."""
        (first, last), cells = block, self.counts.cells
        few = self.few[first:last]
        if few.any():
            self._solve_few(first, last)
        if few.all():
            return
        offsets = np.concatenate([[0], np.cumsum(np.where(few, 0, self.dims[first:last] ** 2))])
        gamma = np.zeros(int(offsets[-1]))
        places = Places(self.base, cells.starts, cells.positions, self.dims, self.few, offsets, first, gamma)
        assert self.counts.pages is not None  # noqa: S101 - the plan asked for them
        for c in self.counts.pages.chunks(first, last):
            _add(c.queries, c.rows, c.impressions, c.reward, places, theta)
        self._solve(last, places, theta, u, phi)
        for c in self.counts.pages.chunks(first, last):
            _weigh(c.queries, c.rows, c.impressions, c.reward, c.reward2, places, u, phi, self._n, self.sums)

    def _solve_few(self, first: int, last: int) -> None:
        """Factors go by the log alone: of one that stays counted they are kept, where they are not too large."""
        counts = self.counts
        large = self._slots[1].any() or int((self.sizes[self.few] ** 2).sum()) > KEPT
        memo = None if large else counts.memo
        few = self.few[first:last].tobytes()  # which also goes by the items that a target adds
        sources = counts.shown, counts.clicked, counts.impressions, counts.reward, few
        block = remembered(memo, ("factors", first, last), sources, lambda: self._factored(first, last))
        filled = pi_few.Filled(
            base=self.base, target=self.target, sigma2=self.sigma2, lost=self.lost, sums=self.sums, u=self.u,
            phi=self.phi,
        )  # fmt: skip
        pi_few.solve(first, last, self.few, block, filled)
        for q in np.flatnonzero(block.rank < 0):
            mine = slice(block.starts[q], block.starts[q] + block.used[q])
            rows, sums = block.cells[mine], block.sums[mine]
            at, size = pi_few.sides(first + q, rows, sums, self.target), len(rows)
            packed, gram = np.zeros(size * (size + 1) // 2), np.zeros((size, size))
            pi_few.overlaps(self.base[first + q], self.base[first + q + 1], rows, at.root, packed)
            gram[np.tril_indices(size)] = packed
            gram = np.maximum(gram, gram.T)  # of which no number is below 0
            inverse, self.condition[first + q] = pseudoinverse(gram)
            pi_few.by_inverse(gram, inverse, at)
            pi_few.finish(first + q, at, rows, sums, filled)

    def _factored(self, first: int, last: int) -> pi_few.FewQueries:
        few, cells, pages = self.few[first:last], self.counts.cells, self.counts.pages
        assert pages is not None  # noqa: S101 - the plan asked for them
        starts = np.concatenate([[0], np.cumsum(np.where(few, self.sizes[first:last], 0))])
        size, used = int(starts[-1]), np.zeros(last - first, dtype=np.int64)
        rows, sums = np.empty((size, cells.depth), dtype=np.int64), np.zeros((size, 3))
        for c in pages.chunks(first, last):
            pi_few.collect(
                c.queries, c.rows, c.impressions, c.reward, c.reward2, self.few, first, cells.starts, cells.positions,
                (starts, used, rows, sums),
            )  # fmt: skip
        at = np.concatenate([[0], np.cumsum(used * (used + 1) // 2)])
        none = np.zeros((3, size))
        block = pi_few.FewQueries(
            starts=starts, used=used, cells=rows, sums=sums, at=at, packed=np.zeros(int(at[-1])),
            rank=np.full(last - first, 0), free=np.zeros(size, dtype=np.bool_),
            z=none[0], expected=none[1], leverage=none[2],
        )  # fmt: skip
        pi_few.factor_all(first, last, self.few, self.base, self.target, block)
        return block

    def _solve(self, last: int, places: Places, theta: Vector, u: Vector, phi: Vector) -> None:
        pairs, n, first = self.counts.pairs, self._n, places.first
        offsets, gamma = places.offsets, places.gamma
        doubt = np.zeros(last - first, dtype=bool)
        judged = JudgedQueries(pairs.starts, pairs.lengths, n, self.target, *self._slots)
        _solve(last, places, judged, theta, u, phi, self.sigma2, self.lost, self.kappa, doubt)
        for q in first + np.flatnonzero(doubt):
            size = int(self.dims[q])
            original = gamma[offsets[q - first] : offsets[q - first + 1]].reshape(size, size).copy()
            inverse, self.condition[q] = pseudoinverse(original)
            gamma[offsets[q - first] : offsets[q - first + 1]] = inverse.ravel()
            _finish(q, self.base, n, self.target, inverse, original, theta, u, phi, self.sigma2, self.lost)


def few_impressions(counts: Counts) -> NDArray[np.bool_]:
    """Queries whose rankings are fewer than their coordinates: a smaller matrix does. Their κ is 0."""
    dims = _coordinates(counts)
    return np.asarray((counts.impressions < dims) & (dims < counts.pairs.sizes * counts.pairs.lengths))


def matrix_sizes(counts: Counts) -> Codes:
    """Of each query's matrix: as many rows as its impressions, or as its coordinates."""
    return np.where(few_impressions(counts), counts.impressions, _coordinates(counts))


def _coordinates(counts: Counts) -> Codes:
    """The (item, position) cells that the log shows for each query."""
    return np.diff(counts.cells.starts[counts.pairs.starts])


@njit(nogil=True)
def _add(
    queries: Any, rows: Any, impressions: Any, reward: Any, places: Any, theta: Any
) -> None:  # fmt: skip  # pragma: no cover
    base, cells, positions, dims, few, offsets, first, gamma = places
    at = np.empty(rows.shape[1], dtype=np.int64)
    for g in range(len(queries)):
        q, length = queries[g], 0
        if few[q]:
            continue
        while length < rows.shape[1] and rows[g, length] >= 0:
            cell = cell_at(cells, positions, rows[g, length], length)
            at[length] = cell - base[q]
            theta[cell] += reward[g]
            length += 1
        start, size = offsets[q - first], dims[q]
        for j in range(length):
            for k in range(j + 1):  # the lower triangle
                gamma[start + max(at[j], at[k]) * size + min(at[j], at[k])] += impressions[g]


@njit(nogil=True)
def _weigh(
    queries: Any, rows: Any, impressions: Any, reward: Any, reward2: Any, places: Any, u: Any, phi: Any, total: Any,
    out: Any,
) -> None:  # fmt: skip  # pragma: no cover
    base, cells, positions, dims, few, offsets, first, gamma = places
    at = np.empty(rows.shape[1], dtype=np.int64)
    for g in range(len(queries)):
        q, length = queries[g], 0
        if few[q]:
            continue
        w = expected = leverage = 0.0
        while length < rows.shape[1] and rows[g, length] >= 0:
            cell = cell_at(cells, positions, rows[g, length], length)
            at[length] = cell - base[q]
            w += u[cell]
            expected += phi[cell]
            length += 1
        out[q, 9] += impressions[g] * expected**2
        if abs(w) <= NONE:
            continue
        start, size = offsets[q - first], dims[q]
        for j in range(length):
            leverage += gamma[start + at[j] * (size + 1)]
            for k in range(j):
                leverage += 2 * gamma[start + at[j] * size + at[k]]
        account(w, impressions[g], reward[g], reward2[g], expected, 1 - leverage / total[q], out[q])


@njit(nogil=True)
def _solve(
    last: Any, places: Any, judged: Any, theta: Any, u: Any, phi: Any, sigma2: Any, lost: Any, kappa: Any, doubt: Any
) -> None:  # fmt: skip  # pragma: no cover
    base, cells, positions, dims, few, offsets, first, gamma = places
    starts, lengths, n, target, own, room = judged
    for q in range(first, last):
        if few[q]:
            continue
        size = dims[q]
        matrix = gamma[offsets[q - first] : offsets[q - first + 1]].reshape((size, size))
        for i in range(size):
            for j in range(i + 1):
                matrix[i, j] /= n[q]
                matrix[j, i] = matrix[i, j]
        items = starts[q + 1] - starts[q]
        slots = 0
        for s in range(room.shape[1]):
            slots += room[q, s]
        if slots:
            at = np.empty(items, dtype=np.int64)
            for a in range(items):
                p = starts[q] + a
                at[a] = -1
                if own[p] >= 0 and cells[p] < cells[p + 1]:
                    cell = cell_at(cells, positions, p, own[p])
                    if positions[cell] == own[p]:
                        at[a] = cell - base[q]
            kappa[q] = least_ratio_of_slots(matrix, at, own[starts[q] : starts[q + 1]], room[q])
        elif size == items * lengths[q]:
            kappa[q] = least_ratio(matrix, items, lengths[q])
        original = matrix.copy()
        if swept(matrix):
            _finish(q, base, n, target, matrix, original, theta, u, phi, sigma2, lost)
        else:
            for i in range(size):
                for j in range(size):  # a whole array at once takes seconds to compile
                    matrix[i, j] = original[i, j]
            doubt[q - first] = True


@njit(nogil=True)
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


@njit(nogil=True)
def least_ratio_of_slots(matrix: Any, at: Any, own: Any, room: Any) -> float:  # pragma: no cover
    """Likewise of uniform pages, where item a stands at own[a] (-1: nowhere) as one of room[own[a]] items.

    at[a] is its coordinate there, -1 where it has none.
    """
    least = alone = np.inf
    for a in range(len(own)):
        i = at[a]
        if own[a] >= 0 and i < 0:
            return 0.0
        for b in range(a):
            if i >= 0 and own[b] >= 0 and own[a] != own[b]:
                least = min(least, matrix[i, at[b]] * room[own[a]] * room[own[b]])
        if i >= 0:
            alone = min(alone, matrix[i, i] * room[own[a]])
    return least if least < np.inf else alone


@njit(nogil=True)
def _finish(
    q: Any, base: Any, n: Any, target: Any, inverse: Any, gamma: Any, theta: Any, u: Any, phi: Any, sigma2: Any,
    lost: Any,
) -> None:  # fmt: skip  # pragma: no cover
    """u = Γ†q and φ = Γ†θ, and what of q is outside Γ's range."""
    size, start = len(inverse), base[q]
    for i in range(size):
        weight = worth = 0.0
        for j in range(size):
            weight += inverse[i, j] * target[start + j]
            worth += inverse[i, j] * theta[start + j]
        u[start + i], phi[start + i] = weight, worth / n[q]
    for i in range(size):
        left = target[start + i]
        for j in range(size):
            left -= gamma[i, j] * u[start + j]
        sigma2[q] += target[start + i] * u[start + i]
        lost[q] += left**2
