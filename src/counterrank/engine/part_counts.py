"""The first pass where a log's rows are dealt out: what a process counts of its own, as bytes that add up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from platform import node
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.crew import Crew
from counterrank.engine.coder import CodedRows
from counterrank.engine.embedded import Embedded, EmbeddedPass
from counterrank.engine.plan import Plan
from counterrank.engine.sent_rows import Sender
from counterrank.errors import InputError, NoneFound
from counterrank.log import Log
from counterrank.log.parts import ParquetPart
from counterrank.log.problems import RowProblem
from counterrank.log.reader import look, named
from counterrank.log.reading import Tally
from counterrank.log.rows import Kinds, Rows, read_rows
from counterrank.records import dataclass
from counterrank.statistics.counts import Counts
from counterrank.statistics.order import in_order
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.store import packed_counts

Sent = tuple[str, bytes]  # what it is, and its content
# what is sent: an error, coded rows, what was read, counts, and the cells of queries that were not asked for
ERROR, ROWS, READ, COUNTS, OTHERS = "error", "rows", "read", "counts", "others"
ENDLESS = 1 << 30  # groups of rankings: they come together in one memory anyway


@dataclass(frozen=True)
class Piece:
    """Row groups of a Parquet file, and what its columns are called."""

    path: Path
    name: str  # of the log's part, for messages
    wanted: Mapping[str, str]
    groups: Sequence[int]

    def batches(self) -> Iterator[pa.RecordBatch]:
        if not self.path.exists():
            raise InputError(
                f"{self.name}: there is no such file on {node()}, one of those that count: put it where all of them "
                "have it under the same path"
            )
        yield from ParquetPart(self.path).row_groups(self.wanted, self.groups)


@dataclass(frozen=True)
class LogHead:
    """What is to know of a log beside its rows."""

    name: str
    columns: frozenset[str]
    ids: Kinds
    repair: bool

    def kinds(self) -> Kinds:
        return self.ids


@dataclass(frozen=True)
class CountPart:
    """Counts one part of a log; `keeps`: and sends its rows on, coded, for the second pass."""

    log: LogHead
    plan: Plan
    keeps: bool

    def of_pieces(self, pieces: Sequence[Piece]) -> Iterator[Sent]:
        """A part that is in files."""
        return self._told((piece.name, batch) for piece in pieces for batch in piece.batches())

    def of_batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Sent]:
        """A part that came as typed columns, with what was found when it was folded."""
        return self._told((self.log.name, batch) for batch in batches)

    def _told(self, batches: Iterator[tuple[str, pa.RecordBatch]]) -> Iterator[Sent]:
        try:
            yield from self._counted(batches)
        except InputError as error:
            yield ERROR, str(error).encode()

    def _counted(self, batches: Iterator[tuple[str, pa.RecordBatch]]) -> Iterator[Sent]:
        part = PartPass(self.log, self.plan)
        overview = self.plan.overview
        tally = Tally(days=set() if overview and "day" in self.log.columns else None)
        sender, rows_counted = Sender(part.coder), 0
        for name, batch in batches:
            rows = self._good(*_folded(batch), name, tally)
            if overview:
                look(rows, tally)
            if len(rows):
                done, days = part.feed(named(rows))
                rows_counted += int((done.coded[:, 0] >= 0).sum())
                if self.keeps:
                    yield from ((ROWS, content) for content in sender.packed(done, days))
        yield READ, json.dumps(told(tally) | {"impressions": part.log_impressions, "counted": rows_counted}).encode()
        if rows_counted or part.log_impressions:
            yield from ((kind, packed_counts(counts)) for kind, counts in part.finished())

    def _good(self, batch: pa.RecordBatch, timed: NDArray[np.bool_] | None, name: str, tally: Tally) -> Rows:
        """The good rows of a batch; the others are counted."""
        rows, problem = read_rows(batch, self.log.ids, name, self.log.repair)
        if problem.any():
            for what, number in zip(*np.unique(problem[problem > 0], return_counts=True), strict=True):
                tally.add(self.log.name, RowProblem(what), int(number))
            rows, _ = read_rows(batch.filter(pa.array(problem == 0)), self.log.ids, name, self.log.repair)
        tally.rows += len(rows)
        tally.timed += rows.timed if timed is None else int(np.count_nonzero(timed & (problem == 0)))
        tally.repaired += rows.repaired
        return rows


def _folded(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, NDArray[np.bool_] | None]:
    """Typed columns as the reader takes them, and which rows told their day as a time."""
    names = ["problem_" if name == "folding" else name for name in batch.schema.names]
    if "timed" not in names:
        return batch.rename_columns(names), None
    timed = np.asarray(batch.column("timed").to_numpy(zero_copy_only=False), dtype=np.bool_)
    return batch.rename_columns(names).drop_columns(["timed"]), timed


class PartPass(EmbeddedPass):
    """The embedded engine's tables, fed by hand and in one thread: other cores have parts of their own."""

    def __init__(self, log: LogHead, plan: Plan) -> None:
        engine = Embedded(cache_bytes=0, group_room=ENDLESS)
        self._begin(cast("Log", log), replace(plan, pages="none"), engine, Crew(alone=True))

    def feed(self, rows: Rows) -> tuple[CodedRows, NDArray[np.int64] | None]:
        """Count rows; they come back coded, with their rewards from 0 and the day of each where days are counted."""
        self._count(rows)
        assert self._pending is not None  # noqa: S101 - they were just handed in
        done = self.crew.result(self._pending)
        assert isinstance(done, CodedRows)  # noqa: S101 - nothing is kept here
        self._settle()
        if done.reward is not None:
            done = replace(done, reward=done.reward + (self.tallier.origin or 0.0))
        return done, None if done.day is None else self.tallier.days_of(done.day, len(done.coded))

    def finished(self) -> Iterator[tuple[str, Counts]]:
        """The counts, if the part has any query that was asked for; first the cells of all others where the plan asks
        for the whole log."""
        asked = self.coder.asked
        if self.plan.whole_log and asked is not None and self.coder.queries.size > asked:
            yield OTHERS, self._others(asked)
        self.plan = replace(self.plan, whole_log=False)
        try:
            yield COUNTS, self._finish()
        except NoneFound:
            return

    def _others(self, asked: int) -> Counts:
        """The cells of queries that were not asked for, whose codes come after the others, and nothing else."""
        coder, used = self.coder, self.coder.used
        ids = coder.queries.ids()
        query_ids, new_query = in_order(replace(ids, texts=ids.texts[asked:]))
        item_ids, new_item = in_order(coder.items.ids())
        some = np.flatnonzero(coder.pairs.query[:used] >= asked)
        queries, items = new_query[coder.pairs.query[some] - asked], new_item[coder.pairs.item[some]]
        depth, lengths = coder.pairs.tally.positions, np.zeros(len(query_ids), dtype=np.int64)
        pairs = Pairs.build(query_ids, item_ids, queries, items, lengths, depth)
        rows = np.full(used, -1, dtype=np.int64)
        rows[some] = pairs.find(queries, items)
        return Counts.of_cells(pairs, coder.pairs.tally.found(rows, len(pairs), depth))


def told(tally: Tally) -> dict[str, Any]:
    """What a part read, as JSON has it."""
    return {
        "rows": tally.rows,
        "timed": tally.timed,
        "repaired": tally.repaired,
        "reward": tally.reward,
        "days": None if tally.days is None else sorted(tally.days),
        "wrong": {int(problem): number for (_, problem), number in tally.counts.items()},
    }


def read_together(name: str, parts: Sequence[Mapping[str, Any]]) -> Tally:
    """What all parts read."""
    days = [part["days"] for part in parts if part["days"] is not None]
    tally = Tally(days=set().union(*days) if days else None)
    for part in parts:
        tally.rows += part["rows"]
        tally.timed += part["timed"]
        tally.repaired += part["repaired"]
        tally.reward = [a + b for a, b in zip(tally.reward, part["reward"], strict=True)]
        for problem, number in part["wrong"].items():
            tally.add(name, RowProblem(int(problem)), number)
    return tally
