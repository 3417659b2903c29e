"""The counts of each query's days, and what they leave when one day is taken out."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.engine import Plan
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.cell_tally import CellTally
from counterrank.statistics.cells import Cells, Tally
from counterrank.statistics.counts import Counts
from counterrank.statistics.hashing import distinct, ranking_keys
from counterrank.statistics.order import row_order
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.patterns import Patterns

Vector = NDArray[np.float64]
CHUNK = 1 << 16  # patterns at a time


def sums(at: Codes, values: Vector | NDArray[np.bool_], size: int = 0) -> Vector:
    """Σ of the values that go to each place."""
    return np.asarray(np.bincount(at, values, size), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Days:
    """A log by query and day. A *cell* is a query on a day; an *entry* an item at a position in a cell.

    All counts add, so the other days of a cell's query are the query's total less the cell: `others` and its kin. Only
    what a cell shows can carry weight there, so the entries of the cells are all that an estimator needs.
    """

    names: pa.Array  # (Q,) queries as text
    positions: int
    query: Codes  # (C,) the query of each cell
    day: Codes  # (C,)
    impressions: Vector  # (C,)
    lengths: Codes  # (C,) longest list
    cell: Codes  # (E,) of each entry, as are the next four
    item: Codes
    position: Codes
    shown: Vector
    clicked: Vector
    list_cell: Codes  # (G,) the cell of each distinct list of a cell
    list_items: Codes  # (G, K) item codes, -1 beyond the end
    list_shown: Vector  # (G,)
    list_clicked: Codes  # (G, K)

    @staticmethod
    def plan() -> Plan:
        """What must be counted."""
        return Plan(metric="clicks", weights=np.ones, patterns=True, by_day=True)

    @classmethod
    def of(cls, counts: Counts) -> Days:
        """From counts that were made by `plan`."""
        pairs, patterns = counts.pairs, by_day(counts)
        keys, cell = np.unique(_cell_keys(patterns), return_inverse=True)
        query, day = np.divmod(keys, len(np.unique(patterns.day)))
        lists = patterns.coded >> 1  # -1 >> 1 is -1
        lengths = np.zeros(len(keys), dtype=np.int64)
        np.maximum.at(lengths, cell, (lists >= 0).sum(axis=1))
        of, item, position, shown, clicked = _entries(pairs, patterns, keys)
        order, starts = row_order(cell, lists)
        first, n = order[starts], patterns.impressions[order]
        clicks = patterns.clicks[order]
        by_position = [np.add.reduceat(n * clicks[:, k], starts) for k in range(pairs.positions)]
        return cls(
            names=pairs.query_ids.texts,
            positions=pairs.positions,
            query=query,
            day=np.unique(patterns.day)[day],
            impressions=sums(cell, patterns.impressions.astype(np.float64), len(keys)),
            lengths=lengths,
            cell=of,
            item=item,
            position=position,
            shown=shown.astype(np.float64),
            clicked=clicked.astype(np.float64),
            list_cell=cell[first],
            list_items=np.where(lists[first] >= 0, pairs.items[lists[first]], -1),
            list_shown=np.add.reduceat(n, starts).astype(np.float64),
            list_clicked=np.stack(by_position, axis=1),
        )

    def only(self, wanted: NDArray[np.bool_]) -> Days:
        """These queries only, (Q,)."""
        cells = wanted[self.query]
        new_query, new_cell = np.cumsum(wanted) - 1, np.cumsum(cells) - 1
        entries, lists = cells[self.cell], cells[self.list_cell]
        return Days(
            names=self.names.filter(pa.array(wanted)),
            positions=self.positions,
            query=new_query[self.query[cells]],
            day=self.day[cells],
            impressions=self.impressions[cells],
            lengths=self.lengths[cells],
            cell=new_cell[self.cell[entries]],
            item=self.item[entries],
            position=self.position[entries],
            shown=self.shown[entries],
            clicked=self.clicked[entries],
            list_cell=new_cell[self.list_cell[lists]],
            list_items=self.list_items[lists],
            list_shown=self.list_shown[lists],
            list_clicked=self.list_clicked[lists],
        )

    @cached_property
    def per_query(self) -> Vector:
        """(Q,) impressions of each query."""
        return sums(self.query, self.impressions, len(self.names))

    @cached_property
    def others(self) -> Vector:
        """(C,) impressions of the query on its other days."""
        return self.per_query[self.query] - self.impressions

    @cached_property
    def other_lengths(self) -> Codes:
        """(C,) the longest list of the query on its other days: targets are cut to it."""
        order = np.lexsort((-self.lengths, self.query))
        first = np.r_[True, np.diff(self.query[order]) > 0]
        start = np.flatnonzero(first)
        second = np.minimum(start + 1, len(order) - 1)
        longest, runner_up = self.lengths[order[start]], self.lengths[order[second]]
        alone = self.query[order[second]] != self.query[order[start]]
        runner_up = np.where(alone | (second == start), 0, runner_up)
        out = longest[self.query]
        out[order[start]] = runner_up
        return out

    @cached_property
    def pair(self) -> Codes:
        """(E,) the (query, item) of each entry."""
        keys = (self.query[self.cell] << 32) | self.item
        return np.asarray(np.unique(keys, return_inverse=True)[1], dtype=np.int64)

    @cached_property
    def cell_item(self) -> tuple[Codes, Codes, Codes]:
        """The (cell, item) of each entry, and the cell and the (query, item) of each of those."""
        keys = (self.cell << 32) | self.item
        _, first, of = np.unique(keys, return_index=True, return_inverse=True)
        return of.astype(np.int64), self.cell[first], self.pair[first]

    @cached_property
    def other_entries(self) -> tuple[Vector, Vector]:
        """(E,) impressions on the other days that show the entry's item at its position, and their clicks."""
        _, of = np.unique(self.pair * self.positions + self.position, return_inverse=True)
        shown, clicked = sums(of, self.shown), sums(of, self.clicked)
        return shown[of] - self.shown, clicked[of] - self.clicked

    def by_position(self, values: Vector) -> NDArray[np.float64]:
        """(C, K): Σ over the entries of each cell and position."""
        flat = sums(self.cell * self.positions + self.position, values, len(self.query) * self.positions)
        return flat.reshape(len(self.query), self.positions)

    def without(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """(C, K) for the other days, from (C, K) for each day."""
        total = np.zeros((len(self.names), table.shape[1]))
        for k in range(table.shape[1]):
            total[:, k] = sums(self.query, table[:, k], len(self.names))
        return np.asarray(total[self.query] - table)

    def tally(self) -> Tally:
        """Shown and clicked per (query, item) and position, of all days: what an examination curve is fitted to."""
        size = int(self.pair.max()) + 1
        numbers = [each.astype(np.int64) for each in (self.shown, self.clicked)]
        cells, (shown, clicked) = Cells.added(self.pair, self.position, numbers, size, self.positions)
        return Tally(cells, shown, clicked)

    def lists(self, top: int) -> tuple[Codes, Vector, Vector, NDArray[np.float64]]:
        """For lists cut to `top`: each target list's cell (rising), chance, and impressions and clicks on other days.

        Lists are cut before shares are counted; the target is cut to the longest list of the other days as well.
        """
        length = np.minimum((self.list_items >= 0).sum(axis=1), top)
        cut = np.minimum(length, self.other_lengths[self.list_cell])
        of_query = self.query[self.list_cell]
        target = ranking_keys(self.list_cell, self.list_items, cut)
        first, of = distinct(target)
        cell = self.list_cell[first]
        h = sums(of, self.list_shown) / self.impressions[cell]
        keys = ranking_keys(of_query[first], self.list_items[first], cut[first])
        total = self._sums(ranking_keys(of_query, self.list_items, length), keys, top)
        own = self._sums(ranking_keys(self.list_cell, self.list_items, length), target[first], top)
        shown, clicked = total[0] - own[0], total[1] - own[1]
        seen = np.flatnonzero((shown > 0) & (cut[first] > 0))
        seen = seen[np.argsort(cell[seen], kind="stable")]
        return cell[seen], h[seen], shown[seen], clicked[seen]

    def _sums(self, keys: NDArray[np.uint64], wanted: NDArray[np.uint64], top: int) -> tuple[Vector, Vector]:
        """Impressions and clicks by position of the lists with each wanted key, 0 where there are none."""
        known, of = np.unique(keys, return_inverse=True)
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        found = known[at] == wanted
        shown = np.where(found, sums(of, self.list_shown)[at], 0.0)
        clicked = np.zeros((len(wanted), self.positions))
        for k in range(min(top, self.positions)):
            clicked[:, k] = np.where(found, sums(of, self.list_clicked[:, k].astype(np.float64))[at], 0.0)
        return shown, clicked


def by_day(counts: Counts) -> Patterns:
    """The patterns of each day."""
    assert counts.patterns is not None  # noqa: S101 - the plan asks for them
    return counts.patterns


def squares(counts: Counts, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """(C, W): Σ reward² of each cell, by each row of weights, (W, K)."""
    patterns = by_day(counts)
    cell = np.unique(_cell_keys(patterns), return_inverse=True)[1]
    out = np.zeros((int(cell.max()) + 1, len(weights)))
    for start in range(0, len(patterns), CHUNK):
        part = slice(start, start + CHUNK)
        some = patterns.at(part)
        worth = some.clicks @ weights.T
        for i in range(len(weights)):
            out[:, i] += sums(cell[part], some.impressions * worth[:, i] ** 2, len(out))
    return out


def _cell_keys(patterns: Patterns) -> Codes:
    """(G,) the query and the day of each pattern as one number, which rises with both."""
    every, day = np.unique(patterns.day, return_inverse=True)
    return patterns.queries * len(every) + day


def _entries(pairs: Pairs, patterns: Patterns, keys: Codes) -> tuple[Codes, ...]:
    """Cell, item, position, shown and clicked of each entry, a day at a time: its pairs get numbers of their own, so
    that a day needs no more room than what it shows."""
    every, day = np.unique(patterns.day, return_inverse=True)
    order = np.argsort(day, kind="stable")
    number, found = np.zeros(len(pairs), dtype=np.int32), []
    for d, some in enumerate(np.split(order, np.cumsum(np.bincount(day))[:-1])):
        coded = patterns.coded[some]
        met = np.unique(coded[coded >= 0] >> 1)
        number[met] = np.arange(len(met))
        tally = CellTally(pairs.positions)
        tally.grow(len(met))
        tally.add(np.where(coded >= 0, 2 * number[coded >> 1] + (coded & 1), -1), patterns.impressions[some])
        each = tally.found(np.arange(len(met)), len(met), pairs.positions)
        pair = met[each.cells.rows]
        cell = np.searchsorted(keys, pairs.queries[pair] * len(every) + d)
        found.append((cell, pairs.items[pair], each.cells.positions, each.shown, each.clicked))
    return tuple(np.concatenate(column) for column in zip(*found, strict=True))
