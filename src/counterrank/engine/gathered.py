"""Kept rows as patterns: equal ones counted as one, a few queries at a time, so that little room is needed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from counterrank.engine import kernels
from counterrank.engine.kept import KeptRows
from counterrank.engine.narrow import Kept
from counterrank.engine.pages import rows_by_query
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.patterns import Patterns, joined

THREADS = 2
BLOCK_ROWS = 1 << 18  # rows that a thread gathers at a time
BLOCKS = 64  # no more of them: each looks through all batches


@dataclass(frozen=True, kw_only=True)
class Gathering:
    """Rows that are kept, and what they say of the log's final codes: pair p of the coder is row pair_rows[p]."""

    kept: KeptRows
    pair_rows: Codes
    pair_query: Codes
    codes: Codes  # the coder's code of each query
    positions: int
    every_day: Codes | None = None  # the day of each code, where days stand apart
    clusters: NDArray[np.uint64] | None = None  # a hash of each cluster, where clusters stand apart

    def patterns(self) -> Patterns:
        """All rows, in the one order of patterns. They go by query, so that blocks of queries follow each other."""
        batches = (*self.kept.in_memory, *self.kept.on_disk())
        if not all(len(rows.starts) for rows in batches):
            return self._merged(None)
        room = sum(map(len, batches))
        out, used = self._nothing(room), 0
        for found in self._blocks(max(BLOCK_ROWS, room // BLOCKS)):
            for whole, part in zip(out.columns(), found.columns(), strict=True):
                whole[used : used + len(found)] = part
            used += len(found)
        return out.at(slice(used))

    def _blocks(self, rows: int) -> Iterator[Patterns]:
        """Of so many rows or a query each; the next are gathered while one is written down."""
        filled = np.cumsum(rows_by_query(self.kept, self.codes)) // rows
        edges = np.flatnonzero(np.append(True, np.append(np.diff(filled) > 0, True)))
        blocks = [self.codes[first:last] for first, last in pairwise(edges.tolist())]
        with ThreadPoolExecutor(THREADS) as pool:
            coming = deque(pool.submit(self._merged, block) for block in blocks[:THREADS])
            for number in range(len(blocks)):
                yield coming.popleft().result()
                coming.extend(pool.submit(self._merged, block) for block in blocks[number + THREADS :][:1])

    def _merged(self, codes: Codes | None) -> Patterns:
        """The patterns of the queries with these codes, or of all."""
        found = [self._nothing(0)]
        for rows in (*self.kept.in_memory, *self.kept.on_disk()):
            picked = np.arange(len(rows)) if codes is None else kernels.rows_of(codes, rows.starts)
            coded = rows.taken(picked)
            there = coded[:, 0] >= 0
            if there.any():
                found.append(self._decoded(rows, picked[there], coded[there]))
        return joined(found).merged()

    def _decoded(self, rows: Kept, picked: Codes, given: NDArray[np.int32]) -> Patterns:
        n = np.ones(len(picked), dtype=np.int64) if rows.impressions is None else rows.impressions[picked]
        coded = np.full((len(picked), self.positions), -1, dtype=np.int32)
        queries = np.empty(len(picked), dtype=np.int64)
        kernels.decode_rows(given, self.pair_rows, self.pair_query, coded, queries)
        days = None if self.every_day is None or rows.day is None else self.every_day[rows.day[picked]]
        whose = None if self.clusters is None or rows.cluster is None else self.clusters[rows.cluster[picked]]
        return Patterns(queries, coded, n, days, whose)

    def _nothing(self, room: int) -> Patterns:
        """Room for so many groups."""
        days = None if self.every_day is None else np.empty(room, dtype=np.int64)
        clusters = None if self.clusters is None else np.empty(room, dtype=np.uint64)
        coded = np.empty((room, self.positions), dtype=np.int32)
        return Patterns(np.empty(room, dtype=np.int64), coded, np.empty(room, dtype=np.int64), days, clusters)
