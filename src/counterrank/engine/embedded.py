"""The embedded engine: Arrow batches (read by Arrow or DuckDB) counted by compiled loops in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any
from weakref import proxy

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.crew import Crew, Job
from counterrank.engine import kernels
from counterrank.engine.coder import CodedRows, Coder
from counterrank.engine.gathered import Gathering
from counterrank.engine.kept import KeptRows
from counterrank.engine.moment_sums import THREADS, MomentSums
from counterrank.engine.narrow import SHELF_BYTES, Kept, Shelves, narrowed
from counterrank.engine.own_weights import OwnSums, trim
from counterrank.engine.pages import EveryRanking, RowPages, grouped_pages
from counterrank.engine.plan import Coefficients, Moments, Plan, WantedRankings
from counterrank.engine.progress import Progress, silent
from counterrank.engine.runs import stacks
from counterrank.engine.tables import HashedCodes
from counterrank.engine.tallier import Tallier
from counterrank.engine.unit_sums import UnitSums
from counterrank.errors import InputError, NoneFound
from counterrank.ids import Codes, Ids
from counterrank.log import Log
from counterrank.log.rows import Rows
from counterrank.memory import give_back, give_back_at_once
from counterrank.records import dataclass
from counterrank.statistics.cell_tally import recounted
from counterrank.statistics.cells import Cells, Tally, short
from counterrank.statistics.cluster_terms import ClusterSizes
from counterrank.statistics.counts import SHORT, Counts, Part
from counterrank.statistics.item_chances import Trimmed
from counterrank.statistics.memo import Memo, remembered
from counterrank.statistics.order import id_order, in_order, places
from counterrank.statistics.pairs import FEW, Pairs
from counterrank.statistics.patterns import Patterns
from counterrank.statistics.rankings import Rankings
from counterrank.statistics.sample import Sample, first_pairs
from counterrank.threads import in_turn

CACHE_BYTES = 1 << 30
GROUP_ROOM = 1 << 20
MOST = 1 << 53
SHOWN = 1 << 22  # items that a log shows in all, up to which it stays counted: some 60 MB
BLOCK_BYTES = 512 << 10  # coefficients that stay in a processor's cache


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

    def counts_as(self, other: Embedded) -> bool:
        """Whether both have the same room, so that a pass of one may stand for one of the other."""
        return (self.cache_bytes, self.group_room) == (other.cache_bytes, other.group_room)


class EmbeddedPass:
    """One log, counted once; `moments` weighs it a second time.

    Three things overlap: the next batches are decoded, a batch is coded, and the batch before it is tallied.
    """

    def _begin(self, log: Log, plan: Plan, engine: Embedded, crew: Crew) -> None:
        """Tables that rows can be added to."""
        self.log, self.plan, self.engine, self.crew = log, plan, engine, crew
        me = proxy(self)  # so that nothing here holds what holds it, and rows go as soon as nobody needs them
        self.coder = Coder(plan, log.kinds(), crew, before_growth=lambda: me._settle())
        self.tallier = Tallier(plan, self.coder, engine.group_room)
        room = engine.cache_bytes if plan.metric == "clicks" or plan.pages != "none" else 0
        self.kept = KeptRows(room, to_disk=plan.pages == "all" or plan.patterns)
        self._shelves = Shelves(SHELF_BYTES, crew)
        self.tallier.later = plan.rankings == "all" and not plan.by_propensity and room > 0
        self.log_impressions = 0
        self._pending: Job[Kept] | None = None
        self._rows_known: tuple[Pairs | None, Any, Any] = None, None, None  # pairs whose rows and queries are known
        self._sampled: list[CodedRows] | None = None  # of a log that is too long to be kept
        self._own: Pairs | None = None  # the log's own pairs, of a pass that stays for the next question

    def __init__(self, log: Log, plan: Plan, engine: Embedded) -> None:
        if plan.metric not in log.columns:
            raise InputError(f"{log.name}: the log has no column {plan.metric!r}")
        self._begin(log, plan, engine, Crew())
        with self.crew:
            reader = log.rows(columns_of(plan), plan.overview, self.crew)
            for rows in reader:
                self._count(rows)
                engine.progress(len(rows))
            self._settle()
        self.reading = reader.reading
        self.counts = self._finish()
        if self.kept.complete:
            self.tallier.forget()
            self.plan = self.coder.plan
        give_back()

    @property
    def clusters(self) -> ClusterSizes | None:
        return ClusterSizes.of(self.tallier.cluster_sizes) if self.plan.clusters else None

    @property
    def positions(self) -> int:
        return self.counts.pairs.positions

    @property
    def short(self) -> bool:
        """Whether the log is so short that its rows and counts may be kept for the next question."""
        whole = self.kept.complete and not self.kept.spilled
        return whole and self.kept.shown <= SHOWN and len(self.counts.cells) <= SHORT

    @property
    def has_every_row(self) -> bool:
        """Whether the counts give each row as a group of its own, so that any rankings can be gathered from them."""
        return isinstance(self.counts.pages, RowPages)

    def detached(self) -> EmbeddedPass:
        """The same without its log, which this pass may then be kept for."""
        self.counts, self._own = replace(self.counts, memo=Memo()), self.counts.pairs
        same = copy(self)
        del same.log
        return same

    def resumed(self, log: Log, wanted: WantedRankings | None = None) -> EmbeddedPass:
        """The same again, of the log that it is of; `wanted`: with the groups of these rankings instead."""
        same = copy(self)
        same.log = log
        if wanted is not None:
            same.counts = replace(self.counts, rankings=self._every.picked(self.counts.pairs, wanted))
        return same

    @cached_property
    def _every(self) -> EveryRanking:
        """The groups of all rankings of a short log."""
        pages = self.counts.pages
        assert isinstance(pages, RowPages)  # noqa: S101 - `has_every_row` was asked
        return EveryRanking.of(Rankings.joined(list(pages.chunks())).merged())

    def _count(self, rows: Rows) -> None:
        self.log_impressions += int(rows.impressions.astype(np.float64).sum())
        if self.log_impressions > MOST:
            raise InputError(f"{self.log.name}: more than 2^53 impressions cannot be counted exactly")
        if self.plan.metric == "reward" and self.tallier.origin is None:
            self.tallier.origin = float(np.median(rows.reward)) if rows.reward is not None else 0.0
        codes = self.coder.query_codes(rows, insert=self.coder.asked is None or self.plan.whole_log)
        place, starts = self.coder.places(codes)
        coded = self.coder.code(rows, codes, place)
        self._settle()
        self.tallier.make_room(coded.shape[1])
        counted = "impressions" in self.log.columns
        self._pending = self.crew.submit(partial(self._tallied, rows, codes, place, starts, coded, counted))

    def _tallied(
        self, rows: Rows, codes: Codes, place: Codes, starts: Codes, coded: NDArray[np.int32], counted: bool
    ) -> Kept:
        """Count a batch; its rows, in as little room as they can be kept in."""
        done = self.tallier.add(rows, codes, place, starts, coded, counted)
        pairs = self.coder.pairs
        return narrowed(done, pairs, self._shelves) if self.kept.keeps and pairs.tally.dense else done

    def _settle(self) -> None:
        """Wait until all that was coded is tallied, and keep it for the second pass while there is room."""
        if self._pending is None:
            return
        rows, self._pending = self.crew.result(self._pending), None
        if self.tallier.later and not (self.kept.holds(rows) and len(rows.starts)):
            self.tallier.catch_up([*self.kept.in_memory, *self.kept.on_disk(), rows])
        if self.tallier.room_to_wait and not self.kept.has_room(rows):
            self.tallier.count_waiting()
        self.kept.add(rows)

    def _finish(self) -> Counts:
        coder, used = self.coder, self.coder.used
        if used > FEW:
            give_back_at_once()
        if self.kept.shown <= SHOWN:
            self.kept.gather()
        if self.kept.complete:
            coder.forget()  # no row will be coded again
        per_query = self.tallier.per_query[: coder.queries.size]
        keep = (per_query[:, 0] > 0) & coder.covered(coder.queries.size)
        if not keep.any():
            raise NoneFound(f"{self.log.name}: the log has none of the queries asked for: are their ids the same?")
        ids = coder.queries.ids()
        by_id = id_order(ids.texts)  # of all queries, the coder's codes in the one order of ids
        codes = by_id[keep[by_id]]
        self.new_query = np.full(len(keep), -1)
        self.new_query[codes] = np.arange(len(codes))
        self.item_ids, self.new_item = in_order(coder.items.ids())
        self.new_item = short(self.new_item)
        coder.queries.forget_texts()
        coder.items.forget_texts()
        lengths = per_query[codes, 3].astype(np.int64)
        positions = int(lengths.max())
        queries, items = self.new_query[coder.pairs.query[:used]], self.new_item[coder.pairs.item[:used]]
        kept = queries >= 0
        query_ids = Ids(ids.texts.take(pa.array(codes)), ids.integer)
        pairs = Pairs.build(query_ids, self.item_ids, queries[kept], items[kept], lengths, positions)
        rows, whole = self._rows_of(pairs), None
        if self._wants_whole and (self.plan.top is not None or ((per_query[:, 0] > 0) & ~keep).any()):
            every = np.lexsort((items, places(by_id)[coder.pairs.query[:used]]))
            self.tallier.count_waiting()
            whole = coder.pairs.tally.found(places(every), used, coder.pairs.tally.positions)
        del queries, items, kept
        found = self._found(rows, pairs)
        pages = self._pages(rows, codes, positions)
        rankings = self.tallier.rankings(rows, self.new_query, positions)
        if self.tallier.later and pages is not None:
            rankings = grouped_pages(pages, self.engine.group_room)
        counts = Counts(
            pairs=pairs,
            impressions=per_query[codes, 0].astype(np.int64),
            reward=per_query[codes, 1],
            reward2=per_query[codes, 2],
            cells=found.cells,
            shown=found.shown,
            clicked=found.clicked,
            rankings=rankings,
            log_impressions=self.log_impressions,
            longest=self.tallier.longest,
            origin=self.tallier.origin or 0.0,
            whole=found if whole is None and self._wants_whole else whole,
            pages=rankings if self.plan.rankings == "all" else pages,
            extremes=self.tallier.extremes,
            looks=self.tallier.look_counts(rows, len(pairs), codes, positions),
            patterns=self._patterns(rows, codes, positions) if self.plan.patterns else None,
            days=self.tallier.day_sums(),
            item_chances=chances.found(rows, found.cells)
            if (chances := self.tallier.item_chances) is not None
            else None,
        )
        return counts.rebased(counts.extremes[0]) if counts.extremes is not None else counts

    @property
    def _wants_whole(self) -> bool:
        """Whether every query is asked about, where only some are judged, or down to `top` alone."""
        return self.plan.whole_log and (self.plan.queries is not None or self.plan.top is not None)

    def _found(self, rows: Codes, pairs: Pairs) -> Tally:
        """The cells; only the codes of pairs are needed from then on."""
        tally = self.coder.pairs.tally
        if not self.tallier.waiting:
            found = tally.found(rows, len(pairs), pairs.positions)
            tally.clear()
            return found
        tally.clear()
        self.tallier.waiting = []  # every row is kept
        parts = [(part.coded, part.impressions) for part in self.kept.in_memory]
        return recounted(parts, rows, len(pairs), pairs.positions)

    def _patterns(self, rows: Codes, codes: Codes, positions: int) -> Patterns:
        days = self.tallier.every_day() if self.plan.by_day else None
        clusters = self.coder.clusters
        named = clusters.hashed() if isinstance(clusters, HashedCodes) else None
        return Gathering(
            kept=self.kept, pair_rows=rows, pair_query=self._query_of(len(rows)), codes=codes, positions=positions,
            every_day=days, clusters=named,
        ).patterns()  # fmt: skip

    def _pages(self, rows: Codes, codes: Codes, positions: int) -> RowPages | None:
        if (self.plan.pages == "none" and not self.tallier.later) or not self.kept.complete:
            return None
        return RowPages(
            kept=self.kept,
            pair_rows=rows.astype(np.int32),
            pair_query=self._query_of(len(rows)).astype(np.int32),
            codes=codes,
            positions=positions,
            theta=self.plan.weights(positions),
        )

    def _query_of(self, pairs: int) -> Codes:
        """The final code of the query of each pair of the coder."""
        known = self._rows_known  # which another thread may set anew
        if known[0] is not None:
            return np.asarray(known[2])
        return np.asarray(self.new_query[self.coder.pairs.query[:pairs]])

    def sample(self, pairs: Pairs) -> Sample:
        own = self._own  # `pairs` has all of them, and maybe more
        if own is None:
            return self._sample(pairs)
        found = remembered(self.counts.memo, "sample", (own,), lambda: self._sample(own))
        return found if pairs is own else found.moved(pairs.rows_of(own))

    def _sample(self, pairs: Pairs) -> Sample:
        if self.kept.complete:
            parts = self._picked_of([*self.kept.in_memory, *self.kept.on_disk()])
        else:
            parts = self._sampled if self._sampled is not None else [self._picked(part) for part in self._again()]
        rows, query = self._rows_of(pairs), self._query_of(self.coder.used)
        positions, found = pairs.positions, []
        for part in parts:
            coded = np.full((len(part), positions), -1, dtype=np.int32)
            queries = np.empty(len(part), dtype=np.int64)
            kernels.decode_rows(part.coded, rows, query, coded, queries)
            n = part.impressions if part.impressions is not None else np.ones(len(coded), dtype=np.int64)
            found.append((queries, coded, n, self.tallier.days_of(part.day, len(coded))))
        return Sample.gathered(found, positions, self.counts.total)

    @cached_property
    def _first(self) -> NDArray[np.bool_]:
        """Which pairs of the coder may stand first in an impression of the sample."""
        counts = self.counts
        chosen = first_pairs(counts.pairs, counts.shown_first, self.log_impressions / max(self.reading.rows, 1))
        rows = self._rows_of(counts.pairs)
        return np.asarray((rows >= 0) & chosen[rows])

    def _picked_of(self, parts: Sequence[Kept]) -> list[CodedRows]:
        """The rows of all parts that are in the sample."""
        if len(parts) == 1:
            return [self._picked(parts[0])]
        self._first  # noqa: B018 - made once, before two threads ask for it
        return in_turn([partial(self._picked, part) for part in parts])

    def _picked(self, part: Kept) -> CodedRows:
        """The rows that are in the sample."""
        first = part.heads()
        some = np.flatnonzero((first >= 0) & self._first[first >> 1])
        n = None if part.impressions is None else part.impressions[some]
        day = None if part.day is None else part.day[some]
        return CodedRows(coded=part.taken(some), impressions=n, starts=np.zeros(0, dtype=np.int64), day=day)

    def _again(self) -> Iterator[CodedRows]:
        """The log read once more."""
        total = 0
        with self.crew:
            for again in self.log.again(self.reading).rows(columns_of(self.plan), crew=self.crew):
                total += int(again.impressions.sum())
                yield self.coder.code_again(again, self.tallier.day_codes(again))
                self.engine.progress(len(again))
        if total != self.log_impressions:
            raise InputError(f"{self.log.name}: the log changed while it was read: try again")

    def _rows_of(self, pairs: Pairs) -> Codes:
        """The row in `pairs` of each pair of the coder, -1 for pairs of queries that were not asked for."""
        known = self._rows_known
        if pairs is known[0]:
            return np.asarray(known[1])
        used, new_item = self.coder.used, self.new_item
        if pairs.item_ids is not self.item_ids:  # items that the log never shows have been added
            new_item = pairs.item_ids.codes(self.item_ids.texts)[new_item]
        return pairs.find(self.new_query[self.coder.pairs.query[:used]], new_item[self.coder.pairs.item[:used]])

    def adopt(self, counts: Counts) -> None:
        self.counts = counts
        pages = counts.pages
        if isinstance(pages, RowPages):
            self._rows_known = counts.pairs, pages.pair_rows, pages.pair_query
        give_back()

    def moments(self, coefficients: Coefficients) -> Moments:
        sums = MomentSums(coefficients, UnitSums(coefficients, self.plan.clusters, self.coder.clusters.size))
        rows, parts = self._rows_of(coefficients.pairs), coefficients.counts.parts()
        queries = self._query_of(len(rows))
        if len(parts) > 1 and self.kept.complete and not coefficients.own:
            sorted_ = [self._by_query(batch, queries) for batch in self._parts()]
            sums.by_parts(parts, lambda part: self._local(part, rows, queries, sorted_))
            return sums.done()
        table = coefficients.table(coefficients.counts.part(0, len(coefficients.counts.impressions)))
        where = coefficients.cells.looked_up(rows, queries)
        if coefficients.own:
            own = OwnSums(sums.out, sums.cross[0], sums.spread[0], sums.units)
            for part in self._parts():
                own.add(part, where, table, coefficients)
            return sums.done()
        if not self.kept.complete:
            self._sampled = []
            for part in self._again():
                sums.add(part, where, table)
                self._sampled.append(self._picked(part))
            return sums.done()
        in_order = [part for part in self.kept.in_memory if len(part.starts)]
        for part in in_order:
            sums.units.add(part, where, table)
        loose = [part for part in self.kept.in_memory if isinstance(part, CodedRows) and not len(part.starts)]
        for some in (*loose, *self.kept.on_disk()):
            sums.add(some, where, table)
        begins, listed = self.coder.pairs.by_query()
        by_place = coefficients.cells.looked_up(rows[listed], queries[listed])
        every, blocks = list(stacks(in_order)), self._blocks(coefficients.cells, rows, table.shape[1] * table.itemsize)
        if len(in_order) == 1:  # whose rows are by query, so that coefficients are met one after the other
            blocks = blocks_of(in_order[0].starts)

        def work(thread: int) -> None:
            """Every second block of queries, query by query: its coefficients stay in the processor's cache."""
            for block in blocks[thread::THREADS]:
                for stack in every:
                    sums.add_runs(stack.runs(*block, begins), by_place if stack.narrow else where, table, thread)

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, range(THREADS)))
        return sums.done()

    def _by_query(self, batch: Kept, queries: Codes) -> tuple[Any, Any]:
        """The rows of a batch in the order of their final queries, and these; those that were crossed out are -1."""
        first = batch.heads()
        of = np.where(first >= 0, queries[np.maximum(first, 0) >> 1], -1).astype(np.int32)
        order = np.argsort(of, kind="stable").astype(np.int32)
        return order, of[order]

    def _local(
        self, part: Part, rows: Codes, queries: Codes, sorted_: Sequence[tuple[Any, Any]]
    ) -> Iterator[CodedRows]:
        """The kept rows of some queries, with the pairs of these numbered from 0 on; pair p of the coder is rows[p], of
        the query queries[p]."""
        for batch, (order, of) in zip(self._parts(), sorted_, strict=True):
            some = order[slice(*np.searchsorted(of, [part.first, part.last]))]
            given = batch.taken(some)
            coded = np.full(given.shape, -1, dtype=np.int32)
            kernels.decode_rows(given, rows, queries, coded, np.empty(len(some), dtype=np.int64))
            coded[coded >= 0] -= 2 * part.pairs.start
            n = None if batch.impressions is None else batch.impressions[some]
            cluster = None if batch.cluster is None else batch.cluster[some]
            yield CodedRows(coded=coded, impressions=n, starts=np.zeros(0, dtype=np.int64), cluster=cluster)

    def trimmed(self, pairs: Pairs, cells: Cells, floor: NDArray[np.float64]) -> Trimmed:
        rows = self._rows_of(pairs)
        where, sums = cells.looked_up(rows, self._query_of(len(rows))), np.zeros((len(cells), 3))
        for part in self._parts():
            trim(part, where, floor, sums)
        return Trimmed(*sums.T.copy())

    def _parts(self) -> Iterator[Kept]:
        """All rows, kept or read once more."""
        if self.kept.complete:
            yield from self.kept.in_memory
            yield from self.kept.on_disk()
            return
        sampled = []
        for part in self._again():
            yield part
            sampled.append(self._picked(part))
        self._sampled = sampled

    def _blocks(self, cells: Cells, rows: Codes, cell_bytes: int) -> list[tuple[int, int]]:
        """Ranges of queries whose coefficients fit a processor's cache together."""
        size = np.append(np.diff(cells.starts), 0)[rows]
        each = np.bincount(self.coder.pairs.query[: len(rows)], size, self.coder.queries.size)
        number = np.cumsum(each) * cell_bytes // BLOCK_BYTES
        edges = np.flatnonzero(np.r_[True, number[1:] != number[:-1], True])
        return list(pairwise(edges.tolist()))


def blocks_of(starts: Codes) -> list[tuple[int, int]]:
    """Ranges of queries with as many rows each, four for every thread; the rows of query q begin at starts[q]."""
    wanted = np.linspace(starts[0], starts[-1], 4 * THREADS + 1)
    edges = np.unique(np.searchsorted(starts, wanted[1:-1]))
    return list(pairwise([0, *edges[(edges > 0) & (edges < len(starts) - 1)].tolist(), len(starts) - 1]))


def columns_of(plan: Plan) -> list[str]:
    """The columns that a plan needs beside queries and items."""
    return [
        "impressions",
        plan.metric,
        *(["propensity"] if plan.by_propensity else []),
        *(["item_propensities"] if plan.by_item else []),
        *(["cluster"] if plan.clusters else []),
        *(["day"] if plan.days or plan.by_day else []),
    ]
