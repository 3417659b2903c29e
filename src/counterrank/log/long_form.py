"""The long form (a row per shown item) as the list form (a row per impression)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from counterrank.errors import InputError
from counterrank.ids import is_text
from counterrank.late import Late
from counterrank.log.days import day_numbers
from counterrank.log.parts import (
    DatabasePart,
    ParquetPart,
    Part,
    Wanted,
    check_room,
    connect,
    connect_apart,
    identifier,
    stream,
    streamed,
    told,
)
from counterrank.log.problems import RowProblem
from counterrank.log.spelled import click_number, whole_float
from counterrank.log.text import TextPart, read_by_row
from counterrank.records import dataclass

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = Late("duckdb")

_LISTS = {"item": "items", "click": "clicks", "item_propensity": "item_propensities"}
_PAGE = ("query", "reward", "day", "propensity", "impressions", "cluster", "segment")


@dataclass(frozen=True)
class LongPart:
    """Long rows of one or more parts, sorted by impression outside memory and folded into lists."""

    parts: Sequence[Part]
    wanted: Sequence[Wanted]  # our long names -> theirs, per part
    name: str

    @property
    def textual(self) -> bool:
        return any(part.textual for part in self.parts)

    @property
    def columns(self) -> list[str]:
        long = self.wanted[0]
        return [_LISTS.get(c, c) for c in long if c not in ("impression", "position")]

    def types(self, wanted: Wanted) -> dict[str, pa.DataType]:
        """The list form's types, from the first part (all parts are cast to text where they differ)."""
        found = [part.types(names) for part, names in zip(self.parts, self.wanted, strict=True)]
        types = {c: found[0][c] if all(f[c] == found[0][c] for f in found) else pa.string() for c in found[0]}
        types |= {c: pa.string() for c in ("query", "item") if pa.types.is_floating(types[c])}
        back = {v: k for k, v in _LISTS.items()}
        return {c: pa.list_(types[back[c]]) if c in back else types[c] for c in wanted}

    def batches(self, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        back = {v: k for k, v in _LISTS.items()}
        long = [back.get(c, c) for c in wanted]
        rest: pa.Table | None = None
        for batch in self._batches(long):
            rows = pa.Table.from_batches([batch])
            if rest is not None:
                rows = pa.concat_tables([rest, rows])
            starts = _starts(rows)
            if len(starts) < 2:  # the impression may go on in the next batch
                rest = rows
                continue
            yield self._folded(rows.slice(0, starts[-1]), starts[:-1], wanted)
            rest = rows.slice(starts[-1])
        if rest is not None and len(rest):
            yield self._folded(rest, _starts(rest), wanted)

    def by_row(self) -> LongPart | None:
        """The same with CSV files read row by row, where there are such."""
        parts = read_by_row(self.parts)
        return None if parts is None else replace(self, parts=parts)

    def _batches(self, long: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Sorted rows. Nothing comes before all are read, so what is amiss in a CSV file can be met by another try."""
        came = False
        slower = self.by_row()
        try:
            with self._connected() as connection:
                for batch in stream(connection, self._sorted(long, connection)):
                    came = True
                    yield batch
            return
        except (pa.ArrowException, OSError, duckdb.Error) as error:
            check_room(self.name, error)
            if came or slower is None:
                why = f"not readable as a log in long form ({told(error)}): mend the file"
                raise InputError(f"{self.name}: {why}") from None
        with self._connected() as connection:
            yield from streamed(connection, slower._sorted(long, connection), self.name, "a log in long form")

    def _connected(self) -> duckdb.DuckDBPyConnection:
        """Databases are read where no other file can be."""
        return connect_apart() if any(isinstance(part, DatabasePart) for part in self.parts) else connect()

    def _folded(self, rows: pa.Table, starts: np.ndarray, wanted: Wanted) -> pa.RecordBatch:
        """A row an impression, with where its first row stands."""
        names = pa.array([part.name for part in self.parts])
        files = names.take(rows.column("part_").combine_chunks().take(pa.array(starts)))
        return _fold(rows, starts, wanted).append_column("file_", files)

    def relation(self, wanted: Wanted, connection: duckdb.DuckDBPyConnection) -> str:
        raise InputError(f"{self.name}: a folded log cannot be folded again")

    def _sorted(self, long: Sequence[str], connection: duckdb.DuckDBPyConnection) -> str:
        needed = [{c: names[c] for c in (*long, "impression", "position")} for names in self.wanted]
        types = [part.types(names) for part, names in zip(self.parts, needed, strict=True)]
        # whole numbers are sorted sooner than their digits
        whole = not self.textual and all(pa.types.is_signed_integer(each["impression"]) for each in types)
        selects = []
        for number, (part, names, kinds) in enumerate(zip(self.parts, needed, types, strict=True)):
            chosen = ", ".join(_as(c, kinds[c], part.textual, whole) for c in names)
            chosen += ", problem_" if isinstance(part, TextPart) and part.by_row else ", 0 AS problem_"
            rows, numbered = _numbered(part, names, connection)
            selects.append(f"SELECT {chosen}, {numbered} AS row_, {number} AS part_ FROM ({rows})")  # noqa: S608
        return f"SELECT * FROM ({' UNION ALL '.join(selects)}) ORDER BY impression, position, part_, row_"  # noqa: S608


def _numbered(part: Part, wanted: Wanted, connection: duckdb.DuckDBPyConnection) -> tuple[str, str]:
    """The rows of a part for SQL, and what tells the number of each: to count them in a window takes one thread."""
    if isinstance(part, ParquetPart) and "file_row_number" not in part.columns:
        return part.relation(wanted, connection, numbered=True), "file_row_number + 1"
    rows = part.relation(wanted, connection)
    if not isinstance(part, TextPart) or part.by_row:
        return rows, "row_number() OVER ()"
    name = f"read_{uuid.uuid4().hex}"
    connection.execute(f"CREATE TEMP TABLE {name} AS {rows}")  # in the order of the file
    return f"SELECT *, rowid AS place_ FROM {name}", "place_ + 1"  # noqa: S608


def _as(column: str, kind: pa.DataType, textual: bool, whole: bool) -> str:
    """A column as it is sorted and folded; `whole`: impressions are whole numbers in every part."""
    quoted = identifier(column)
    if column == "impression" and whole:
        return quoted
    if column in ("impression", "query", "item") and pa.types.is_floating(kind):
        return f"{whole_float(quoted)} AS {quoted}"
    if column == "impression":
        return f"CAST({quoted} AS VARCHAR) AS impression"
    if column == "click" and is_text(kind) and not textual:
        return f"{click_number(quoted)} AS click"
    if column in ("position", "click", "item_propensity"):
        return f"TRY_CAST({quoted} AS DOUBLE) AS {column}"
    return quoted


def _starts(rows: pa.Table) -> np.ndarray:
    """Where an impression begins, in rows sorted by impression."""
    impressions = rows.column("impression").combine_chunks()
    if isinstance(impressions, pa.ChunkedArray):
        impressions = pa.concat_arrays(impressions.chunks)
    codes = impressions.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
    if not len(codes):
        return np.zeros(0, dtype=np.int64)
    alone = impressions.is_null().to_numpy(zero_copy_only=False)  # a row of no impression is no part of another
    return np.flatnonzero(np.r_[True, (codes[1:] != codes[:-1]) | alone[1:]])


def _differ(values: pa.Array, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Which values are not that of their impression's first row."""
    codes = values.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
    return np.asarray(codes != np.repeat(codes[starts], ends - starts))


def _fold(rows: pa.Table, starts: np.ndarray, wanted: Wanted) -> pa.RecordBatch:
    """Sorted long rows as one row an impression, with what is wrong in it as a problem code."""
    rows = rows.combine_chunks()
    ends = np.r_[starts[1:], len(rows)]
    offsets = pa.array(np.r_[starts, len(rows)], pa.int32())
    back = {v: k for k, v in _LISTS.items()}
    columns = {c: rows.column(back.get(c, c)) for c in wanted}
    columns = {c: v.chunk(0) if isinstance(v, pa.ChunkedArray) and v.num_chunks else v for c, v in columns.items()}
    arrays = [
        pa.ListArray.from_arrays(offsets, v) if c in back else v.take(pa.array(starts)) for c, v in columns.items()
    ]
    position = rows.column("position").to_numpy()
    expected = np.arange(len(rows)) - np.repeat(starts, ends - starts) + 1
    problem = np.zeros(len(starts), dtype=np.int8)
    problem[np.logical_or.reduceat(~(position == expected), starts)] = RowProblem.POSITIONS
    for c in (c for c in _PAGE if c in columns):
        differs = _differ(columns[c], starts, ends)
        if c == "day" and differs.any():  # two times of one day do not differ
            days, missing, _ = day_numbers(columns[c], "day")
            differs &= days != np.repeat(days[starts], ends - starts)
            differs |= missing != np.repeat(missing[starts], ends - starts)
        problem[np.logical_or.reduceat(differs, starts)] = RowProblem.DIFFERS
    no_impression = rows.column("impression").is_null().combine_chunks().take(pa.array(starts))
    problem[no_impression.to_numpy(zero_copy_only=False)] = RowProblem.IMPRESSION
    problem_of = rows.column("problem_").to_numpy()
    if problem_of.any():
        found = np.maximum.reduceat(problem_of, starts)
        problem = np.where(found > 0, found, problem).astype(np.int8)
    at = pa.array(starts)
    arrays += [pa.array(problem), *(rows.column(c).combine_chunks().take(at) for c in ("row_", "impression"))]
    arrays = [a.combine_chunks() if isinstance(a, pa.ChunkedArray) else a for a in arrays]
    return pa.RecordBatch.from_arrays(arrays, names=[*wanted, "problem_", "row_", "impression_"])
