"""Coded rows counted: sums by query, pairs by position, groups of rankings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.engine import kernels
from counterrank.engine.coder import CodedRows, Coder, placed, power_of_two
from counterrank.engine.narrow import Kept
from counterrank.engine.plan import Plan
from counterrank.engine.records import Batch, GroupArrays, Sums, Wanted
from counterrank.engine.spill import Spill, SpilledRankings
from counterrank.engine.tables import GroupTable, Vocabulary
from counterrank.ids import Codes
from counterrank.log.rows import Rows
from counterrank.statistics.days import MOST_DAYS, DaySums
from counterrank.statistics.hashing import SECRET
from counterrank.statistics.item_chances import ItemChanceTally
from counterrank.statistics.looks import LookCounts, tally_looks
from counterrank.statistics.pairs import sum_by
from counterrank.statistics.rankings import RankingGroups, Rankings
from counterrank.statistics.sample import NO_DAY

DEFERRED = 1 << 24  # shown items of a log of many cells that wait to be counted by cell: 64 MB at the end


class Tallier:
    """What the first pass adds up. GroupArrays beyond `group_room` go to disk."""

    def __init__(self, plan: Plan, coder: Coder, group_room: int) -> None:
        self.plan, self.coder = plan, coder
        self.longest = 0  # list of the queries asked for, uncut
        self.per_query = np.zeros((1024, 4))  # impressions, Σ reward, Σ reward², longest cut list
        self.groups = GroupTable(1, group_room)
        self.met = 0  # groups in that table
        self.spill: Spill | None = None
        self.origin: float | None = None  # rewards are counted from here, so that sums of squares stay small
        self.days = Vocabulary(integer=True, native=True)
        self.per_day = np.zeros((64, 3))  # impressions, Σ reward, Σ reward²
        self.extremes: tuple[float, float] | None = None  # the least and the largest reward of the queries asked for
        self.cluster_sizes = np.zeros(0)  # impressions of each cluster
        self.looks = np.zeros((0, 4), dtype=np.int64)
        self.last_at = np.zeros((0, 0), dtype=np.int64)
        self.item_chances = ItemChanceTally() if plan.by_item else None
        self.room_to_wait = DEFERRED  # shown items that may still wait to be counted by cell
        self.waiting: list[CodedRows] = []  # rows that wait for it
        self.begins = np.zeros(0, dtype=np.bool_)  # of pairs, whether a wanted ranking begins with them
        self.begun = 0  # pairs of which that is known
        self.later = False  # groups of rankings are not counted now, but gathered from the rows that are kept

    def make_room(self, positions: int) -> None:
        """Room for the queries and positions met so far."""
        if self.coder.queries.size > len(self.per_query):
            grown = np.zeros((power_of_two(self.coder.queries.size), 4))
            grown[: len(self.per_query)] = self.per_query
            self.per_query = grown
        self.coder.pairs.tally.grow(0, positions)
        self.coder.want(positions)
        self._note_beginnings()
        self.groups.widen(positions)
        if self.plan.looks:
            self.looks = _room(self.looks, len(self.coder.pairs.query), 4)
            self.last_at = _room(self.last_at, len(self.per_query), positions)

    def _note_beginnings(self) -> None:
        """Know of the pairs met so far whether wanted rankings begin with them."""
        coder, known = self.coder, self.begun
        if coder.wanted is None or known == coder.used:
            return
        self.begun = coder.used
        if self.begun > len(self.begins):
            self.begins = np.pad(self.begins, (0, len(coder.pairs.query) - len(self.begins)))
        pairs = coder.pairs
        kernels.note_beginnings(known, self.begun, pairs.query, pairs.item, coder.wanted, SECRET, self.begins)

    def add(
        self, rows: Rows, codes: Codes, place: Codes, starts: Codes, coded: NDArray[np.int32], counted: bool
    ) -> CodedRows:
        """Count a batch of which each row was coded at its place; there the rows of a query begin at `starts`."""
        plan, coder = self.plan, self.coder
        covered = coder.covered(len(self.per_query))
        if (paid := rows.reward if plan.metric == "reward" else None) is not None:
            self._span(paid[(codes >= 0) & covered[codes]])
        codes, days = placed(codes, place), self.day_codes(rows)
        days = placed(days, place) if len(days) else days
        reward = None if paid is None else placed(paid, place) - (self.origin or 0.0)
        impressions = placed(rows.impressions, place) if counted else rows.impressions  # else they are all 1
        propensity = np.zeros(0) if rows.propensity is None else placed(rows.propensity, place)
        batch = Batch(
            query_codes=codes,
            lengths=placed(np.diff(rows.offsets), place),
            impressions=impressions,
            reward=np.zeros(0) if reward is None else reward,
            propensity=propensity,
            bits=propensity.view(np.uint64),
            days=days,
            coded=coded,
        )
        waits = self._waits(codes, coded, covered)
        self._tally(batch, starts, covered, waits)
        chances = coder.chances(rows, coded.shape[1])
        chances = None if chances is None else placed(chances, place)
        if self.item_chances is not None and chances is not None:
            self.item_chances.add(coded, chances, impressions)
        cluster = coder.clustered(rows)
        if cluster is not None:
            cluster = placed(cluster, place)
            mine = (codes >= 0) & covered[codes]
            sizes = sum_by(cluster[mine], impressions[mine], coder.clusters.size)
            sizes[: len(self.cluster_sizes)] += self.cluster_sizes
            self.cluster_sizes = sizes
        done = CodedRows(
            coded=coded,
            impressions=impressions if counted else None,
            starts=starts,
            reward=reward,
            day=days.astype(np.int32) if len(days) else None,
            cluster=cluster,
            chances=chances,
        )
        if waits:
            self.waiting.append(done)
        return done

    def _waits(self, codes: Codes, coded: NDArray[np.int32], covered: NDArray[np.bool_]) -> bool:
        """Whether the cells of a batch are counted in the end, from rows that are kept.

        All rows must be there then, and few enough: with many cells this takes less room than a table to find them in.
        Rows of queries that were not asked for are crossed out, so that they cannot wait.
        """
        if self.coder.pairs.tally.dense or not self.room_to_wait:
            return False
        self.room_to_wait = max(self.room_to_wait - coded.size, 0)
        if self.room_to_wait and covered[codes[codes >= 0]].all():
            return True
        self.count_waiting()
        return False

    def count_waiting(self) -> None:
        """Count the cells of what waited; nothing will wait any more."""
        for rows in self.waiting:
            n = np.ones(len(rows.coded), dtype=np.int64) if rows.impressions is None else rows.impressions
            self.coder.pairs.tally.add(rows.coded, n)
        self.waiting, self.room_to_wait = [], 0

    def _tally(self, batch: Batch, starts: Codes, covered: NDArray[np.bool_], waits: bool) -> None:
        """Add the rows to cells, queries, days, groups of rankings and looks."""
        plan, coder = self.plan, self.coder
        coded, impressions = batch.coded, batch.impressions
        wanted = 1 if coder.wanted is not None else 2 if plan.rankings == "all" and not self.later else 0
        keys = coder.wanted if coder.wanted is not None else np.zeros(1, dtype=np.uint64)
        theta, has_reward = plan.weights(coded.shape[1]), plan.metric == "reward"
        asked = Wanted(covered, theta, has_reward, plan.by_propensity, wanted, keys, self.begins)
        if not coder.pairs.tally.dense and not waits:
            coder.pairs.tally.add(coded, impressions)
        self._sum(batch, starts, asked)
        if wanted:
            self._group(batch, asked)
        if plan.looks:
            tally_looks(batch.query_codes, coded, impressions, self.looks, self.last_at)

    def _sum(self, batch: Batch, starts: Codes, asked: Wanted) -> None:
        """Add the rows to cells, queries and days, in two halves that have queries of their own."""
        size = len(batch.coded)
        middle = int(starts[np.searchsorted(starts, size // 2)]) if len(starts) else size
        second = np.zeros_like(self.per_day)  # of the rows from there on

        def run(first: int, last: int) -> int:
            sums = Sums(self.coder.pairs.tally.table, self.per_query, second if first else self.per_day)
            return int(kernels.tally_rows(first, last, batch, asked, sums))

        self.longest = max(self.longest, *self.coder.crew.halves(run, 0, size, middle))
        self.per_day += second

    def catch_up(self, parts: Sequence[Kept]) -> None:
        """Count the groups of rankings of these rows, which count for all else already, and from now on all others."""
        self.later = False
        for part in parts:
            coded, size = np.require(part.coded, requirements="W"), len(part.coded)  # those on disk are read only
            first, days = coded[:, 0], np.zeros(0, dtype=np.int64)
            codes = np.where(first >= 0, self.coder.pairs.query[np.maximum(first, 0) >> 1], -1)
            n = (
                np.ones(size, dtype=np.int64)
                if part.impressions is None
                else np.require(part.impressions, requirements="W")
            )
            reward = np.zeros(0) if part.reward is None else np.require(part.reward, requirements="W")
            batch = Batch(
                query_codes=codes, lengths=np.zeros(size, dtype=np.int64), impressions=n, reward=reward,
                propensity=np.zeros(0), bits=np.zeros(0, dtype=np.uint64), days=days, coded=coded,
            )  # fmt: skip
            theta, every = self.plan.weights(coded.shape[1]), np.ones(len(self.per_query), dtype=np.bool_)
            none = np.zeros(1, dtype=np.uint64)
            self._group(batch, Wanted(every, theta, self.plan.metric == "reward", False, 2, none, self.begins))

    def _group(self, batch: Batch, asked: Wanted) -> None:
        """Add the rows to groups of rankings."""
        done, items = 0, self.coder.pairs.item
        while True:
            groups = self.groups
            arrays = GroupArrays(groups.slots, groups.query, groups.rows, groups.sums, groups.propensity)
            done, self.met = kernels.group_rows(done, self.met, batch, asked, items, arrays, SECRET)
            if done >= len(batch.coded):
                return
            self._make_group_room()

    def forget(self) -> None:
        """Give back what rows are added to: no row will be counted again."""
        self.per_query = self.per_query[:0].copy()
        self.groups.clear()
        self.plan = self.coder.plan

    def day_codes(self, rows: Rows) -> Codes:
        """The code of each row's day; empty where days are not counted."""
        if rows.day is None or not (self.plan.by_day or (self.plan.days and self.days.size <= MOST_DAYS)):
            return np.zeros(0, dtype=np.int64)
        codes = self.days.encode(rows.day, pa.array(rows.day))
        if self.days.size > len(self.per_day):
            self.per_day = np.pad(self.per_day, ((0, power_of_two(self.days.size) - len(self.per_day)), (0, 0)))
        return codes

    def every_day(self) -> Codes:
        """The days that were met, in the order of their codes."""
        return np.asarray(self.days.ids().texts.cast(pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)

    def days_of(self, codes: NDArray[np.int32] | None, size: int) -> Codes:
        """The day of each row from its code; of so many rows none where days are not counted."""
        if codes is None or not 0 < self.days.size <= MOST_DAYS:
            return np.full(size, NO_DAY)
        days = self.every_day()
        return np.where(codes >= 0, days[np.maximum(codes, 0)], NO_DAY)

    def day_sums(self) -> DaySums | None:
        if not self.plan.days or not 0 < self.days.size <= MOST_DAYS:
            return None
        days = self.every_day()
        n, reward, reward2 = self.per_day[: self.days.size].T
        met = n > 0
        return DaySums.gathered(days[met], n[met].astype(np.int64), reward[met], reward2[met]) if met.any() else None

    def _span(self, rewards: NDArray[np.float64]) -> None:
        if len(rewards):
            low, high = float(rewards.min()), float(rewards.max())
            old = self.extremes or (low, high)
            self.extremes = min(low, old[0]), max(high, old[1])

    def _make_group_room(self) -> None:
        if not self.groups.grow(self.met):
            self._set_down(self.met)

    def _set_down(self, used: int) -> Spill:
        """Move the groups to disk."""
        if self.spill is None:
            self.spill = Spill(self.plan.by_propensity)
        self.spill.write(self.groups, used)
        self.groups.clear()
        self.met = 0
        return self.spill

    def rankings(self, pair_rows: Codes, new_query: Codes, positions: int) -> RankingGroups | None:
        """The groups, with pairs and queries under their final codes."""
        if self.plan.rankings == "none":
            return None
        used = self.met
        if self.spill is not None:
            return SpilledRankings(self._set_down(used), pair_rows, new_query, positions)
        table = self.groups
        groups = Rankings(
            queries=table.query[:used],
            rows=table.rows[:used, :positions].astype(np.int64, copy=False),
            impressions=table.sums[:used, 0],
            reward=table.sums[:used, 1],
            reward2=table.sums[:used, 2],
            propensity=table.propensity[:used] if self.plan.by_propensity else None,
        )
        return groups.moved(pair_rows, new_query, positions).merged()

    def look_counts(self, pair_rows: Codes, pairs: int, keep: Codes, positions: int) -> LookCounts | None:
        """The looks, with pairs under their final codes; `keep` has the codes of the queries that stay."""
        if not self.plan.looks:
            return None
        known = np.flatnonzero(pair_rows >= 0)
        table = np.zeros((pairs, 4), dtype=np.int64)
        table[pair_rows[known]] = self.looks[known]
        return LookCounts(table, self.last_at[keep, :positions])


def _room(table: Codes, rows: int, columns: int) -> Codes:
    """The table with at least so many rows and columns."""
    more = max(rows - table.shape[0], 0), max(columns - table.shape[1], 0)
    return np.pad(table, ((0, more[0]), (0, more[1]))) if any(more) else table
