"""One pass over a log's rows: good ones go on, bad ones are counted, written down, or the end of the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterrank.crew import Crew
from counterrank.ids import as_text
from counterrank.log.keys import SEPARATOR, IdKeys, text_keys
from counterrank.log.originals import Originals, shown
from counterrank.log.parts import ParquetPart, Part, Wanted
from counterrank.log.problems import RowProblem, bad_row
from counterrank.log.quarantine import Quarantine, quarantine
from counterrank.log.reading import Reading, Tally
from counterrank.log.rows import Kinds, Rows, read_rows
from counterrank.log.text import TextPart

if TYPE_CHECKING:
    from counterrank.log.log import Log

Checked = tuple[pa.RecordBatch, Rows, Any]  # a batch, its rows and what is wrong with each


class RowReader:
    """The good rows of a log, a batch at a time; once they have all come, `reading` says what was read."""

    def __init__(self, log: Log, columns: Sequence[str], overview: bool = False, crew: Crew | None = None) -> None:
        self.log = log
        self.columns = log.to_read(columns)
        self.overview = overview
        self.crew = crew  # None: one of its own
        self._reading: Reading | None = None

    @property
    def reading(self) -> Reading:
        if self._reading is None:
            raise RuntimeError("the rows have not all been read yet")
        return self._reading

    def __iter__(self) -> Iterator[Rows]:
        log, kinds = self.log, self.log.kinds()
        tally = Tally(days=set() if self.overview and "day" in log.columns else None)
        crew = self.crew if self.crew is not None else Crew()
        aside_to = quarantine(log.bad_rows, log.joins) if log.writes and log.bad_rows else nullcontext()
        with crew if self.crew is None else nullcontext(), aside_to as aside:
            for part, found in zip(log.parts, log.found, strict=True):
                before = 0
                originals = Originals(part)
                for batch, rows, problem in _decoded(
                    part, {c: found[c] for c in self.columns}, kinds, log.repair, crew
                ):
                    if problem.any():
                        self._set_aside(batch, problem, originals, before, tally, aside)
                        rows, _ = read_rows(batch.filter(pa.array(problem == 0)), kinds, part.name, log.repair)
                    before += len(batch)
                    tally.rows += len(rows)
                    tally.timed += rows.timed
                    tally.repaired += rows.repaired
                    if self.overview:
                        look(rows, tally)
                    if len(rows):
                        yield named(rows)
        self._reading = log.read_as(tally)

    def _set_aside(
        self, batch: pa.RecordBatch, problem: Any, originals: Originals, before: int, tally: Tally,
        aside: Quarantine | None,
    ) -> None:  # fmt: skip
        """Count the bad rows of a batch and write them down."""
        for i in np.flatnonzero(problem):
            file, number = originals.place(batch, int(i), before)
            what = RowProblem(problem[i])
            if self.log.stops:
                raise bad_row(f"{file}: row {number}", what, shown(originals.content(batch, int(i), number)))
            tally.add(file, what, number=number)
            if aside is not None:
                aside.write(file, number, what, originals.content(batch, int(i), number))


def _decoded(part: Part, wanted: Wanted, kinds: Kinds, repair: bool, crew: Crew) -> Iterator[Checked]:
    """All batches of a part, checked: piece by piece, or one after the other. From a piece on that is None, the part's
    batches come instead."""

    def checked(batches: Iterable[pa.RecordBatch | None]) -> Iterator[Checked | None]:
        for batch in batches:
            if batch is None or len(batch):
                yield None if batch is None else (batch, *read_rows(batch, kinds, part.name, repair))

    pieces: Sequence[Iterator[pa.RecordBatch | None]] = []
    if isinstance(part, ParquetPart | TextPart):
        pieces = part.pieces(wanted)
    done = 0
    with closing(crew.supplied(partial(checked, piece) for piece in pieces)) as found:
        for each in found:
            if each is None:
                break
            done += len(each[0])
            yield each
        else:
            if pieces:
                return
    rest = part.batches(wanted, done) if isinstance(part, TextPart) else part.batches(wanted)
    with closing(crew.supplied(partial(checked, [batch]) for batch in rest)) as found:
        for each in found:
            assert each is not None  # noqa: S101 - these are batches
            yield each


def named(rows: Rows) -> Rows:
    """Rows whose query is named with its segment, where the log is told apart by one."""
    if rows.segment is None:
        return rows
    names = pc.binary_join_element_wise(as_text(rows.query_values), rows.segment, SEPARATOR)
    return replace(rows, query_values=names, query_keys=IdKeys(text_keys(names)))


def look(rows: Rows, tally: Tally) -> None:
    if rows.day is not None and tally.days is not None:
        tally.days.update(np.unique(rows.day).tolist())
    if rows.reward is not None:
        tally.reward[0] += float(rows.reward @ rows.impressions)
        tally.reward[1] += float(rows.impressions.sum())
