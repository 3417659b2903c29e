"""Kept rows as groups of rankings: every row a group of its own impressions, read a few queries at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from counterrank.engine import kernels
from counterrank.engine.kept import KeptRows
from counterrank.engine.narrow import Kept
from counterrank.engine.plan import WantedRankings
from counterrank.engine.records import PageArrays
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.hashing import ranking_keys
from counterrank.statistics.pairs import Pairs, sorted_once
from counterrank.statistics.rankings import RankingGroups, Rankings

FEW_ROWS = 1 << 17  # as groups they take some 10 MB
THREADS = 2
CHUNK_ROWS = 1 << 15  # what a thread reads at a time stays in a processor's cache


@dataclass(frozen=True, kw_only=True)
class RowPages:
    """`Counts.pages` of the embedded engine. Pair p of the coder is row pair_rows[p], of query pair_query[p]."""

    kept: KeptRows
    pair_rows: NDArray[np.int32]
    pair_query: NDArray[np.int32] = field(repr=False)
    codes: Codes = field(repr=False)  # the coder's code of each query
    positions: int
    theta: NDArray[np.float64] = field(repr=False)  # what a click at each position is worth, where rows have no reward
    quick: bool = True

    def chunks(self, low: int = 0, high: int | None = None) -> Iterator[Rankings]:
        if low == 0 and high is None and not self.kept.spilled and self._rows <= FEW_ROWS:
            yield from self._all
            return
        yield from self._chunks(low, len(self.codes) if high is None else high)

    @property
    def _rows(self) -> int:
        return sum(map(len, self.kept.in_memory))

    @cached_property
    def _all(self) -> list[Rankings]:
        """Of a short log: several estimates and findings look at all rankings."""
        return list(self._chunks(0, len(self.codes)))

    def _chunks(self, low: int, high: int) -> Iterator[Rankings]:
        for rows in self._batches():
            picked = np.arange(len(rows))
            if len(rows.starts):
                picked = kernels.rows_of(self.codes[low:high], rows.starts)
            for at in range(0, len(picked), CHUNK_ROWS):
                yield self._read(rows, picked[at : at + CHUNK_ROWS], low, high)

    def _batches(self) -> Iterator[Kept]:
        yield from self.kept.in_memory
        yield from self.kept.on_disk()

    def _read(self, rows: Kept, picked: Codes, low: int, high: int) -> Rankings:
        room = self._room(len(picked))
        return _filled(room, self._put(rows, picked, low, high, room))

    def gathered(self, low: int, high: int, size: int) -> Rankings:
        """All rows of queries low to high, which are so many, where rows are in the order of their queries."""
        room, used = self._room(size), 0
        for rows in self._batches():
            picked = kernels.rows_of(self.codes[low:high], rows.starts)
            used += self._put(rows, picked, low, high, _behind(room, used))
        return _filled(room, used)

    def _room(self, size: int) -> PageArrays:
        shown = np.empty((size, self.positions), dtype=np.int64)
        return PageArrays(np.empty(size, dtype=np.int64), shown, np.empty(size), np.empty(size), np.empty(size))

    def _put(self, rows: Kept, picked: Codes, low: int, high: int, room: PageArrays) -> int:
        """Put the picked rows where there is room for them; how many they are."""
        impressions = rows.impressions if rows.impressions is not None else np.zeros(0, dtype=np.int64)
        reward = rows.reward if rows.reward is not None else np.zeros(0)
        used: int = kernels.read_pages(
            picked,
            rows.taken(picked),
            impressions,
            reward,
            self.theta,
            self.pair_rows,
            self.pair_query,
            low,
            high,
            room,
        )
        return used

    def moved(self, pair_rows: Codes) -> RowPages:
        known = self.pair_rows >= 0
        moved = np.full(len(known), -1, dtype=np.int32)
        moved[known] = pair_rows[self.pair_rows[known]]
        return replace(self, pair_rows=moved)

    def without_propensity(self) -> RowPages:
        return self


@dataclass(frozen=True)
class GroupedPages:
    """Kept rows as rankings, equal ones in one group: found a few queries at a time, which takes no table of all."""

    pages: RowPages
    sizes: Codes = field(repr=False)  # (Q,) rows of each query
    quick: bool = True

    def chunks(self, low: int = 0, high: int | None = None) -> Iterator[Rankings]:
        last = len(self.sizes) if high is None else min(high, len(self.sizes))
        filled = np.cumsum(self.sizes[low:last]) // FEW_ROWS
        edges = np.flatnonzero(np.r_[True, filled[1:] != filled[:-1], True]) + low
        blocks = list(pairwise(edges.tolist())) if last > low else []
        with ThreadPoolExecutor(THREADS) as pool:  # the next are gathered while one is looked at
            coming = deque(pool.submit(self._gathered, *block) for block in blocks[:THREADS])
            for number in range(len(blocks)):
                yield coming.popleft().result()
                coming.extend(pool.submit(self._gathered, *block) for block in blocks[number + THREADS :][:1])

    def _gathered(self, first: int, last: int) -> Rankings:
        return self.pages.gathered(first, last, int(self.sizes[first:last].sum())).merged()

    def moved(self, pair_rows: Codes) -> GroupedPages:
        return replace(self, pages=self.pages.moved(pair_rows))

    def without_propensity(self) -> GroupedPages:
        return self


def _behind(room: PageArrays, used: int) -> PageArrays:
    """The room that is left."""
    return PageArrays._make(column[used:] for column in room)


def _filled(room: PageArrays, used: int) -> Rankings:
    return Rankings(
        queries=room.queries[:used],
        rows=room.rows[:used],
        impressions=room.impressions[:used],
        reward=room.reward[:used],
        reward2=room.reward2[:used],
    )


def grouped_pages(pages: RowPages, room: int) -> RankingGroups:
    """All groups at once where there are no more rows than there is room for."""
    sizes = rows_by_query(pages.kept, pages.codes)
    groups = GroupedPages(pages, sizes)
    return groups if sizes.sum() > room else Rankings.joined(list(groups.chunks())).merged()


def rows_by_query(kept: KeptRows, codes: Codes) -> Codes:
    """(Q,) how many rows are kept of the queries with these codes, where rows are in the order of their queries."""
    sizes = np.zeros(len(codes), dtype=np.int64)
    for part in (*kept.in_memory, *kept.on_disk()):
        last = len(part.starts) - 1
        sizes += part.starts[np.minimum(codes + 1, last)] - part.starts[np.minimum(codes, last)]
    return sizes


@dataclass(frozen=True)
class EveryRanking:
    """The groups of all rankings of a log, each found by its key."""

    groups: Rankings
    keys: NDArray[np.uint64]  # rising
    order: Codes  # which group has each

    @classmethod
    def of(cls, groups: Rankings) -> EveryRanking:
        keys = ranking_keys(groups.queries, groups.rows, groups.lengths)
        order = np.argsort(keys)
        return cls(groups, keys[order], order)

    def picked(self, pairs: Pairs, wanted: WantedRankings) -> Rankings:
        """Those that show a wanted ranking, or the beginning of one."""
        queries, offsets = pairs.query_ids.codes(wanted.queries), np.diff(wanted.items.offsets.to_numpy())
        of, items = np.repeat(queries, offsets), pairs.item_ids.codes(wanted.items.flatten())
        size, depth = len(offsets), self.groups.rows.shape[1]
        shown = np.full((size, max(int(offsets.max(initial=0)), 1)), -1, dtype=np.int64)
        shown[np.arange(shown.shape[1]) < offsets[:, None]] = np.where(of >= 0, pairs.find(of, items), -1)
        shown = shown[:, :depth]
        known = np.cumprod(shown >= 0, axis=1)  # how long the beginnings may be that the log can show
        ranking, length = np.nonzero(known)
        keys = sorted_once(ranking_keys(queries[ranking], shown[ranking], length + 1))
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return self.groups.taken(np.sort(self.order[at[self.keys[at] == keys]]))
