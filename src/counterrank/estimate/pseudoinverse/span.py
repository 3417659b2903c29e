"""Whether a query's logged rankings vary enough that others, made of what was logged, can all be judged.

A page's reward is taken for a sum of φ(item, position). Let S be the span of the marks 1_A of a query's rankings in the
log, cut to K. A ranking can be judged if its mark lies in S. All marks of rankings of L = min(K, longest list) items
obey linear laws: their sums by position are equal, and if L = m, the number of items, so are their sums by item. Let T
take these sums of the d (item, position) cells that the log shows. If S has as many dimensions as the laws leave,

    d − rank(T) + rank(T S),

every ranking made of logged cells lies in S. (rank(T S) is 1 if all lists have L items; shorter ones obey less.) If
moreover each item was logged at each position, that is every ranking of the items. Where cells admit few rankings only,
these may obey more laws, and then this asks for more than is needed.

The Gram matrix of the marks cut to K is a leading block of the whole one if cells are ordered by position: one
elimination tells the dimensions of S for every K.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.cells import cell_at
from counterrank.statistics.counts import Counts
from counterrank.statistics.pairs import sum_by

WORK = 2e9  # multiplications: a second or two
BLOCK = 32 << 20  # entries of the matrices held at a time: 256 MB
SOME = 6  # rankings per cell that are looked at before all are
ZERO = 1e-9  # a pivot below this share of its diagonal entry depends on earlier ones

Flags = NDArray[np.bool_]
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Span:
    """For each query and each K = 1, 2, …, (Q, K)."""

    parameters: Vector  # dimensions that the laws leave to pages of logged cells
    cells: Flags  # every ranking made of logged cells can be judged, and there are several
    items: Flags  # every ranking of the logged items can be judged
    examined: Flags  # False where to tell would take too long


def span(counts: Counts, distinct: Vector) -> Span:
    """Of the log's own rankings, of which a query has `distinct` ones."""
    pairs, size, depth = counts.pairs, len(counts.impressions), counts.pairs.positions
    items = sum_by(pairs.queries, np.diff(counts.cells.starts) > 0, size)[:, None]
    at = counts.cell_queries * depth + counts.cells.positions
    seen = np.bincount(at, minlength=size * depth).reshape(size, depth).astype(np.float64)  # (Q, K) items at k
    upto = np.minimum(np.arange(1, depth + 1), pairs.lengths[:, None])  # (Q, K) L
    inside = np.arange(depth) < pairs.lengths[:, None]
    cells = np.cumsum(np.where(inside, seen, 0.0), axis=1)
    parameters = np.maximum(cells - np.where(upto < items, upto, 2 * items - 1) + 1, 1)
    every = np.logical_and.accumulate(~inside | (seen == items), axis=1)
    possible = inside & (parameters <= distinct[:, None]) & (distinct[:, None] > 1)
    whole: Codes = np.where(possible, np.arange(1, depth + 1), 0).max(axis=1)  # deeper, rankings are too few
    depths = _depths(counts.impressions, cells**3 / 3 + distinct[:, None] * upto**2, whole)
    inspected = np.arange(depth) < depths[:, None]
    enough = np.zeros((size, depth), dtype=bool)
    few = np.minimum(SOME * cells[:, -1], distinct)
    for most in (few, distinct):  # what some rankings span, all of them do
        unsure = (inspected & possible & ~enough).any(axis=1) & ((most is few) | (few < distinct))
        deep: Codes = np.flatnonzero(unsure)
        ranks, needed = _ranks(counts, deep, np.where(unsure, depths, 0), seen, items[:, 0], most[deep])
        enough[deep] |= (ranks == needed) & (ranks > 1) & inspected[deep]
    enough[items[:, 0] == 1] = True
    examined = inspected | ~possible
    # no page is longer than its query's lists
    enough, examined = (np.take_along_axis(x, upto - 1, axis=1) for x in (enough, examined))
    return Span(parameters, enough, enough & every, examined)


def _depths(impressions: Codes, work: Vector, whole: Codes) -> Codes:
    """How deep to look into each query: all the way for those that are cheap, and as far as their share for others."""
    at = np.maximum(whole - 1, 0)[:, None]
    cost = np.where(whole > 0, np.take_along_axis(work, at, axis=1)[:, 0], 0.0)
    order = np.argsort(cost / impressions, kind="stable")
    cheap = np.zeros(len(cost), dtype=bool)
    cheap[order] = np.cumsum(cost[order]) <= WORK / 2
    rest = np.where(cheap, 0, impressions)
    share = WORK / 2 * rest / max(rest.sum(), 1)
    some = (work <= share[:, None]).sum(axis=1)
    return np.where(cheap, whole, np.minimum(some, whole)).astype(np.int64)


def _ranks(
    counts: Counts, deep: Codes, depths: Codes, seen: Vector, items: Vector, most: Vector
) -> tuple[Vector, Vector]:
    """Of the deep queries, for each K down to their depth: the dimensions of S, and those that the laws leave.

    S is of `most` rankings of a query.
    """
    depth = counts.pairs.positions
    number = np.full(len(depths), -1, dtype=np.int64)
    number[deep] = np.arange(len(deep))
    cells = counts.cells
    used = np.flatnonzero(cells.positions < depths[counts.cell_queries])
    used = used[np.lexsort((cells.rows[used], cells.positions[used], counts.cell_queries[used]))]
    row, position = cells.rows[used], cells.positions[used]
    of = number[counts.cell_queries[used]]
    sizes = np.bincount(of, minlength=len(deep))
    starts = np.cumsum(sizes) - sizes
    coordinate = np.full(len(cells), -1, dtype=np.int64)
    coordinate[used] = np.arange(len(row)) - starts[of]
    shape = cells.starts, cells.positions
    ends = np.cumsum(np.where(np.arange(depth) < depths[deep][:, None], seen[deep], 0), axis=1).astype(np.int64)
    at = counts.cell_queries * depth + cells.positions
    totals = sum_by(at, counts.shown, len(depths) * depth).reshape(-1, depth)[deep]
    short = np.cumsum(totals[:, :-1] > totals[:, 1:], axis=1)  # lengths below K that lists have
    extra = np.concatenate([np.zeros((len(deep), 1)), short], axis=1)
    needed = ends - np.arange(1, depth + 1) + 1 + extra
    ranks = np.zeros((len(deep), depth))
    block = np.cumsum(sizes.astype(np.int64) ** 2) // BLOCK
    edges: list[int] = np.flatnonzero(np.r_[True, block[1:] != block[:-1], True]).tolist() if len(deep) else []
    complete = depths[deep] == items[deep]
    for first, last in pairwise(edges):
        offsets = np.concatenate([[0], np.cumsum(sizes[first:last] ** 2)])
        gram = np.zeros(int(offsets[-1]))
        assert counts.rankings is not None  # noqa: S101 - the plan asked for them
        left = most[first:last].astype(np.int64)
        for chunk in counts.rankings.chunks():
            _add(number[chunk.queries], chunk.rows, shape, coordinate, first, last, offsets, sizes, left, gram)
            if not left.any():
                break
        for d in first + np.flatnonzero(complete[first:last]):
            m, mine = int(items[deep[d]]), slice(starts[d], starts[d] + sizes[d])
            laws, obeyed = 2 * m - 1, 1
            if extra[d, m - 1] or sizes[d] < m * m:
                lower = gram[offsets[d - first] : offsets[d - first + 1]].reshape(sizes[d], sizes[d])
                laws, obeyed = _sums(lower, position[mine], row[mine] - row[mine].min())
            needed[d, m - 1] = sizes[d] - laws + obeyed
        _eliminate_all(gram, offsets, ends[first:last], ranks[first:last])
    return ranks, needed


def _sums(lower: Vector, positions: Codes, items: Codes) -> tuple[int, int]:
    """rank(T) and rank(T S), where T sums cells by position and by item."""
    sums = np.zeros((int(positions.max()) + int(items.max()) + 2, len(lower)))
    sums[positions, np.arange(len(lower))] = 1
    sums[positions.max() + 1 + items, np.arange(len(lower))] = 1
    gram = lower + np.tril(lower, -1).T
    laws, obeyed = (int(np.linalg.matrix_rank(x, hermitian=True)) for x in (sums @ sums.T, sums @ gram @ sums.T))
    return laws, obeyed


@njit(nogil=True)
def _add(
    numbers: Any, rows: Any, cells: Any, coordinate: Any, first: Any, last: Any, offsets: Any, sizes: Any, left: Any,
    gram: Any,
) -> None:  # fmt: skip  # pragma: no cover
    """Each different ranking once, whatever its impressions: the lower triangles."""
    starts, positions = cells
    at = np.empty(rows.shape[1], dtype=np.int64)
    for g in range(len(numbers)):
        d, length = numbers[g], 0
        if d < first or d >= last or left[d - first] == 0:
            continue
        left[d - first] -= 1
        while length < rows.shape[1] and rows[g, length] >= 0:
            at[length] = coordinate[cell_at(starts, positions, rows[g, length], length)]
            if at[length] < 0:
                break
            length += 1
        base = offsets[d - first]
        for j in range(length):
            for k in range(j + 1):
                gram[base + at[j] * sizes[d] + at[k]] += 1


@njit(nogil=True)
def _eliminate_all(gram: Any, offsets: Any, ends: Any, ranks: Any) -> None:  # pragma: no cover
    for d in range(len(ends)):
        size = ends[d, -1]
        _eliminate(gram[offsets[d] : offsets[d + 1]].reshape((size, size)), ends[d], ranks[d])


@njit(nogil=True)
def _eliminate(matrix: Any, ends: Any, ranks: Any) -> None:  # pragma: no cover
    """The rank of each leading block that ends[k] closes."""
    size, rank, block = len(matrix), 0, 0
    column, scale = np.empty(size), np.empty(size)
    for k in range(size):
        scale[k] = matrix[k, k]
    for k in range(size):
        while block < len(ends) and ends[block] <= k:
            ranks[block] = rank
            block += 1
        pivot = matrix[k, k]
        if pivot <= ZERO * scale[k]:
            continue
        rank += 1
        for i in range(k + 1, size):
            column[i] = matrix[i, k]
        for i in range(k + 1, size):
            factor = column[i] / pivot
            if factor != 0.0:
                for j in range(k + 1, i + 1):
                    matrix[i, j] -= factor * column[j]
    for b in range(block, len(ends)):
        ranks[b] = rank
