"""Counting by compiled loops on Spark: its workers read and count parts of a log, and give back statistics as bytes.

Parquet files are read by the workers themselves, row group by row group, as the embedded engine reads them. Whatever
else Spark holds (its own tables, the long form once it is folded) comes to the same loops as Arrow batches.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from counterrank import temporary
from counterrank.engine.embedded import columns_of
from counterrank.engine.part_counts import ROWS, CountPart, Piece, Sent
from counterrank.engine.part_tasks import SENT, Work, counting, going_on, sending
from counterrank.engine.partitioned import refuse
from counterrank.engine.plan import Plan
from counterrank.engine.relational import in_list_form
from counterrank.log import Log
from counterrank.log.files import ParquetPart, Part, Wanted
from counterrank.log.long_form import LongPart
from counterrank.log.parts import BATCH_ROWS
from counterrank.log.read import IbisPart
from counterrank.log.rows import Kinds
from counterrank.version import __version__

if TYPE_CHECKING:
    from counterrank.engine.spark import Spark

SMALL_ROWS = 1 << 20  # rows up to which a log is one part for each core: each part costs the driver an addition
GOOD_ROWS, MANY = 1 << 22, 64  # rows of a part of a longer one, up to so many parts
MOST_ROWS = 1 << 25  # rows of a part at most, where row groups allow: coded they take a gigabyte or so
ARROW_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
# Java remembers the last hundred things that it wrote to a disk: so Spark may not put many contents into one
ONE_BY_ONE = {
    "spark.sql.inMemoryColumnarStorage.batchSize": "1",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
}
_able: dict[str, str] = {}  # by application: what is missing on its workers, "" where nothing is


class SparkJobs:
    """One log on one Spark; see `partitioned.Jobs`."""

    def __init__(self, spark: Spark, log: Log, plan: Plan) -> None:
        self.spark, self.log, self.plan = spark, log, plan
        self.copies: list[temporary.Folder] = []
        self.kept: Any = None

    @cached_property
    def pieces(self) -> list[list[Piece]] | None:
        """The row groups of each part, None where the rows are not in files that a worker can open."""
        near = self.spark.session.sparkContext.master.startswith("local")
        if not all(isinstance(part, ParquetPart) or (near and _copies(part)) for part in self.log.parts):
            return None
        columns, found = self.log.to_read(columns_of(self.plan)), []
        for part, names in zip(self.log.parts, self.log.found, strict=True):
            wanted = {c: names[c] for c in columns}
            file = part if isinstance(part, ParquetPart) else self._copied(part, wanted)
            if file is not part:
                wanted = {c: c for c in file.columns}
            path = file.path.absolute()
            found += [(Piece(path, part.name, wanted, [g]), rows) for g, rows in enumerate(file.group_sizes())]
        return dealt_out(found, self.spark.session.sparkContext.defaultParallelism)

    def _copied(self, part: Part, wanted: Wanted) -> ParquetPart:
        """Rows as our own reader gives them, in a temporary file."""
        folder, path = self.spark.copied(part, wanted, lambda schema: schema)
        self.copies.append(folder)
        return ParquetPart(path)

    def kinds(self, log: Log) -> Kinds:
        kinds = log.kinds()
        return kinds if self.pieces is not None else Kinds(False, False, kinds.native_queries, kinds.native_items)

    def count(self, work: CountPart) -> list[Sent]:
        from pyspark import StorageLevel

        frame = self._mapped(work)
        if not work.keeps:
            return self._collected(frame)
        with _settings(self.spark.session, ONE_BY_ONE):
            frame = self.kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
            weakref.finalize(self, _forget, frame)
            return self._collected(frame.filter(f"kind <> '{ROWS}'"))

    def _mapped(self, work: CountPart) -> Any:
        """The work on each part."""
        pieces, session = self.pieces, self.spark.session
        if pieces is not None:
            return _mapped(session.range(0, len(pieces), 1, len(pieces)), counting(work, pieces))
        session.conf.set(ARROW_ROWS, str(BATCH_ROWS))
        table = in_list_form(self.log, columns_of(self.plan), self.spark)
        self.copies, self.spark.made, self.spark.size = self.spark.made, [], 0
        return _mapped(session.sql(self.spark.backend.compile(table)), work.of_batches)

    def rows(self) -> Iterator[tuple[int, Any]]:
        found = self._fetched(self._kept_rows.select("part", "content"))
        for batch in found.to_batches():
            for part, content in zip(batch.column("part").to_pylist(), batch.column("content"), strict=True):
                yield part, content.as_buffer()

    @property
    def _kept_rows(self) -> Any:
        return self.kept.filter(f"kind = '{ROWS}'")

    def again(self, given: Any, method: str) -> list[Sent]:
        known = self.spark.session.sparkContext.broadcast(given)
        try:
            frame = self._kept_rows.select("content")
            return self._collected(_mapped(frame, going_on(known, method)))
        finally:
            known.destroy()

    def _collected(self, frame: Any) -> list[Sent]:
        found = self._fetched(frame.select("kind", "content"))
        sent = list(zip(found["kind"].to_pylist(), found["content"].to_pylist(), strict=True))
        refuse(sent)
        return sent

    def _fetched(self, frame: Any) -> pa.Table:
        try:
            return frame.toArrow()
        except Exception as error:
            raise self.spark.failed(error) from error


@contextlib.contextmanager
def _settings(session: Any, settings: Mapping[str, str]) -> Iterator[None]:
    """A session with these settings, which has its own again afterwards."""
    before = {name: session.conf.get(name) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


def _forget(frame: Any) -> None:
    with contextlib.suppress(Exception):  # Spark may have stopped already
        frame.unpersist()


def _copies(part: Part) -> bool:
    """Whether rows are copied to a file: Spark folds the long form itself, and reads tables of its own."""
    return not isinstance(part, LongPart | IbisPart)


def dealt_out(found: Sequence[tuple[Piece, int]], cores: int) -> list[list[Piece]]:
    """Row groups in parts of about as many rows each, in their order: one or two parts for each core, or more where
    a part would be large. A cluster that is just starting has more cores than it knows of."""
    total = sum(rows for _, rows in found)
    parts = cores if total <= SMALL_ROWS else max(2 * cores, min(total // GOOD_ROWS, MANY), -(-total // MOST_ROWS))
    out: list[list[Piece]] = [[] for _ in range(parts)]
    for (piece, rows), upto in zip(found, accumulate(rows for _, rows in found), strict=True):
        middle = upto - rows / 2
        out[min(int(middle * parts / max(total, 1)), parts - 1)].append(piece)
    return [_together(part) for part in out if part] or [[]]


def _together(pieces: Sequence[Piece]) -> list[Piece]:
    """Row groups of one file as one piece."""
    out: list[Piece] = []
    for piece in pieces:
        if out and out[-1].path == piece.path:
            last = out.pop()
            piece = Piece(last.path, last.name, last.wanted, [*last.groups, *piece.groups])
        out.append(piece)
    return out


def _mapped(frame: Any, work: Work) -> Any:
    """What the work sends of each part of a frame, each with the number of its part."""
    return frame.mapInArrow(sending(work), SENT)


def missing(session: Any) -> str:
    """What the workers of this Spark lack to count with our loops, "" where they have all; asked once."""
    context = session.sparkContext
    if context.applicationId not in _able:
        cores = context.defaultParallelism
        said = session.range(0, cores, 1, cores).mapInArrow(looking(__version__), "said string").toArrow()
        _able[context.applicationId] = max(said["said"].to_pylist(), default="")
    return _able[context.applicationId]


def looking(wanted: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function that needs nothing of ours to be taken to a worker, and says there what is missing."""

    def look(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        try:
            from counterrank.engine import part_sums  # noqa: F401 - the last of what the work needs
            from counterrank.version import __version__ as found

            said = "" if found == wanted else f"they have counterrank {found}, not {wanted}"
        except ImportError as error:
            said = str(error)
        for _ in batches:
            yield pyarrow.RecordBatch.from_pydict({"said": [said]})

    return look
