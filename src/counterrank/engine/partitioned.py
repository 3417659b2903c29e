"""The pass of a log whose rows are dealt out to processes that count their own: what each gives adds up here.

Only statistics come here, never rows, but for rankings where the plan asks for all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from counterrank.engine.coder import CodedRows
from counterrank.engine.embedded import CACHE_BYTES
from counterrank.engine.kept import KeptRows
from counterrank.engine.packed import unpacked
from counterrank.engine.pages import RowPages
from counterrank.engine.part_counts import COUNTS, ERROR, OTHERS, READ, CountPart, LogHead, Sent, read_together
from counterrank.engine.part_sums import (
    MOMENTS,
    SAMPLE,
    Choice,
    Floors,
    Picked,
    Weights,
    final,
    moments_together,
    unpacked_sample,
)
from counterrank.engine.plan import Coefficients, Moments, Plan
from counterrank.engine.sent_rows import Receiver, SentRows
from counterrank.errors import InputError, NoneFound
from counterrank.log import Log
from counterrank.log.quarantine import quarantine
from counterrank.log.reading import Reading
from counterrank.log.reading import Tally as RowTally
from counterrank.statistics.cells import Cells, Tally
from counterrank.statistics.counts import Counts
from counterrank.statistics.days import MOST_DAYS
from counterrank.statistics.item_chances import Trimmed
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.sample import NO_DAY, Sample, first_pairs
from counterrank.statistics.store import unpacked_counts
from counterrank.threads import in_turn

FETCHED = 1 << 20  # rows up to which all rankings are fetched where nobody asked for them by name


class Jobs(Protocol):
    """Who deals a log's rows out and runs work on each part. With it go the rows that it keeps."""

    def kinds(self, log: Log) -> Any:
        """What the ids are as the parts get them."""

    def count(self, work: CountPart) -> list[Sent]:
        """What was counted of every part; coded rows stay where they are."""

    def rows(self) -> Iterator[tuple[int, Any]]:
        """The coded rows themselves, those of a part in their order, each with the number of its part."""

    def again(self, given: Any, method: str) -> list[Sent]:
        """What a method of `given` makes of the coded rows of each part."""


class Unlisted(Exception):
    """The log has bad rows, and no file in which they can be looked up."""


def adds_up(plan: Plan) -> bool:
    """Whether all that the plan asks for adds up over parts: clusters may have impressions in several, and patterns
    would come here one by one."""
    return not plan.clusters and not plan.patterns


class PartitionedPass:
    """One log, counted in parts; `moments` weighs the coded rows of the same parts."""

    clusters = None  # see `adds_up`

    def __init__(self, log: Log, plan: Plan, jobs: Jobs) -> None:
        if plan.metric not in log.columns:
            raise InputError(f"{log.name}: the log has no column {plan.metric!r}")
        self.log, self.plan, self.jobs = log, plan, jobs
        head = LogHead(log.name, log.columns, jobs.kinds(log), log.repair)
        wants_pages = plan.pages != "none" and plan.rankings != "all"
        sent = jobs.count(CountPart(head, plan, keeps=plan.metric == "clicks" or wants_pages))
        found = [json.loads(data) for kind, data in sent if kind == READ]
        self.reading = self._read(read_together(log.name, found))
        if not (counts := _of_kind(sent, COUNTS)):
            raise NoneFound(f"{log.name}: the log has none of the queries asked for: are their ids the same?")
        self.counts = self._added(counts, _of_kind(sent, OTHERS), sum(part["impressions"] for part in found))
        if plan.rankings == "all":
            self.counts = replace(self.counts, pages=self.counts.rankings)
        elif plan.pages == "all" or (wants_pages and sum(part["counted"] for part in found) <= FETCHED):
            self.counts = replace(self.counts, pages=self._pages())
        self._sampled: tuple[Pairs, list[Picked]] | None = None  # by the second pass, under these pairs

    def _read(self, tally: RowTally) -> Reading:
        """What was read; bad rows are looked up by our own reader, which knows where in a file a row stands."""
        log = self.log
        if not tally.rejected or log.known is not None:
            if log.writes and log.bad_rows is not None:
                with quarantine(log.bad_rows, log.joins):
                    pass  # a file that says there are none
            return log.read_as(tally)
        if log.table is not None:
            raise Unlisted
        reader = log.rows([], self.plan.overview)
        for _ in reader:
            pass
        return log.again(reader.reading).read_as(tally)

    def _added(self, parts: Sequence[bytes], others: Sequence[bytes], impressions: int) -> Counts:
        counts = Counts.added(in_turn([partial(unpacked_counts, data) for data in parts]))
        if counts.extremes is not None:
            counts = counts.rebased(counts.extremes[0])
        if counts.days is not None and len(counts.days.days) > MOST_DAYS:
            counts = replace(counts, days=None)
        whole = counts.tally if self.plan.whole_log else None  # without the pairs that policies may add
        if whole is not None and others:
            whole = _beside(whole, Counts.added([unpacked_counts(data) for data in others]).tally)
        return replace(counts, log_impressions=impressions, whole=whole)

    def _pages(self) -> RowPages:
        """All rows under their final codes; they come when somebody looks at them."""
        pairs = self.counts.pairs
        return RowPages(
            kept=ComingRows(self.jobs, pairs, self.counts.origin),
            pair_rows=np.arange(len(pairs), dtype=np.int32),
            pair_query=pairs.queries.astype(np.int32),
            codes=np.arange(len(pairs.query_ids)),
            positions=pairs.positions,
            theta=self.plan.weights(pairs.positions),
        )

    def adopt(self, counts: Counts) -> None:
        self.counts = counts

    def moments(self, coefficients: Coefficients) -> Moments:
        pairs = coefficients.pairs
        weights = Weights.from_coefficients(coefficients, self._chosen(pairs))
        sent = self.jobs.again(weights, "weighed")
        self._sampled = pairs, [unpacked_sample(data) for data in _of_kind(sent, SAMPLE)]
        size = len(pairs.query_ids), len(coefficients.scale)
        return moments_together(_of_kind(sent, MOMENTS), *size, coefficients.by_query)

    def trimmed(self, pairs: Pairs, cells: Cells, floor: NDArray[np.float64]) -> Trimmed:
        sent = self.jobs.again(Floors(pairs, cells, floor), "trimmed")
        sums = sum(unpacked(data)["sums"] for _, data in sent)
        return Trimmed(*np.asarray(sums).T.copy())

    def sample(self, pairs: Pairs) -> Sample:
        if self._sampled is None or self._sampled[0] is not pairs:
            sent = self.jobs.again(Choice(pairs, self._chosen(pairs)), "sampled")
            self._sampled = pairs, [unpacked_sample(data) for _, data in sent]
        parts = self._sampled[1]
        if self.counts.days is None:
            parts = [(queries, coded, n, np.full(len(days), NO_DAY)) for queries, coded, n, days in parts]
        return Sample.gathered(parts, pairs.positions, self.counts.total)

    def _chosen(self, pairs: Pairs) -> NDArray[np.bool_]:
        """Which of these pairs may stand first in an impression of the sample."""
        counts = self.counts
        chosen = first_pairs(counts.pairs, counts.shown_first, counts.log_impressions / max(self.reading.rows, 1))
        if pairs is counts.pairs:
            return chosen
        out = np.zeros(len(pairs), dtype=np.bool_)
        out[pairs.rows_of(counts.pairs)[chosen]] = True
        return out


class ComingRows(KeptRows):
    """The coded rows of all parts, fetched when they are first looked at; those of each batch are in the order of their
    queries."""

    def __init__(self, jobs: Jobs, pairs: Pairs, origin: float) -> None:
        self._jobs, self._pairs, self._origin = jobs, pairs, origin
        self._one = Lock()

    def __getattr__(self, name: str) -> Any:
        with self._one:  # several threads may look at once
            if "complete" not in vars(self):
                vars(self).update(vars(self._fetched()))
        return super().__getattribute__(name)

    def _fetched(self) -> KeptRows:
        kept = KeptRows(CACHE_BYTES, to_disk=True)
        last, receiver = -1, Receiver(self._pairs)
        for part, data in self._jobs.rows():
            if part != last:
                last, receiver = part, Receiver(self._pairs)
            rows, _ = receiver.unpacked(data)
            kept.add(_by_query(rows, receiver, self._origin))
        return kept


def _beside(one: Tally, other: Tally) -> Tally:
    """The cells of two lots of pairs that have none in common, the second numbered after the first."""
    starts = np.append(one.cells.starts, one.cells.starts[-1] + other.cells.starts[1:])
    positions = np.append(one.cells.positions, other.cells.positions)
    cells = Cells(starts, positions, max(one.cells.depth, other.cells.depth))
    return Tally(cells, np.append(one.shown, other.shown), np.append(one.clicked, other.clicked))


def _of_kind(sent: Sequence[Sent], wanted: str) -> list[bytes]:
    return [data for kind, data in sent if kind == wanted]


def refuse(sent: Sequence[Sent]) -> None:
    """The first error that a part met, in the words it would have here."""
    for data in _of_kind(sent, ERROR):
        raise InputError(data.decode())


def _by_query(rows: CodedRows | SentRows, receiver: Receiver, origin: float) -> CodedRows:
    some = np.flatnonzero(rows.heads() >= 0)
    queries, coded, n, _ = final(rows, None, some, receiver)
    order = np.argsort(queries, kind="stable")
    starts = np.searchsorted(queries[order], np.arange(len(receiver.pairs.query_ids) + 1))
    return CodedRows(
        coded=coded[order],
        impressions=None if rows.impressions is None else n[order],
        starts=starts,
        reward=None if rows.reward is None else rows.reward[some][order] - origin,
    )
