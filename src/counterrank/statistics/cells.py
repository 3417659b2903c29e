"""The filled cells of (pair × position) tables: what a log shows is mostly little of all that it could show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.pairs import FEW, add_runs, sum_by

Vector = NDArray[np.float64]
# of pairs under codes of one's own their row and query; of rows where their cells begin; the cells' positions; and the
# table of all cells, empty where it would be too large
LookedUp = tuple[Codes, Codes, Codes, Codes, NDArray[np.int32]]
LISTED = 1 << 22  # (pair, position) that a table of all cells may have: 16 MB


@dataclass(frozen=True)
class Cells:
    """Cells pair by pair, and by position within a pair: those of pair p are starts[p]:starts[p+1].

    A table has one number for each, (C,), in this order.

    >>> cells, (values,) = Cells.of_tables(np.array([[0, 5], [7, 0]]))
    >>> cells.rows.tolist(), cells.positions.tolist(), values.tolist()
    ([0, 1], [1, 0], [5, 7])
    >>> cells.find(np.array([1, 1]), np.array([0, 1])).tolist()
    [1, -1]
    """

    starts: Codes  # (P+1,)
    positions: Codes  # (C,)
    depth: int  # K

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def pairs(self) -> int:
        """P."""
        return len(self.starts) - 1

    @property
    def rows(self) -> Codes:
        """The pair of each cell, (C,): kept where they are few, else made anew."""
        found: Codes | None = self.__dict__.get("_rows")
        if found is None:
            found = self.rows_of(slice(0, self.pairs))
            if len(found) <= FEW:
                self.__dict__["_rows"] = found
        return found

    def rows_of(self, pairs: slice) -> Codes:
        """The pair of each cell of these pairs."""
        return np.repeat(np.arange(pairs.start, pairs.stop), np.diff(self.starts[pairs.start : pairs.stop + 1]))

    @classmethod
    def of_keys(cls, keys: Codes, pairs: int, depth: int) -> Cells:
        """From pair·K + position, rising, each once."""
        depth = max(depth, 1)
        starts = np.searchsorted(keys, np.arange(pairs + 1) * depth)
        return cls(short(starts), short(keys % depth), depth)

    @classmethod
    def of_tables(cls, *tables: NDArray[Any]) -> tuple[Cells, list[NDArray[Any]]]:
        """Where the first of these (P, K) tables is not 0, and what all hold there."""
        pairs, depth = tables[0].shape
        keys = np.flatnonzero(tables[0])
        return cls.of_keys(keys, pairs, depth), [table.ravel()[keys] for table in tables]

    @classmethod
    def added(
        cls, rows: Codes, positions: Codes, values: Sequence[NDArray[Any]], pairs: int, depth: int
    ) -> tuple[Cells, list[NDArray[Any]]]:
        """From cells in any order; the values of those that come several times add up."""
        keys = rows * depth + positions
        if (keys[1:] > keys[:-1]).all():
            return cls.of_keys(keys, pairs, depth), list(values)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        heads = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
        return cls.of_keys(keys[heads], pairs, depth), [np.add.reduceat(each[order], heads) for each in values]

    def moved(self, rows: Codes, pairs: int) -> tuple[Cells, Codes | None]:
        """The same cells where pair p is now rows[p] of `pairs`; and their order, where it is another now."""
        sizes = np.zeros(pairs, dtype=np.int64)
        sizes[rows] = np.diff(self.starts)
        starts = short(np.concatenate([[0], np.cumsum(sizes)]))
        if (rows[1:] > rows[:-1]).all():
            return Cells(starts, self.positions, self.depth), None
        order = np.argsort(rows[self.rows], kind="stable")
        return Cells(starts, self.positions[order], self.depth), order

    def looked_up(self, rows: Codes, queries: Codes) -> LookedUp:
        """What kernels find cells by, where pair p of theirs is rows[p] of ours and of the query queries[p]."""
        return rows, queries, self.starts, self.positions, self.listed

    @property
    def listed(self) -> NDArray[np.int32]:
        """(P, K) the number of each cell, any where there is none; empty where that would be too large."""
        found: NDArray[np.int32] | None = self.__dict__.get("_listed")
        if found is None:
            small = self.pairs * self.depth <= LISTED
            found = np.zeros((self.pairs if small else 0, self.depth), dtype=np.int32)
            _list(self.starts, self.positions, found)
            self.__dict__["_listed"] = found
        return found

    @property
    def full(self) -> bool:
        """Whether no cell is missing."""
        return len(self) == self.pairs * self.depth

    @property
    def keys(self) -> Codes:
        """pair·K + position of each, rising."""
        return self.rows * self.depth + self.positions

    def find(self, rows: Codes, positions: Codes) -> Codes:
        """Which cell each (pair, position) is, -1 where it is none."""
        if self.full:
            return np.asarray(rows * self.depth + positions)
        out = np.empty(len(rows), dtype=np.int64)
        _find(self.starts, self.positions, rows, positions, out)
        return out

    def at(self, values: NDArray[Any], rows: Codes, positions: Codes) -> NDArray[Any]:
        """The values of these (pair, position), 0 where they are no cells."""
        found = self.find(rows, positions)
        if self.full:
            return values[found]
        out = np.zeros(len(found), dtype=values.dtype)
        known = np.flatnonzero(found >= 0)
        out[known] = values[found[known]]
        return out

    def by_pair(self, values: NDArray[Any]) -> NDArray[Any]:
        """Σ over the cells of each pair, (P,); whole numbers stay whole."""
        out = np.zeros(self.pairs, dtype=np.int64 if values.dtype.kind in "iub" else np.float64)
        add_runs(self.starts, values, out)
        return out

    def by_position(self, values: NDArray[Any]) -> NDArray[Any]:
        """Σ over the cells of each position, (K,)."""
        out = np.zeros(self.depth, dtype=np.int64 if values.dtype.kind in "iub" else np.float64)
        _add_by(self.positions, values, out)
        return out

    def weighed(self, values: NDArray[Any], weights: Vector, first: int = 0, last: int | None = None) -> Vector:
        """Σₖ values·weightsₖ of each pair, (P,); or of the pairs first to last."""
        last = self.pairs if last is None else last
        out = np.zeros(last - first)
        _weigh_pairs(self.starts[first : last + 1], self.positions, values, weights, out)
        return out

    def within(self, pairs: slice) -> slice:
        """The cells of these pairs."""
        return slice(int(self.starts[pairs.start]), int(self.starts[pairs.stop]))

    def of_pairs(self, pairs: slice) -> Cells:
        """The cells of these pairs alone, which are numbered from 0 on."""
        mine = self.within(pairs)
        return Cells(self.starts[pairs.start : pairs.stop + 1] - mine.start, self.positions[mine], self.depth)

    def dense(self, values: NDArray[Any], first: int = 0, last: int | None = None) -> NDArray[Any]:
        """The table of all (pair, position), 0 where there is no cell; or its rows first to last."""
        last = self.pairs if last is None else last
        mine = slice(self.starts[first], self.starts[last])
        out = np.zeros((last - first, self.depth), dtype=values.dtype)
        out[self.rows_of(slice(first, last)) - first, self.positions[mine]] = values[mine]
        return out


@dataclass(frozen=True)
class Tally:
    """How often each cell was shown, and clicked."""

    cells: Cells
    shown: Codes  # (C,)
    clicked: Codes  # (C,)

    @classmethod
    def added(cls, parts: Sequence[Tally], rows: Sequence[Codes], pairs: int, depth: int) -> Tally:
        """The sum of several, where pair p of a part is rows[p] of `pairs`."""
        depth, total = max(depth, 1), sum(len(part.cells) for part in parts)
        if pairs * depth <= total:  # most come several times: a table of all is smaller than theirs
            table, met = np.zeros((pairs * depth, 2), dtype=np.int64), np.zeros(pairs * depth, dtype=np.bool_)
            for part, to in zip(parts, rows, strict=True):
                cells = part.cells
                _add_up(cells.starts, cells.positions, to, depth, part.shown, part.clicked, table, met)
            there = np.flatnonzero(met)
            return cls(Cells.of_keys(there, pairs, depth), *table[there].T.copy())
        found = [to[part.cells.rows] for part, to in zip(parts, rows, strict=True)]
        positions = np.concatenate([part.cells.positions for part in parts])
        both = [np.concatenate([getattr(part, name) for part in parts]) for name in ("shown", "clicked")]
        cells, (shown, clicked) = Cells.added(np.concatenate(found), positions, both, pairs, depth)
        return cls(cells, shown, clicked)

    def clicked_tables(self) -> tuple[Codes, Codes]:
        """Shown and clicked, (pairs × positions), of the pairs that were clicked; one more row is of all others."""
        cells = self.cells
        some = np.flatnonzero(cells.by_pair(self.clicked))
        number = np.full(cells.pairs, len(some))
        number[some] = np.arange(len(some))
        at = number[cells.rows] * cells.depth + cells.positions
        size = (len(some) + 1) * cells.depth
        shown, clicked = (_added(at, each, size).reshape(-1, cells.depth) for each in (self.shown, self.clicked))
        return (shown, clicked) if shown[-1].any() else (shown[:-1], clicked[:-1])


@dataclass(frozen=True)
class Places:
    """The positions of queries: a place is a position of a query."""

    at: Codes  # (C,) the place of each cell
    queries: Codes  # (N,) the query of each place

    @classmethod
    def of(cls, queries: Codes, positions: Codes, depth: int, size: int) -> Places:
        """All of `size` queries, or, where these are far more than cells, those that have cells."""
        at = queries * depth + positions
        if size * depth <= max(4 * len(at), 1 << 20):
            return cls(at, np.repeat(np.arange(size), depth))
        found, at = np.unique(at, return_inverse=True)
        return cls(at, found // depth)

    def sums(self, values: NDArray[Any]) -> Vector:
        """Σ over the cells of each place."""
        return sum_by(self.at, values, len(self.queries))

    def extremes(self, values: Vector) -> tuple[Vector, Vector]:
        """The least and the largest of 0 and the values of each place."""
        least, most = np.zeros(len(self.queries)), np.zeros(len(self.queries))
        _extremes(self.at, values, least, most)
        return least, most


@njit(nogil=True)
def _add_by(positions: Any, values: Any, out: Any) -> None:  # pragma: no cover
    for c in range(len(values)):
        out[positions[c]] += values[c]


@njit(nogil=True)
def _extremes(at: Any, values: Any, least: Any, most: Any) -> None:  # pragma: no cover
    for c in range(len(at)):
        least[at[c]] = min(least[at[c]], values[c])
        most[at[c]] = max(most[at[c]], values[c])


@njit(nogil=True)
def _weigh_pairs(starts: Any, positions: Any, values: Any, weights: Any, out: Any) -> None:  # pragma: no cover
    for p in range(len(out)):
        for c in range(starts[p], starts[p + 1]):
            out[p] += values[c] * weights[positions[c]]


def _added(at: Codes, values: NDArray[Any], size: int) -> NDArray[Any]:
    """Σ of the values that go to each place; whole numbers stay whole."""
    sums = np.bincount(at, values, size)
    return sums.astype(np.int64) if values.dtype.kind in "iub" else sums


def short(codes: Codes) -> Any:
    """Many codes in half the room, where they are small enough; few stay as they are."""
    few = len(codes) <= FEW or codes.max(initial=0) >= 1 << 31 or codes.min(initial=0) < 0
    return codes if few else codes.astype(np.int32)


@njit(nogil=True)
def _find(starts: Any, positions: Any, rows: Any, wanted: Any, out: Any) -> None:  # pragma: no cover
    """Which cell each (row, position) is, -1 for none."""
    for i in range(len(out)):
        out[i] = -1
        if rows[i] >= 0 and starts[rows[i]] < starts[rows[i] + 1]:
            at = cell_at(starts, positions, rows[i], wanted[i])
            if positions[at] == wanted[i]:
                out[i] = at


@njit(nogil=True)
def cell_at(starts: Any, positions: Any, row: Any, k: Any) -> Any:  # pragma: no cover
    """Which cell (row, k) is; it must be one."""
    low, high = starts[row], starts[row + 1] - 1
    at = min(low + k, high)  # a pair that was shown at every position down to k has it there
    if positions[at] != k:
        while low < high:
            at = (low + high) // 2
            if positions[at] < k:
                low = at + 1
            else:
                high = at
        at = low
    return at


def of_rankings(cells: Cells, tables: Sequence[Vector], rankings: Codes) -> Vector:
    """(T, G) the sums of tables over the cells of each ranking, (G, K) rows of the pairs, -1 beyond its end."""
    out = np.zeros((len(tables), len(rankings)))
    if len(cells):
        _of_rankings(cells.starts, cells.positions, cells.listed, tuple(tables), rankings, out)
    return out


@njit(nogil=True)
def _add_up(
    starts: Any, positions: Any, rows: Any, depth: Any, shown: Any, clicked: Any, table: Any, met: Any
) -> None:  # fmt: skip  # pragma: no cover
    for p in range(len(rows)):
        for c in range(starts[p], starts[p + 1]):
            at = rows[p] * depth + positions[c]
            table[at, 0] += shown[c]
            table[at, 1] += clicked[c]
            met[at] = True


@njit(nogil=True)
def _list(starts: Any, positions: Any, out: Any) -> None:  # pragma: no cover
    for p in range(len(out)):
        for c in range(starts[p], starts[p + 1]):
            out[p, positions[c]] = c


@njit(nogil=True)
def _of_rankings(
    starts: Any, positions: Any, listed: Any, tables: Any, rankings: Any, out: Any
) -> None:  # fmt: skip  # pragma: no cover
    for g in range(len(rankings)):
        for k in range(rankings.shape[1]):
            row = rankings[g, k]
            if row < 0:
                break
            at = np.int64(listed[row, k]) if len(listed) else cell_at(starts, positions, row, k)
            for t in range(len(tables)):
                out[t, g] += tables[t][at]


__all__ = ["Cells", "LookedUp", "Places", "Tally", "cell_at", "of_rankings", "short"]
