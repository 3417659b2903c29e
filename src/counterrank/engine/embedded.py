"""The embedded engine: Arrow batches (read by Arrow or DuckDB) counted by compiled loops."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.engine import kernels
from counterrank.engine.plan import Coefficients, Plan, WantedRankings
from counterrank.engine.progress import Progress, silent
from counterrank.engine.spill import Spill, SpilledRankings
from counterrank.engine.tables import GroupTable, PairTable, Vocabulary
from counterrank.errors import InputError
from counterrank.ids import Codes, Ids
from counterrank.log import Log
from counterrank.log.rows import Rows
from counterrank.statistics.counts import Counts
from counterrank.statistics.hashing import ranking_keys
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.rankings import RankingGroups, Rankings

UNCUT = 1 << 30
CACHE_BYTES = 512 << 20
GROUP_ROOM = 1 << 20
THREADS = 2
BLOCK_BYTES = 256 << 10


@dataclass
class Embedded:
    """Counts in this process.

    Coded rows up to `cache_bytes` are kept for the second pass; a longer log is read twice. Up to `group_room` distinct
    rankings are held in memory; more go to disk.
    """

    cache_bytes: int = CACHE_BYTES
    group_room: int = GROUP_ROOM
    progress: Progress = field(default=silent)
    name: str = "duckdb"

    def count(self, log: Log, plan: Plan) -> EmbeddedPass:
        return EmbeddedPass(log, plan, self)


@dataclass(frozen=True)
class CodedRows:
    """A batch as codes, 2·pair + click per position and -1 beyond the end, in the order of its queries."""

    coded: NDArray[np.int32]  # (n, K)
    impressions: NDArray[np.int64] | None  # None: one each
    starts: Codes  # where the rows of each query begin; empty where they are not in order


class EmbeddedPass:
    """One log, counted once; `moments` weighs it a second time."""

    def __init__(self, log: Log, plan: Plan, engine: Embedded) -> None:
        if plan.metric not in log.columns:
            raise InputError(f"{log.name}: the log has no column {plan.metric!r}")
        self.log, self.plan, self.engine = log, plan, engine
        kinds = log.kinds()
        self.queries = Vocabulary(kinds.integer_queries, kinds.native_queries)
        self.items = Vocabulary(kinds.integer_items, kinds.native_items)
        self.top = plan.top or UNCUT
        self.size = np.zeros(4, dtype=np.int64)
        self.pairs = PairTable(1)
        self.groups = GroupTable(1, engine.group_room if not plan.ranking_clicks else UNCUT, plan.ranking_clicks)
        self.spill: Spill | None = None
        self.per_query = np.zeros((1024, 4))
        self.asked = len(self.queries.add(plan.queries)) if plan.queries is not None else None
        if self.asked is not None:
            self.asked = self.queries.size
        self.wanted = self._wanted_keys()
        self.cache: list[CodedRows] | None = []
        self.cached = 0
        self.log_impressions = 0
        self._tallying: Future[None] | None = None
        with ThreadPoolExecutor(1) as self._tallier:
            for rows in log.rows(self._columns()):
                self._count(rows)
                engine.progress(len(rows))
            self._settle()
        self.counts = self._finish()

    def _columns(self) -> list[str]:
        columns = ["impressions", "clicks" if self.plan.metric == "clicks" else "reward"]
        return columns + (["propensity"] if self.plan.by_propensity else [])

    def _wanted_keys(self) -> NDArray[np.uint64]:
        wanted = self.plan.rankings
        if not isinstance(wanted, WantedRankings):
            return np.zeros(1, dtype=np.uint64)
        queries = self.queries.encode(*_text_keys(self.queries, wanted.queries), insert=False)
        lists = wanted.items
        offsets = lists.offsets.to_numpy().astype(np.int64)
        flat = lists.values.slice(offsets[0], offsets[-1] - offsets[0])
        codes = self.items.add(flat)
        self.size[kernels.ITEMS] = self.items.size
        starts, lengths = offsets[:-1] - offsets[0], np.minimum(np.diff(offsets), self.top)
        keys = [np.zeros(0, dtype=np.uint64)]
        depth = int(lengths.max(initial=0))
        table = np.full((len(lengths), max(depth, 1)), -1, dtype=np.int64)
        inside = np.arange(depth) < lengths[:, None]
        table[:, :depth][inside] = codes[(starts[:, None] + np.arange(depth))[inside]]
        known = np.minimum.accumulate(np.where(inside, table[:, :depth] >= 0, False), axis=1) if depth else inside
        for length in range(1, depth + 1):
            fits = known[:, length - 1] & (queries >= 0)
            cut = np.full(int(fits.sum()), length)
            keys.append(ranking_keys(queries[fits], table[fits, :length], cut))
        distinct = np.unique(np.concatenate(keys))
        out = np.zeros(_power(2 * len(distinct) + 2), dtype=np.uint64)
        kernels.fill_set(distinct, out)
        return out

    def _query_codes(self, rows: Rows, insert: bool) -> Codes:
        return self.queries.encode(rows.query_keys, rows.query_values, insert)

    def _count(self, rows: Rows) -> None:
        """Code a batch here while the batch before is tallied in a thread of its own."""
        self.log_impressions += int(rows.impressions.sum())
        codes = self._query_codes(rows, insert=self.asked is None or self.plan.whole_log)
        coded = self._code(rows, codes)
        self._settle()
        if self.queries.size > len(self.per_query):
            grown = np.zeros((_power(self.queries.size), 4))
            grown[: len(self.per_query)] = self.per_query
            self.per_query = grown
        self.pairs.widen(coded.shape[1])
        self.groups.widen(coded.shape[1])
        self._tallying = self._tallier.submit(self._tally, rows, codes, coded)

    def _settle(self) -> None:
        """Wait until what was counted so far is in the tables."""
        if self._tallying is not None:
            self._tallying.result()
            self._tallying = None

    def _tally(self, rows: Rows, codes: Codes, coded: NDArray[np.int32]) -> None:
        plan, groups = self.plan, self.groups
        reward = rows.reward if rows.reward is not None else np.zeros(0)
        propensity = rows.propensity if rows.propensity is not None else np.zeros(0)
        wanted = (2 if plan.rankings == "all" else 0) if isinstance(plan.rankings, str) else 1
        order, starts = kernels.by_query(codes, self.queries.size)
        ordered = np.full_like(coded, -1)
        covered, theta = self._covered(), plan.weights(coded.shape[1])
        done = 0
        while True:
            done = kernels.tally_rows(
                done, order, codes, covered, rows.offsets, reward, plan.metric == "reward", rows.impressions,
                propensity, plan.by_propensity, theta, self.size, self.pairs.item, self.pairs.tally, self.per_query,
                wanted, self.wanted, groups.slots, groups.query, groups.rows, groups.sums, groups.propensity,
                groups.clicks, coded, ordered,
            )  # fmt: skip
            if done >= len(rows):
                break
            self._make_group_room()
        counted = "impressions" in self.log.columns
        self._keep(CodedRows(ordered, rows.impressions[order] if counted else None, starts))

    def _code(self, rows: Rows, codes: Codes) -> NDArray[np.int32]:
        """Rows as pair codes and clicks; pairs and items that are new get codes."""
        longest = int(np.diff(rows.offsets).max())
        coded = np.full((len(rows), min(longest, self.top)), -1, dtype=np.int32)
        clicks = rows.clicks if rows.clicks is not None else np.zeros(0, dtype=np.int8)
        done = 0
        while True:
            items = int(self.size[kernels.ITEMS])
            fresh = np.empty(len(self.items.slots) // 4 + longest + 1, dtype=np.int64)
            done = kernels.code_rows(
                done, codes, rows.offsets, rows.item_keys, clicks, self.plan.metric == "clicks", self.top,
                self.plan.all_items, self.size, self.pairs.slots, self.pairs.query, self.pairs.item, self.items.slots,
                fresh, coded,
            )  # fmt: skip
            self._keep_items(rows, fresh[items : int(self.size[kernels.ITEMS])])
            if done >= len(rows):
                return coded
            self._make_pair_room(longest)

    def _covered(self) -> NDArray[np.bool_]:
        covered = np.ones(len(self.per_query), dtype=bool)
        if self.asked is not None:
            covered[self.asked :] = False
        return covered

    def _keep_items(self, rows: Rows, at: NDArray[np.int64]) -> None:
        if len(at):
            self.items.keep(rows.item_values.take(pa.array(at)))
            self.items.size = int(self.size[kernels.ITEMS])

    def _make_pair_room(self, longest: int) -> None:
        self._settle()
        self.pairs.grow(int(self.size[kernels.PAIRS]), int(self.size[kernels.PAIRS]) + longest)
        while 2 * (self.size[kernels.ITEMS] + longest) > len(self.items.slots) // 2 - 1:
            self.items.grow()

    def _make_group_room(self) -> None:
        used = int(self.size[kernels.GROUPS])
        if self.groups.grow(used):
            return
        if self.spill is None:
            self.spill = Spill(self.plan.by_propensity)
        self.spill.write(self.groups, used)
        self.groups.clear()
        self.size[kernels.GROUPS] = 0

    def _keep(self, rows: CodedRows) -> None:
        """For the second pass, as long as there is room."""
        if self.cache is None or self.plan.metric == "reward":
            return
        self.cached += rows.coded.nbytes + rows.starts.nbytes
        if self.cached > self.engine.cache_bytes:
            self.cache = None
        else:
            self.cache.append(rows)

    def _finish(self) -> Counts:
        sizes = self.size
        per_query = self.per_query[: self.queries.size]
        keep = (per_query[:, 0] > 0) & self._covered()[: self.queries.size]
        if not keep.any():
            raise InputError(f"{self.log.name}: none of the log's queries is among those the target has rankings for")
        self.new_query = np.where(keep, np.cumsum(keep) - 1, -1)
        pair_query = self.pairs.query[: sizes[kernels.PAIRS]]
        pair_item = self.pairs.item[: sizes[kernels.PAIRS]]
        positions = int(per_query[keep, 3].max())
        ids = self.queries.ids()
        query_ids = Ids(ids.texts.filter(pa.array(keep)), ids.integer)
        kept = self.new_query[pair_query] >= 0
        lengths = per_query[keep, 3].astype(np.int64)
        pairs = Pairs.build(
            query_ids, self.items.ids(), self.new_query[pair_query[kept]], pair_item[kept], lengths, positions
        )
        tally = self.pairs.tally[: sizes[kernels.PAIRS]]
        whole = (tally[:, :, 0], tally[:, :, 1]) if self.plan.whole_log else None
        rows = self._rows_of(pairs)
        shown = np.zeros((len(pairs), positions), dtype=np.int64)
        clicked = np.zeros_like(shown)
        shown[rows[kept]] = tally[kept, :positions, 0]
        clicked[rows[kept]] = tally[kept, :positions, 1]
        if not self.plan.whole_log:
            self.pairs.tally = np.zeros((0, 0, 2), dtype=np.int64)  # counted: only the pairs' codes are needed now
        return Counts(
            pairs,
            per_query[keep, 0].astype(np.int64),
            per_query[keep, 1],
            per_query[keep, 2],
            shown,
            clicked,
            self._rankings(rows, positions),
            self.log_impressions,
            int(sizes[kernels.LONGEST]),
            whole,
        )

    def _rows_of(self, pairs: Pairs) -> Codes:
        """The row in `pairs` of each pair of the kernels, -1 for pairs of queries that were not asked for."""
        used = int(self.size[kernels.PAIRS])
        return pairs.find(self.new_query[self.pairs.query[:used]], self.pairs.item[:used])

    def _rankings(self, rows: Codes, positions: int) -> RankingGroups | None:
        if self.plan.rankings == "none":
            return None
        used = int(self.size[kernels.GROUPS])
        if self.spill is not None:
            self.spill.write(self.groups, used)
            self.groups.clear()
            return SpilledRankings(self.spill, rows, self.new_query, positions)
        table = self.groups
        groups = Rankings(
            table.query[:used],
            table.rows[:used, :positions].astype(np.int64),
            table.sums[:used, 0],
            table.sums[:used, 1],
            table.sums[:used, 2],
            table.propensity[:used] if self.plan.by_propensity else None,
            table.clicks[:used, :positions] if self.plan.ranking_clicks else None,
        )
        return groups.moved(rows, self.new_query, positions)

    def moments(self, coefficients: Coefficients) -> NDArray[np.float64]:
        rows = self._rows_of(coefficients.pairs)
        estimators = len(coefficients.scale)
        used = rows >= 0
        table = np.zeros((len(rows), coefficients.pairs.positions, 2 * estimators))
        for e in range(estimators):
            table[used, :, 2 * e] = coefficients.weight[e][rows[used]]
            table[used, :, 2 * e + 1] = coefficients.offset[e][rows[used]]
        pair_query = self.new_query[self.pairs.query[: len(rows)]]
        out = np.zeros((len(self.counts.impressions), estimators, 4))

        def add(part: CodedRows, first: int, last: int) -> None:
            weighted = part.impressions is not None
            counts = part.impressions if weighted else np.zeros(0, dtype=np.int64)
            kernels.sum_moments(first, last, part.coded, counts, weighted, pair_query, table, coefficients.scale, out)

        if self.cache is None:
            for again in self.log.rows(self._columns()):
                part = self._code_again(again)
                add(part, 0, len(part.coded))
                self.engine.progress(len(again))
            return out
        cache, sorted_parts = self.cache, [part for part in self.cache if len(part.starts)]
        for part in cache:
            if not len(part.starts):
                add(part, 0, len(part.coded))

        def work(block: tuple[int, int]) -> None:
            """One block of queries over all parts: its coefficients stay in the processor's cache."""
            for part in sorted_parts:
                first, last = (part.starts[min(q, len(part.starts) - 1)] for q in block)
                if last > first:
                    add(part, first, last)

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, self._blocks(table[0].nbytes if len(table) else 1)))
        return out

    def _blocks(self, pair_bytes: int) -> list[tuple[int, int]]:
        """Ranges of queries whose coefficients fit a processor's cache together."""
        pairs = np.bincount(self.pairs.query[: int(self.size[kernels.PAIRS])], minlength=self.queries.size)
        number = np.cumsum(pairs) * pair_bytes // BLOCK_BYTES
        edges = np.flatnonzero(np.r_[True, number[1:] != number[:-1], True])
        return list(pairwise(edges.tolist()))

    def _code_again(self, rows: Rows) -> CodedRows:
        codes = self._query_codes(rows, insert=False)
        codes = np.where((codes >= 0) & self._covered()[codes], codes, -1)
        order, starts = kernels.by_query(codes, self.queries.size)
        return CodedRows(self._code(rows, codes)[order], rows.impressions[order], starts)


def _text_keys(vocabulary: Vocabulary, texts: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    from counterrank.log.keys import text_key

    keys, _ = text_key(texts, vocabulary.integer)
    return keys, texts


def _power(size: int) -> int:
    return 1 << max(10, int(size - 1).bit_length())
