"""Rows of policies, candidates and features, through the reader of files: checked, with ids as text."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterrank.errors import InputError
from counterrank.ids import as_text, is_text
from counterrank.log.files import open_parts
from counterrank.log.frames import open_frame
from counterrank.log.lists import is_list
from counterrank.log.parts import Part, connect, text_type
from counterrank.log.problems import MESSAGES, RowProblem
from counterrank.log.spelled import parse_lists
from counterrank.log.text import TextPart
from counterrank.records import dataclass

_LIST, _NUMBER = "VARCHAR[]", "DOUBLE"
_ADVICE = {
    "VARCHAR": "give every row an id, a text or a whole number",
    _LIST: 'write a JSON list like ["a", "b"]',
    _NUMBER: "write a number like 0.25",
}
_NEEDED = {"VARCHAR": "an id", _LIST: "a JSON list", _NUMBER: "a number"}


@dataclass(frozen=True)
class Source:
    """An opened source: its columns are known, its rows are read by `read`."""

    label: str
    parts: Sequence[Part]
    notes: Sequence[str] = ()  # on files that were left out

    @property
    def names(self) -> list[str]:
        """The columns that every part has."""
        rest = [set(part.columns) for part in self.parts[1:]]
        return [name for name in self.parts[0].columns if all(name in columns for columns in rest)]

    def read(self, wanted: Mapping[str, str], empty: Container[str] = ()) -> pa.Table:
        """These columns (our name -> theirs) under our names: ids as text, `items` as lists, others as numbers.

        Those in `empty` may lack values, which are null then.
        """
        tables = [table for part in self.parts if (table := _read(part, wanted, empty)) is not None]
        table = pa.concat_tables(tables) if tables else pa.table({})
        if table.num_rows == 0:
            raise InputError(f"{self.label} has no rows: give a source with at least one row")
        return table


def open_source(source: Any, what: str = "policy") -> Source:
    """A path (file, folder, glob, `file.duckdb:table`) or a pandas, Polars, Arrow or Ibis table."""
    if isinstance(source, str | Path):
        return Source(str(source), *open_parts(source))
    part = open_frame(source, what)
    return Source(part.name, [part])


def _read(part: Part, wanted: Mapping[str, str], empty: Container[str]) -> pa.Table | None:
    """The rows of one part, or nothing where it has none."""
    for theirs in wanted.values():
        if part.columns.count(theirs) > 1:
            raise InputError(f"{part.name}: column {theirs!r} comes twice: give distinct column names")
    done: list[pa.RecordBatch] = []
    before = 0
    for batch in part.batches(wanted):
        columns = {}
        if "problem_" in batch.schema.names and pc.max(batch.column("problem_")).as_py():
            row = before + pc.index(pc.greater(batch.column("problem_"), 0), True).as_py()
            came = _original(part, row, "")
            raise InputError(f"{part.name}, row {row + 1}: {MESSAGES[RowProblem.RAGGED]} ({came!r}): mend it")
        for ours in wanted:
            given = batch.column(ours)
            columns[ours] = _converted(given, ours, part.name)
            wrong = pc.is_null(columns[ours])
            missing = pc.index(pc.and_(wrong, pc.is_valid(_blank(given))) if ours in empty else wrong, True).as_py()
            if missing >= 0:
                if isinstance(part, TextPart) and all(batch.column(c)[missing].as_py() is None for c in wanted):
                    line = _shown(_original(part, before + missing, ""))
                    raise InputError(f"{part.name}, row {before + missing + 1}: {line} cannot be read: mend the line")
                came = given[missing].as_py()
                came = _original(part, before + missing, wanted[ours]) if came is None else came
                raise _bad(f"{part.name}, row {before + missing + 1}", ours, came)
        done.append(pa.RecordBatch.from_pydict(columns))
        before += len(batch)
    return pa.Table.from_batches(done) if done else None


def _blank(values: pa.Array) -> pa.Array:
    """The same with empty texts as nulls."""
    return pc.if_else(pc.equal(values, ""), None, values) if is_text(values.type) else values


def _converted(values: pa.Array, ours: str, name: str) -> pa.Array:
    """Values as their column must be; null where one is not."""
    kind, came = text_type(ours), values.type
    if kind == "VARCHAR":
        return as_text(values, f"column {ours!r} of {name}")
    if kind == _LIST:
        return _as_lists(parse_lists(values, kind) if is_text(came) else values, ours, name)
    if is_text(came):
        with connect() as connection:
            connection.register("texts", pa.table({"c": values}))
            found = connection.sql("SELECT try_cast(c AS DOUBLE) AS c FROM texts").to_arrow_table()
        return found.column("c").combine_chunks()
    try:
        return values.cast(pa.float64())
    except pa.ArrowException:
        raise InputError(f"column {ours!r} of {name} is {came}: give numbers") from None


def _as_lists(values: pa.Array, ours: str, name: str) -> pa.Array:
    """Lists of any Arrow kind as one kind: lists of text."""
    kind = values.type
    if pa.types.is_null(kind):
        return values.cast(pa.list_(pa.string()))
    if not is_list(kind):
        raise InputError(f"column {ours!r} of {name} is {kind}, but each ranking is a list of ids: give a list column")
    texts = as_text(values.flatten(), f"column {ours!r} of {name}")
    sizes = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, texts, mask=values.is_null())


def _original(part: Part, row: int, theirs: str) -> Any:
    """What a text file has where its value could not be read."""
    if not isinstance(part, TextPart):
        return None
    content = next(islice(part.content(), row, None), None)
    return content.get(theirs) if isinstance(content, dict) and theirs else content


def _bad(where: str, ours: str, came: Any) -> InputError:
    kind = text_type(ours)
    if came is None or came == "":
        return InputError(f"{where}: {ours} is missing (null): {_ADVICE[kind]}, or leave the row out")
    return InputError(f"{where}: {ours} is {_shown(came)}, not {_NEEDED[kind]}: {_ADVICE[kind]}")


def _shown(came: Any) -> str:
    text = came if isinstance(came, str) else str(came)
    return ascii(text if len(text) <= 60 else text[:57] + "...")
