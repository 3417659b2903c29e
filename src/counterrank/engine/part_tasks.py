"""Work on parts of a log as functions that Spark takes to its workers. They import no more than the work needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from counterrank.engine.part_counts import CountPart, Piece, Sent

SENT = "part int, kind string, content binary"
Work = Callable[[Iterator[pa.RecordBatch]], Iterator[Sent]]


def sending(work: Work) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Work whose results are rows of `SENT`, each with the number of the part."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        task = TaskContext.get()
        number = task.partitionId() if task is not None else 0
        for kind, content in work(batches):
            columns = [pa.array([number], pa.int32()), pa.array([kind]), pa.array([content], pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, ["part", "kind", "content"])

    return run


def counting(work: CountPart, parts: Sequence[Sequence[Piece]]) -> Work:
    """Counts the pieces of the parts whose numbers come in."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[Sent]:
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        return work.of_pieces([piece for number in numbers for piece in parts[number]])

    return run


def going_on(known: Any, method: str) -> Work:
    """A method of what was sent to every worker, given the contents that come in."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[Sent]:
        found: Iterator[Sent] = getattr(known.value, method)(
            content.as_buffer() for batch in batches for content in batch.column(0)
        )
        return found

    return run
