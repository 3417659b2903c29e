"""Rows from wherever users keep them: files, folders, DuckDB tables and data frames, with ids as text."""

from __future__ import annotations

import csv
import glob
import gzip
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from counterrank.errors import InputError
from counterrank.ids import as_text

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".json": "json",
    ".json.gz": "json",
    ".jsonl": "json",
    ".jsonl.gz": "json",
    ".ndjson": "json",
    ".ndjson.gz": "json",
}
_DATABASE = re.compile(r"(?P<file>.+\.(?:duckdb|ddb|db)):(?P<table>[^:/\\]+)")
_PARSED = """SELECT CASE WHEN json_valid(value) AND json_type(value) = 'ARRAY'
THEN from_json(value, '["VARCHAR"]') END AS value FROM raw"""
_NUMBER = "SELECT try_cast(value AS DOUBLE) AS value FROM raw"


@dataclass(frozen=True)
class Source:
    """An opened source: its columns are known, its rows are read by `read`."""

    label: str
    rows: Any  # a DuckDB relation, or an Arrow table

    @property
    def names(self) -> list[str]:
        """The columns that came."""
        return list(self.rows.column_names if isinstance(self.rows, pa.Table) else self.rows.columns)

    def read(self, ids: Collection[str], lists: Collection[str] = (), numbers: Collection[str] = ()) -> pa.Table:
        """Those of the named columns that came: ids as text, lists as lists, numbers as doubles."""
        wanted = [name for name in self.names if name in {*ids, *lists, *numbers}]
        try:
            table = self.rows.select(wanted) if isinstance(self.rows, pa.Table) else _fetch(self.rows, wanted)
        except duckdb.Error as error:
            raise InputError(f"{self.label} cannot be read: {_first_line(error)}") from error
        if table.num_rows == 0:
            raise InputError(f"{self.label} has no rows: give a source with at least one row")
        columns = {}
        for name in wanted:
            column = table[name]
            if name in ids:
                columns[name] = as_text(column, f"column {name!r} of {self.label}")
            elif name in lists:
                columns[name] = self._parsed(column, name, _PARSED, "a JSON list", 'write it like ["a", "b"]')
            else:
                column = self._parsed(column, name, _NUMBER, "a number", "write it like 0.25")
                columns[name] = _as_double(column, name, self.label)
        return pa.table(columns)

    def _parsed(self, column: pa.ChunkedArray, name: str, sql: str, what: str, advice: str) -> pa.ChunkedArray:
        """Text as what it stands for; other columns as they are. Missing stays missing."""
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            return column
        with duckdb.connect() as connection:
            connection.register("raw", pa.table({"value": column}))
            parsed = connection.sql(sql).to_arrow_table()["value"]
        bad = pc.index(pc.and_(pc.is_null(parsed), pc.is_valid(column)), True).as_py()
        if bad >= 0:
            text = column[bad].as_py()
            shown = text if len(text) <= 60 else text[:57] + "..."
            raise InputError(f"{self.label}, row {bad + 1}: {name} is {shown!r}, not {what}: {advice}")
        return parsed


def open_source(source: Any) -> Source:
    """A path (file, folder, glob, `file.duckdb:table`) or a pandas, Polars, Arrow or Ibis table."""
    if isinstance(source, str | Path):
        return _open_path(str(source))
    label = f"the {type(source).__name__} given"
    try:
        if hasattr(source, "to_pyarrow"):  # Ibis
            return Source(label, source.to_pyarrow())
        if isinstance(source, pa.RecordBatch):
            return Source(label, pa.Table.from_batches([source]))
        if isinstance(source, pa.Table) or hasattr(source, "__arrow_c_stream__"):
            return Source(label, pa.table(source))
    except pa.ArrowException as error:
        raise InputError(f"{label} cannot be read as a table: {_first_line(error)}") from error
    raise InputError(f"{label} is not a table: give a path, or a pandas, Polars, Arrow or Ibis table")


def read_table(
    source: Any, *, ids: Collection[str], lists: Collection[str] = (), numbers: Collection[str] = ()
) -> pa.Table:
    """The named columns of a source, as far as they came. Text in a list column is parsed as JSON.

    >>> read_table(pa.table({"query": [7], "items": ['[1, "a"]']}), ids={"query"}, lists={"items"}).to_pylist()
    [{'query': '7', 'items': ['1', 'a']}]
    """
    return open_source(source).read(ids, lists, numbers)


def _open_path(path: str) -> Source:
    database = _DATABASE.fullmatch(path)
    if database and not Path(path).exists():
        return _open_database(path, **database.groupdict())
    files = _files(path)
    kinds = {_format(file) for file in files}
    if len(kinds) > 1:
        raise InputError(f"{path} holds files of several formats ({', '.join(sorted(kinds))}): keep one per folder")
    names: Any = [glob.escape(str(file)) for file in files]  # DuckDB reads patterns in names
    connection = duckdb.connect()
    try:
        if kinds == {"parquet"}:
            for file in files:
                _check_parquet(file)
            return Source(path, connection.read_parquet(names, union_by_name=True))
        if kinds == {"json"}:
            columns = connection.read_json(names, format="auto", union_by_name=True, sample_size=-1).columns
            text = dict.fromkeys(columns, "VARCHAR")
            return Source(path, connection.read_json(names, format="auto", columns=text))
        header = dict.fromkeys(_csv_header(path, files), "VARCHAR")
        return Source(
            path,
            connection.read_csv(
                names,
                header=True,
                auto_detect=False,
                columns=header,
                sep=",",
                quotechar='"',
                escapechar='"',
                comment="",
            ),
        )
    except duckdb.Error as error:
        raise InputError(f"{path} cannot be read: {_first_line(error)}") from error


def _open_database(path: str, file: str, table: str) -> Source:
    if not Path(file).is_file():
        raise InputError(f"no file {file!r} (from {path!r}): check the path")
    try:
        connection = duckdb.connect(file, read_only=True)
        known = [name for (name,) in connection.sql("SELECT table_name FROM information_schema.tables").fetchall()]
        if table not in known:
            raise InputError(f"{file} has no table {table!r}: choose from {', '.join(map(repr, known)) or 'none'}")
        return Source(path, connection.table('"' + table.replace('"', '""') + '"'))
    except duckdb.Error as error:
        raise InputError(f"{file} cannot be opened as a DuckDB file: {_first_line(error)}") from error


def _files(path: str) -> list[Path]:
    """The files a path stands for, in order; those starting with a dot or underscore are no data."""
    given = Path(path)
    if given.is_file():
        return [given]
    if given.is_dir():
        inside = (file for file in given.rglob("*") if file.is_file() and not file.name.startswith((".", "_")))
        found = sorted(file for file in inside if _suffix(file) in FORMATS)
        if not found:
            raise InputError(f"folder {path!r} has no data files: put files with {', '.join(FORMATS)} there")
        return found
    matches = sorted(Path(match) for match in glob.glob(path, recursive=True) if Path(match).is_file())
    if not matches:
        raise InputError(f"no file {path!r}: check the path")
    return matches


def _suffix(file: Path) -> str:
    name = file.name.lower()
    return max((suffix for suffix in FORMATS if name.endswith(suffix)), key=len, default="")


def _format(file: Path) -> str:
    suffix = _suffix(file)
    if not suffix:
        raise InputError(f"{file} is of no known format: give a file that ends with {', '.join(FORMATS)}")
    if file.stat().st_size == 0:
        raise InputError(f"{file} is empty: give a file with rows")
    return FORMATS[suffix]


def _check_parquet(file: Path) -> None:
    with file.open("rb") as stream:
        start = stream.read(4)
    if start != b"PAR1":
        raise InputError(f"{file} is not a Parquet file (it starts with {start!r}): write it as Parquet, or rename it")


def _csv_header(path: str, files: list[Path]) -> list[str]:
    headers = []
    for file in files:
        try:
            with (
                gzip.open(file, "rt", encoding="utf-8-sig", newline="")
                if file.name.lower().endswith(".gz")
                else file.open(encoding="utf-8-sig", newline="")
            ) as stream:
                headers.append(next(csv.reader(stream), []))
        except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{file} cannot be read as CSV: {_first_line(error)}") from error
    if not headers[0] or len(set(headers[0])) < len(headers[0]):
        raise InputError(
            f"{files[0]} starts with {','.join(headers[0])!r}: give a first line with distinct column names"
        )
    if any(header != headers[0] for header in headers):
        raise InputError(f"the CSV files of {path} differ in their first lines: give all the same columns in one order")
    return headers[0]


def _fetch(rows: Any, wanted: list[str]) -> pa.Table:
    """Columns of a relation; types that Arrow has no plain id for (128 bits, enums, uuids) come as text."""
    kinds = dict(zip(rows.columns, map(str, rows.types), strict=True))
    odd = ("HUGEINT", "UHUGEINT", "UUID", "ENUM")
    parts = []
    for name in wanted:
        column = duckdb.ColumnExpression(name)
        parts.append(column.cast("VARCHAR").alias(name) if kinds[name].startswith(odd) else column)
    return rows.select(*parts).to_arrow_table()


def _as_double(column: pa.ChunkedArray, name: str, label: str) -> pa.ChunkedArray:
    try:
        return column.cast(pa.float64())
    except pa.ArrowException as error:
        raise InputError(f"column {name!r} of {label} is {column.type}: give numbers") from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
