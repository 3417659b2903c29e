"""What one pass over a log counts: per query, per (query, item, position) and per (query, ranking)."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import cached_property, reduce
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.cells import Cells, Places, Tally
from counterrank.statistics.days import DaySums
from counterrank.statistics.item_chances import ItemChances
from counterrank.statistics.looks import LookCounts
from counterrank.statistics.memo import Memo
from counterrank.statistics.order import in_order
from counterrank.statistics.pairs import FEW, Pairs, ranges, united
from counterrank.statistics.patterns import Patterns
from counterrank.statistics.rankings import Changed, RankingGroups, Rankings

SHORT = 1 << 19  # cells of a log that is one part
Added = TypeVar("Added", LookCounts, Patterns, DaySums, ItemChances)
PART = 1 << 17  # cells of a part of any other: 1 MB for each number that a cell has


@dataclass(frozen=True)
class Part:
    """Some queries, and where their pairs and cells stand: what adds up over queries is done part by part."""

    first: int
    last: int
    pairs: slice
    cells: slice


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The additive statistics of a log, or of a part of it: `part + part` is the whole (but for `whole`: see there).

    Impressions are counted with their multiplicity. The reward of an impression is its page-level reward, or the
    weighted sum of its clicks down to position K; it is counted from `origin`, so that sums of squares lose no digits.
    """

    pairs: Pairs
    impressions: Codes  # (Q,)
    reward: NDArray[np.float64]  # (Q,) Σ reward
    reward2: NDArray[np.float64]  # (Q,) Σ reward²
    cells: Cells  # which pairs were shown at which positions
    shown: Codes  # (C,) impressions that show the pair's item at the position
    clicked: Codes  # (C,) of these, clicked
    rankings: RankingGroups | None  # one group per ranking: of all rankings, or of those that were asked for
    log_impressions: int  # of the whole log, also of queries that were not asked for
    longest: int  # the longest list, uncut
    origin: float = 0.0
    whole: Tally | None = None  # shown and clicked of every query, where these are more; sums have none
    pages: RankingGroups | None = None  # all impressions; a ranking may come in several groups
    extremes: tuple[float, float] | None = None  # the least and the largest page-level reward
    looks: LookCounts | None = None
    patterns: Patterns | None = None
    days: DaySums | None = None  # where they were asked for
    item_chances: ItemChances | None = None  # of the cells, where rows have propensities of their items
    memo: Memo | None = field(default=None, repr=False, compare=False)  # of a log that stays counted

    @property
    def total(self) -> int:
        """Impressions counted."""
        return int(self.impressions.sum())

    @property
    def cell_queries(self) -> Codes:
        """(C,) the query of each cell: kept where they are few, else made anew."""
        found: Codes | None = self.__dict__.get("_cell_queries")
        if found is None:
            found = np.repeat(np.arange(len(self.impressions)), np.diff(self.cells.starts[self.pairs.starts]))
            if len(found) <= FEW:
                self.__dict__["_cell_queries"] = found
        return found

    def parts(self) -> list[Part]:
        """All queries, some at a time; a short log is one part."""
        size = PART if len(self.cells) > SHORT else SHORT
        return [self.part(*each) for each in ranges(self.cells.starts[self.pairs.starts], size)]

    def part(self, first: int, last: int) -> Part:
        """The queries first to last."""
        mine = slice(int(self.pairs.starts[first]), int(self.pairs.starts[last]))
        return Part(first, last, mine, self.cells.within(mine))

    def runs(self, part: Part, of_pairs: bool = False) -> Codes:
        """Where the cells of each query begin among those of a part, and where the last end; or the pairs."""
        starts = self.pairs.starts[part.first : part.last + 1]
        return np.asarray(starts - part.pairs.start if of_pairs else self.cells.starts[starts] - part.cells.start)

    @property
    def shown_first(self) -> Codes:
        """(P,) impressions that show the pair's item at position 1."""
        first = self.cells.starts[:-1]
        some = np.flatnonzero(np.diff(self.cells.starts))
        out = np.zeros(len(first), dtype=np.int64)
        at = first[some]
        out[some] = np.where(self.cells.positions[at] == 0, self.shown[at], 0)
        return out

    @property
    def tally(self) -> Tally:
        """What was shown and clicked where."""
        return Tally(self.cells, self.shown, self.clicked)

    @cached_property
    def places(self) -> Places:
        """The positions of queries that have cells."""
        return self.places_of(self.part(0, len(self.impressions)))

    def places_of(self, part: Part) -> Places:
        """Those of some queries, which are numbered from 0 on."""
        size = part.last - part.first
        queries = np.repeat(np.arange(size), np.diff(self.runs(part)))
        return Places.of(queries, self.cells.positions[part.cells], self.cells.depth, size)

    @classmethod
    def of_cells(cls, pairs: Pairs, tally: Tally) -> Counts:
        """What was shown and clicked where, and nothing else."""
        queries = len(pairs.query_ids)
        return cls(
            pairs=pairs,
            impressions=np.zeros(queries, dtype=np.int64),
            reward=np.zeros(queries),
            reward2=np.zeros(queries),
            cells=tally.cells,
            shown=tally.shown,
            clicked=tally.clicked,
            rankings=None,
            log_impressions=0,
            longest=0,
        )

    def save(self, path: str | Path) -> None:
        """Write it as one .npz file, without pickles; `statistics.store.read_counts` reads it back."""
        from counterrank.statistics.store import save_counts  # which knows all that counts hold

        save_counts(self, path)

    def extended(self, queries: Codes, items: pa.Array) -> Counts:
        """The same counts with pairs added for items (as text) that the log never shows."""
        old, item_ids = self.pairs, self.pairs.item_ids
        named, mine = item_ids.codes(items), old.items
        if (named < 0).any():
            fresh = items.filter(pa.array(named < 0)).unique()
            item_ids, code = in_order(replace(item_ids, texts=pa.concat_arrays([item_ids.texts, fresh])))
            named, mine = item_ids.codes(items), code[mine]
        pairs = old.with_more(item_ids, mine, queries, named)
        if len(pairs) == len(old):
            return self
        rows = pairs.find(old.queries, mine)
        cells, order = self.cells.moved(rows, len(pairs))
        same, positions = np.arange(len(old.query_ids)), old.positions
        return replace(
            self,
            pairs=pairs,
            cells=cells,
            shown=self.shown if order is None else self.shown[order],
            clicked=self.clicked if order is None else self.clicked[order],
            item_chances=self.item_chances
            if self.item_chances is None or order is None
            else self.item_chances.taken(order),
            rankings=self.rankings.moved(rows) if self.rankings is not None else None,
            pages=self.pages.moved(rows) if self.pages is not None else None,
            looks=self.looks.moved(rows, len(pairs), same, len(same), positions) if self.looks is not None else None,
            patterns=self.patterns.moved(rows, same, positions) if self.patterns is not None else None,
        )

    def rebased(self, origin: float) -> Counts:
        """The same counts with rewards counted from another origin."""
        step = self.origin - origin
        if step == 0:
            return self
        n = self.impressions
        return replace(
            self,
            origin=origin,
            reward=self.reward + n * step,
            reward2=self.reward2 + 2 * step * self.reward + n * step**2,
            rankings=_shifted(self.rankings, step),
            pages=_shifted(self.pages, step),
            days=self.days.shifted(step) if self.days is not None else None,
        )

    def __add__(self, other: Counts) -> Counts:
        return Counts.added([self, other])

    @classmethod
    def added(cls, parts: Sequence[Counts]) -> Counts:
        """The sum of all parts, their pairs brought together once."""
        origin = parts[0].origin
        parts = [part.rebased(origin) for part in parts]
        pairs, rows_of, queries = united([part.pairs for part in parts])
        size, positions = len(pairs.query_ids), pairs.positions
        totals: list[NDArray[Any]] = [np.zeros(size) for _ in range(3)]
        for part, codes in zip(parts, queries, strict=True):
            for total, values in zip(totals, (part.impressions, part.reward, part.reward2), strict=True):
                total[codes] += values
        tally = Tally.added([part.tally for part in parts], rows_of, len(pairs), positions)
        moves = list(zip(parts, rows_of, queries, strict=True))
        return Counts(
            pairs=pairs,
            impressions=totals[0].astype(np.int64),
            reward=totals[1],
            reward2=totals[2],
            cells=tally.cells,
            shown=tally.shown,
            clicked=tally.clicked,
            rankings=_joined([(part.rankings, rows, codes) for part, rows, codes in moves], positions),
            log_impressions=sum(part.log_impressions for part in parts),
            longest=max(part.longest for part in parts),
            origin=origin,
            pages=_joined([(part.pages, rows, codes) for part, rows, codes in moves], positions),
            extremes=reduce(_spanned, [part.extremes for part in parts]),
            looks=_summed(
                part.looks.moved(rows, len(pairs), codes, size, positions) if part.looks is not None else None
                for part, rows, codes in moves
            ),
            patterns=_summed(
                part.patterns.moved(rows, codes, positions) if part.patterns is not None else None
                for part, rows, codes in moves
            ),
            days=_summed(part.days for part in parts),
            item_chances=_summed(
                part.item_chances.put(tally.cells.find(rows[part.cells.rows], part.cells.positions), len(tally.cells))
                if part.item_chances is not None
                else None
                for part, rows, _ in moves
            ),
        )


def _summed(parts: Iterable[Added | None]) -> Added | None:
    """The sum, where every part has one."""
    found = list(parts)
    known = [part for part in found if part is not None]
    return reduce(operator.add, known) if len(known) == len(found) else None


def _joined(parts: Sequence[tuple[RankingGroups | None, Codes, Codes]], positions: int) -> Rankings | None:
    """The groups of all parts, each with its pairs and queries under their new codes, where every part has them."""
    moved = [
        sum_chunks(groups).moved(rows, queries, positions) for groups, rows, queries in parts if groups is not None
    ]
    return Rankings.joined(moved).merged() if len(moved) == len(parts) else None


def sum_chunks(groups: RankingGroups) -> Rankings:
    """All groups in memory."""
    chunks = iter(groups.chunks())
    total = next(chunks)
    for chunk in chunks:
        total = total + chunk
    return total


def _shifted(groups: RankingGroups | None, step: float) -> RankingGroups | None:
    """The same groups, every reward larger by `step`."""
    if isinstance(groups, Rankings):
        return groups.shifted(step)
    return Changed(groups, lambda chunk: chunk.shifted(step)) if groups is not None else None


def _spanned(a: tuple[float, float] | None, b: tuple[float, float] | None) -> tuple[float, float] | None:
    return (min(a[0], b[0]), max(a[1], b[1])) if a is not None and b is not None else None
