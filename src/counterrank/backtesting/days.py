"""The counts of each query's days, and what they leave when one day is taken out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.engine import Plan
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.cell_tally import CellTally
from counterrank.statistics.cells import Tally
from counterrank.statistics.counts import Counts
from counterrank.statistics.hashing import distinct, ranking_keys
from counterrank.statistics.order import row_order
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.patterns import Patterns

Vector = NDArray[np.float64]
CHUNK = 1 << 16  # patterns at a time
ROOM = 1 << 24  # places of a table that numbers keys; more keys than that are sorted


def sums(at: Codes, values: NDArray[Any], size: int = 0) -> Vector:
    """Σ of the values that go to each place."""
    return np.asarray(np.bincount(at, values, size), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class QueryDays:
    """The days of queries, each of which is a *cell*."""

    names: pa.Array  # (Q,) queries as text
    positions: int
    query: Codes  # (C,) the query of each cell, rising
    day: Codes  # (C,)
    impressions: Vector  # (C,)

    @cached_property
    def per_query(self) -> Vector:
        """(Q,) impressions of each query."""
        return sums(self.query, self.impressions, len(self.names))

    @cached_property
    def others(self) -> Vector:
        """(C,) impressions of the query on its other days."""
        return self.per_query[self.query] - self.impressions

    @classmethod
    def joined(cls, parts: Sequence[QueryDays]) -> QueryDays:
        """The queries of all parts, one after the other."""
        before = np.cumsum([0, *(len(part.names) for part in parts)])
        return QueryDays(
            names=pa.concat_arrays([part.names for part in parts]),
            positions=parts[0].positions,
            query=np.concatenate([part.query + first for part, first in zip(parts, before, strict=False)]),
            day=np.concatenate([part.day for part in parts]),
            impressions=np.concatenate([part.impressions for part in parts]),
        )


@dataclass(frozen=True, kw_only=True)
class Days(QueryDays):
    """A log by query and day. A *cell* is a query on a day; an *entry* an item at a position in a cell.

    All counts add, so the other days of a cell's query are the query's total less the cell: `others` and its kin. Only
    what a cell shows can carry weight there, so the entries of the cells are all that an estimator needs.
    """

    lengths: Codes  # (C,) longest list
    item_cell: Codes  # (I,) the cell, rising, of each (cell, item) that was shown
    item_pair: Codes  # (I,) its (query, item)
    entry_item: Codes  # (E,) the (cell, item), rising, of each entry
    position: Codes  # (E,)
    shown: Vector  # (E,)
    clicked: Vector  # (E,)
    patterns: Patterns
    pattern_cell: Codes  # (G,)

    @staticmethod
    def plan() -> Plan:
        """What must be counted."""
        return Plan(metric="clicks", weights=np.ones, patterns=True, by_day=True)

    @classmethod
    def of(cls, counts: Counts, queries: Codes | None = None) -> Days:
        """From counts that were made by `plan`: of the queries with these codes, rising, or of all."""
        pairs = counts.pairs
        codes = np.arange(len(pairs.query_ids)) if queries is None else queries
        patterns, query = _patterns_of(by_day(counts), codes)
        every, day = np.unique(patterns.day, return_inverse=True)
        keys, number = _numbered(query * len(every) + day, len(codes) * len(every))
        cell = number.astype(np.int64)
        of_cell, day_of_cell = np.divmod(keys, len(every))
        lengths = np.zeros(len(keys), dtype=np.int64)
        np.maximum.at(lengths, cell, (patterns.coded >= 0).sum(axis=1))
        item_query, item_day, item_pair, found = _entries(pairs, codes, patterns, query, day)
        return cls(
            names=pairs.query_ids.texts if queries is None else pairs.query_ids.texts.take(pa.array(codes)),
            positions=pairs.positions,
            query=of_cell,
            day=every[day_of_cell],
            impressions=sums(cell, patterns.impressions, len(keys)),
            lengths=lengths,
            item_cell=np.searchsorted(keys, item_query * len(every) + item_day),
            item_pair=item_pair,
            entry_item=found.cells.rows,
            position=found.cells.positions,
            shown=found.shown.astype(np.float64),
            clicked=found.clicked.astype(np.float64),
            patterns=patterns,
            pattern_cell=cell,
        )

    def only(self, wanted: NDArray[np.bool_]) -> Days:
        """These queries only, (Q,)."""
        cells = wanted[self.query]
        items, groups = cells[self.item_cell], cells[self.pattern_cell]
        entries = items[self.entry_item]
        new_query, new_cell, new_item = (np.cumsum(each) - 1 for each in (wanted, cells, items))
        return Days(
            names=self.names.filter(pa.array(wanted)),
            positions=self.positions,
            query=new_query[self.query[cells]],
            day=self.day[cells],
            impressions=self.impressions[cells],
            lengths=self.lengths[cells],
            item_cell=new_cell[self.item_cell[items]],
            item_pair=self.item_pair[items],
            entry_item=new_item[self.entry_item[entries]],
            position=self.position[entries],
            shown=self.shown[entries],
            clicked=self.clicked[entries],
            patterns=self.patterns.at(groups),
            pattern_cell=new_cell[self.pattern_cell[groups]],
        )

    @property
    def cells(self) -> QueryDays:
        """The cells alone."""
        return QueryDays(
            names=self.names, positions=self.positions, query=self.query, day=self.day, impressions=self.impressions
        )

    @cached_property
    def cell(self) -> Codes:
        """(E,) the cell of each entry, rising."""
        return self.item_cell[self.entry_item]

    @cached_property
    def pair(self) -> Codes:
        """(E,) the (query, item) of each entry."""
        return self.item_pair[self.entry_item]

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
    def other_entries(self) -> tuple[Vector, Vector]:
        """(E,) impressions on the other days that show the entry's item at its position, and their clicks."""
        of = self.pair * self.positions + self.position
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

    def squares(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """(C, W): Σ reward² of each cell, by each row of weights, (W, K)."""
        out = np.zeros((len(self.query), len(weights)))
        for start in range(0, len(self.patterns), CHUNK):
            part = slice(start, start + CHUNK)
            some = self.patterns.at(part)
            worth = some.clicks @ weights.T
            for i in range(len(weights)):
                out[:, i] += sums(self.pattern_cell[part], some.impressions * worth[:, i] ** 2, len(out))
        return out

    @property
    def distinct_lists(self) -> Codes:
        """(Q,) how many lists each query shows."""
        query = self.query[self.pattern_cell]
        order, starts = row_order(query, self.patterns.coded >> 1)
        return np.bincount(query[order[starts]], minlength=len(self.names))

    def lists(self, top: int) -> tuple[Codes, Vector, Vector, NDArray[np.float64]]:
        """For lists cut to `top`: each target list's cell (rising), chance, and impressions and clicks on other days.

        Lists are cut before shares are counted; the target is cut to the longest list of the other days as well.
        Clicks are by position, down to the last that counts.
        """
        cell, n, coded = self.pattern_cell, self.patterns.impressions, self.patterns.coded[:, :top]
        length = (coded >= 0).sum(axis=1)
        cut = np.minimum(length, self.other_lengths[cell])
        number, goal = self._numbers(coded >> 1, length, cut)
        size, spread = int(max(number.max(), goal.max())) + 1, len(self.query)
        own = number * spread + cell
        if goal is number:
            first, of = distinct(own.view(np.uint64))
            target = of
        else:
            first, of = distinct(np.concatenate([goal * spread + cell, own]).view(np.uint64))
            target, of = np.split(of, 2)
            first = first[first < len(cell)]  # targets come before what is none
        shown = sums(number, n, size)[goal[first]] - sums(of, n, len(first))[: len(first)]
        seen = np.flatnonzero((shown > 0) & (cut[first] > 0))
        seen = seen[np.argsort(cell[first[seen]], kind="stable")]
        found = cell[first[seen]]
        chance = sums(target, n)[seen] / self.impressions[found]
        wanted = np.zeros(size, dtype=bool)
        wanted[goal[first[seen]]] = True
        rows = np.flatnonzero(wanted[number])
        clicked = np.empty((len(seen), coded.shape[1]))
        for k in range(coded.shape[1]):
            some = rows[(coded[rows, k] & 1 == 1) & (coded[rows, k] >= 0)]
            clicked[:, k] = sums(number[some], n[some], size)[goal[first[seen]]]
            clicked[:, k] -= sums(of[some], n[some], len(shown))[seen]
        return found, chance, shown[seen], clicked

    def _numbers(self, lists: NDArray[np.int32], length: Codes, cut: Codes) -> tuple[Codes, Codes]:
        """(G,) numbers that tell apart the lists of these lengths, and the same lists where they are cut."""
        query, items = self.query[self.pattern_cell], lists.astype(np.int64)
        keys = ranking_keys(query, items, length)
        if (cut == length).all():
            number = distinct(keys)[1]
            return number, number
        number, goal = np.split(distinct(np.concatenate([keys, ranking_keys(query, items, cut)]))[1], 2)
        return number, goal


def by_day(counts: Counts) -> Patterns:
    """The patterns of each day, by query."""
    assert counts.patterns is not None  # noqa: S101 - the plan asks for them
    return counts.patterns


def _patterns_of(patterns: Patterns, codes: Codes) -> tuple[Patterns, Codes]:
    """The patterns of the queries with these codes, rising, and which of these queries each is of."""
    first, last = (np.searchsorted(patterns.queries, codes, side=side) for side in ("left", "right"))
    sizes = last - first
    query = np.repeat(np.arange(len(codes)), sizes)
    if len(query) == last[-1] - first[0]:
        return patterns.at(slice(first[0], last[-1])), query
    return patterns.at(np.arange(len(query)) + (last - np.cumsum(sizes))[query]), query


def _entries(
    pairs: Pairs, codes: Codes, patterns: Patterns, query: Codes, day: Codes
) -> tuple[Codes, Codes, Codes, Tally]:
    """Query, day and (query, item) of each item that a day of a query shows, by all three, and these by position.

    The pairs of the queries with these codes are numbered anew, one query after the other. `query` and `day` are those
    of each pattern, as numbers from 0 on.
    """
    coded, width, day_count = patterns.coded, pairs.sizes[codes], int(day.max(initial=0)) + 1
    before = np.cumsum(width) - width
    begin, size = before * day_count, int(width.sum()) * day_count  # keys rise with query, day and item
    base = (begin - pairs.starts[codes])[query] + day * width[query]
    keys, item = _numbered(np.where(coded >= 0, (coded >> 1) + base[:, None], size), size)
    tally = CellTally(pairs.positions)
    tally.grow(len(keys))
    tally.add(2 * item + (coded & 1), patterns.impressions)  # beyond a list's end it is -1 again
    item_query = np.searchsorted(begin, keys, side="right") - 1
    item_day, rank = np.divmod(keys - begin[item_query], width[item_query])
    found = tally.found(np.arange(len(keys)), len(keys), pairs.positions)
    return item_query, item_day, before[item_query] + rank, found


def _numbered(keys: Codes, size: int) -> tuple[Codes, NDArray[np.int32]]:
    """The distinct keys below `size`, rising, and the number of each key among them, -1 for `size` itself."""
    if size > ROOM:
        found = np.unique(keys)
        found = found[: np.searchsorted(found, size)]
        number = np.searchsorted(found, keys).astype(np.int32)
        number[keys == size] = -1
        return found, number
    met = np.zeros(size + 1, dtype=bool)
    met[keys] = True
    found = np.flatnonzero(met[:size])
    numbers = np.full(size + 1, -1, dtype=np.int32)
    numbers[found] = np.arange(len(found))
    return found, numbers[keys]
