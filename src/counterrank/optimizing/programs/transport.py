"""The best chances (item × position) where each is worth something up to a cap: a linear program, by HiGHS."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.optimizing.programs.assign import assign
from counterrank.statistics.pairs import Table

AT_ONCE = 4000  # (item, position) cells that one program holds: larger ones take longer than their parts
NUDGE = 1e-12  # of the largest worth: among equals, what the log shows more often


def best_marginals(
    worth: Table, cap: Table, liked: Table, allowed: NDArray[np.bool_], starts: Codes, lengths: Codes
) -> Table:
    """(P, K) chances h that maximise Σ worth·min(h, cap): every position is filled, no item shown twice.

    A query where no cap binds is an assignment. The others are programs of their own, solved several at a time. Their
    solution says how much of each cell pays; the rest of each position goes to `liked` cells first, then to any.
    """
    queries = np.repeat(np.arange(len(lengths)), np.diff(starts))
    inside = np.arange(worth.shape[1]) < lengths[queries][:, None]
    paying = (worth > 0) & (cap > 0) & inside & allowed[:, None]
    worth = np.where(paying, worth, 0.0)
    scale = np.maximum.reduceat(worth.max(axis=1), starts[:-1])[queries][:, None]
    value = np.where(allowed[:, None], worth + NUDGE * np.where(scale > 0, scale, 1.0) * liked, -np.inf)
    rows = assign(value, starts, lengths)
    out = np.zeros_like(worth)
    filled = rows >= 0
    out[rows[filled], np.nonzero(filled)[1]] = 1.0
    bound = np.zeros(len(lengths), dtype=bool)
    np.logical_or.at(bound, queries, (paying & (cap < 1)).any(axis=1))
    for some in _portions(np.flatnonzero(bound), queries, paying):
        cells = paying & some[queries][:, None]
        out[some[queries]] = 0.0
        out[cells] = _solve(worth, cap, cells, queries)
    for q in np.flatnonzero(bound).tolist():
        mine = slice(starts[q], starts[q + 1])
        _fill(out[mine, : lengths[q]], liked[mine, : lengths[q]], allowed[mine])
    return out


def _portions(bound: Codes, queries: Codes, paying: NDArray[np.bool_]) -> Iterator[NDArray[np.bool_]]:
    """Queries that are solved together, as masks."""
    size = int(queries[-1]) + 1 if len(queries) else 0
    cells = np.bincount(queries, paying.sum(axis=1), size)[bound]
    part = (np.cumsum(cells) // AT_ONCE).astype(np.int64)
    for number in np.unique(part).tolist():
        mask = np.zeros(size, dtype=bool)
        mask[bound[part == number]] = True
        yield mask


def _solve(worth: Table, cap: Table, cells: NDArray[np.bool_], queries: Codes) -> NDArray[np.float64]:
    """How much of each cell: max Σ worth·x, with 0 ≤ x ≤ cap and no position and no item above 1."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    pair, position = np.nonzero(cells)
    place = np.unique(queries[pair] * cells.shape[1] + position, return_inverse=True)[1]
    item = np.unique(pair, return_inverse=True)[1] + place.max() + 1
    each = np.arange(len(pair))
    shape = int(item.max()) + 1, len(pair)
    rows = csr_array((np.ones(2 * len(pair)), (np.concatenate([place, item]), np.concatenate([each, each]))), shape)
    upper = np.minimum(cap[cells], 1.0)
    found = linprog(-worth[cells], A_ub=rows, b_ub=np.ones(shape[0]), bounds=np.stack([0 * upper, upper], axis=1))
    return np.clip(np.asarray(found.x, dtype=np.float64), 0.0, upper)


def _fill(table: Table, liked: Table, allowed: NDArray[np.bool_]) -> None:
    """Give what positions lack to items that have room, those most liked there first."""
    room = np.where(allowed, np.maximum(1.0 - table.sum(axis=1), 0.0), 0.0)
    lack = np.maximum(1.0 - table.sum(axis=0), 0.0)
    for cell in np.argsort(-liked, axis=None, kind="stable").tolist():
        a, k = divmod(cell, table.shape[1])
        part = min(room[a], lack[k])
        if part > 0:
            table[a, k] += part
            room[a] -= part
            lack[k] -= part
        if lack.max() <= 1e-13:
            break
