"""An engine that deals rows out to three parts as Spark does, and counts them here: what Spark does, without Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from counterrank.engine import Embedded, Pass, Plan
from counterrank.engine.embedded import columns_of
from counterrank.engine.part_counts import ROWS, CountPart, Sent
from counterrank.engine.partitioned import PartitionedPass, Unlisted, adds_up, refuse
from counterrank.log import Log
from counterrank.log.rows import Kinds

try:
    from pyspark import cloudpickle
except ImportError:
    cloudpickle = None  # then nothing is sent

PARTS, ROWS_AT_ONCE = 3, 5


class HereJobs:
    """What goes to a worker and comes back is pickled on the way, as Spark does it."""

    def __init__(self, log: Log, plan: Plan) -> None:
        self.log, self.plan = log, plan
        self.kept: list[list[Sent]] = []

    def kinds(self, log: Log) -> Kinds:
        return log.kinds()

    def _batches(self, number: int) -> Iterator[pa.RecordBatch]:
        """Every third few rows; what is wrong in a row of a text file is its last column, where there is one."""
        at = 0
        for part, found in zip(self.log.parts, self.log.found, strict=True):
            for batch in part.batches({c: found[c] for c in self.log.to_read(columns_of(self.plan))}):
                for first in range(0, len(batch), ROWS_AT_ONCE):
                    if at % PARTS == number:
                        yield batch.slice(first, ROWS_AT_ONCE)
                    at += 1

    def count(self, work: CountPart) -> list[Sent]:
        self.kept = [list(sent_to(work).of_batches(self._batches(number))) for number in range(PARTS)]
        sent = [each for part in self.kept for each in part if each[0] != ROWS]
        refuse(sent)
        return sent

    def rows(self) -> Iterator[tuple[int, Any]]:
        for number, part in enumerate(self.kept):
            yield from ((number, data) for kind, data in part if kind == ROWS)

    def again(self, given: Any, method: str) -> list[Sent]:
        parts = [[data for kind, data in part if kind == ROWS] for part in self.kept]
        return [each for part in parts for each in getattr(sent_to(given), method)(iter(part))]


def sent_to(given: Any) -> Any:
    return given if cloudpickle is None else pickle.loads(cloudpickle.dumps(given))  # noqa: S301 - as it was just made


class InParts:
    """As `engine.spark.Spark` chooses; what does not add up is counted by the embedded engine."""

    name = "duckdb"

    def count(self, log: Log, plan: Plan) -> Pass:
        if adds_up(plan):
            try:
                return PartitionedPass(log, plan, HereJobs(log, plan))
            except Unlisted:
                pass
        return Embedded().count(log, plan)
