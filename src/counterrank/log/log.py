"""A click log: where its rows are, and how to read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from counterrank.crew import Crew
from counterrank.errors import InputError, Unanswerable
from counterrank.log.keys import SEPARATOR
from counterrank.log.long_form import LongPart
from counterrank.log.parts import Part
from counterrank.log.reader import RowReader
from counterrank.log.reading import Reading, Tally
from counterrank.log.rows import Kinds
from counterrank.log.text import read_by_row
from counterrank.records import dataclass


@dataclass(frozen=True, eq=False, kw_only=True)
class Log:
    """Impressions in list form, read as often as they are asked for, never all in memory.

    `found[i]` says where part i has each of our columns. A row is good or bad by all of them, whichever a command
    needs, so that every pass uses the same rows. Bad ones stop the reading with their file and number, or go to
    `bad_rows`, a JSON Lines file, and are counted. What a pass read is in its `Reading`.
    """

    name: str
    parts: Sequence[Part]
    found: Sequence[dict[str, str]]
    notes: tuple[str, ...] = ()
    bad_rows: Path | None = None
    table: Any = None  # an Ibis expression, where the log lives in a database of its own
    repair: bool = False  # whether a repeated item is repaired instead of a problem
    tolerant: bool = False  # bad rows are counted and left out, though there is no file for them
    joins: bool = False  # bad rows are added to those of another log in `bad_rows`
    known: Reading | None = None  # what an earlier pass read: this one must read the same

    def need_days(self) -> None:
        """An error where rows have no day."""
        if "day" not in self.columns:
            raise Unanswerable(
                f"{self.name}: column 'day' is missing: give each row its day, or its name with `columns` day=NAME"
            )

    @property
    def columns(self) -> frozenset[str]:
        """Which of our columns every part has."""
        return frozenset.intersection(*(frozenset(f) for f in self.found))

    def by_row(self) -> Log | None:
        """The same log with CSV files read row by row, which tells rows that are not as long as their header."""
        [first, *_] = self.parts
        if isinstance(first, LongPart):
            folded = first.by_row()
            return None if folded is None else replace(self, parts=[folded])
        parts = read_by_row(self.parts)
        return None if parts is None else replace(self, parts=parts)

    def kinds(self) -> Kinds:
        queries, items = [], []
        for part, found in zip(self.parts, self.found, strict=True):
            types = part.types({c: found[c] for c in ("query", "items")})
            queries.append(_integer(types["query"]))
            items.append(_integer(_value_type(types["items"])))
        binary = not any(part.textual for part in self.parts)
        integer = all(queries) and "segment" not in self.columns
        return Kinds(binary and integer, binary and all(items), integer, all(items))

    def rows(self, columns: Sequence[str], overview: bool = False, crew: Crew | None = None) -> RowReader:
        """A pass over the checked rows with these columns (`query` and `items` come always); `crew`: who reads them."""
        return RowReader(self, columns, overview, crew)

    def again(self, reading: Reading) -> Log:
        """The same log for a further pass of the same command: bad rows are left out again, but not written again."""
        return replace(self, known=reading)

    @property
    def stops(self) -> bool:
        """Whether a bad row is an error."""
        return self.bad_rows is None and not self.tolerant

    @property
    def writes(self) -> bool:
        """Whether this pass writes bad rows down."""
        return self.bad_rows is not None and self.known is None

    def to_read(self, columns: Sequence[str]) -> list[str]:
        """Those of our columns that a pass must read: all, but for a further pass over a log without bad rows."""
        if self.known is None or self.known.rejected:
            return [c for c in self.found[0] if c in self.columns]
        wanted = ["query", "items", *columns, "segment"]
        return [c for c in dict.fromkeys(wanted) if c in self.columns]

    def read_as(self, tally: Tally) -> Reading:
        """What a pass that is through has read."""
        known = self.known
        if known is not None:
            if (known.rows, known.rejected) != (tally.rows, tally.rejected):
                raise InputError(
                    f"{self.name}: the log changed while it was read, or is another one ({known.rows:,} good and "
                    f"{known.rejected:,} bad rows before, now {tally.rows:,} and {tally.rejected:,}): give the same log"
                )
            return known
        if not tally.rows:
            set_aside = "set aside as bad" if self.bad_rows is not None else "bad"
            why = f"all its {tally.rejected} rows were {set_aside}" if tally.rejected else "it has no rows"
            first = [wrong.to_dict() for wrong in tally.reading((), None).wrong[:1]]
            told = "".join(f", the first: {wrong['problem']} ({wrong['where']})" for wrong in first)
            raise InputError(f"{self.name}: the log is empty: {why}{told}. Give one with at least one good row")
        return tally.reading(self.notes, self.bad_rows)


def split_segment(names: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The query and the segment of each name that a log with segments has."""
    halves = [text.rpartition(SEPARATOR) for text in names.to_pylist()]
    return pa.array([h[0] for h in halves], pa.string()), pa.array([h[2] for h in halves], pa.string())


def _integer(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind)) and kind != pa.uint64()


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if hasattr(kind, "value_type") else kind
