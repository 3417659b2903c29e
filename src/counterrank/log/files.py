"""Which files a source means, of which kind, and their rows as Arrow batches under our column names."""

from __future__ import annotations

import csv
import glob
import gzip
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from counterrank.errors import InputError

BATCH_ROWS = 131_072
KINDS = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz"),
    "jsonl": (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".json", ".json.gz"),
}
# what a text file does not say of its columns: the DuckDB type that each of ours is read as
TEXT_TYPES = {
    "query": "VARCHAR", "items": "VARCHAR[]", "clicks": "DOUBLE[]", "reward": "DOUBLE", "day": "VARCHAR",
    "propensity": "DOUBLE", "impressions": "DOUBLE", "impression": "VARCHAR", "position": "DOUBLE",
    "item": "VARCHAR", "click": "DOUBLE", "probability": "DOUBLE", "score": "DOUBLE",
}  # fmt: skip
Wanted = Mapping[str, str]  # our column name -> the file's


class Part(Protocol):
    """A piece of a log: it knows its columns and gives its rows, as often as it is asked."""

    @property
    def name(self) -> str: ...

    @property
    def columns(self) -> list[str]: ...

    @property
    def textual(self) -> bool:
        """Whether ids arrive as text even where `types` tells that they are integers."""

    def types(self, wanted: Wanted) -> dict[str, pa.DataType]:
        """The Arrow type of each wanted column, under our names."""

    def batches(self, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        """Rows in file order, with the wanted columns under our names."""

    def relation(self, wanted: Wanted, connection: duckdb.DuckDBPyConnection) -> str:
        """The same rows as a SELECT that this connection can run."""


def kind_of(path: Path) -> str | None:
    lower = path.name.lower()
    return next((kind for kind, suffixes in KINDS.items() if lower.endswith(suffixes)), None)


def expand(source: str | Path) -> list[Path]:
    """The files that a path, a folder or a glob means, sorted by name."""
    text = str(source)
    path = Path(text)
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file() and kind_of(p))
        if not files:
            raise InputError(f"{text}: the folder holds no Parquet, CSV or JSON Lines file")
        return files
    if path.exists():
        return [path]
    if any(sign in text for sign in "*?["):
        files = sorted(Path(p) for p in glob.glob(text, recursive=True) if Path(p).is_file())
        if not files:
            raise InputError(f"{text}: no file matches this pattern")
        return files
    raise InputError(f"{text}: no such file or folder")


def open_part(source: str | Path) -> list[Part]:
    """The parts that a path, folder, glob or `file.duckdb:table` means."""
    table = database_table(str(source))
    if table and Path(table[0]).exists():
        return [DatabasePart(*table)]
    parts: list[Part] = []
    for path in expand(source):
        kind = kind_of(path)
        if kind is None:
            raise InputError(
                f"{path}: unknown kind of file: expected .parquet, .csv, .jsonl (or .csv.gz, .jsonl.gz), "
                "or file.duckdb:table"
            )
        if path.stat().st_size == 0:
            raise InputError(f"{path}: the file is empty")
        parts.append(ParquetPart(path) if kind == "parquet" else TextPart(path, kind))
    return parts


def connect() -> duckdb.DuckDBPyConnection:
    """An embedded DuckDB that spills to the system's temporary folder beyond two gigabytes."""
    connection = duckdb.connect()
    connection.execute("SET memory_limit = '2GB'")
    connection.execute("SET temp_directory = ?", [tempfile.gettempdir() + "/counterrank-spill-" + str(os.getpid())])
    connection.execute("SET enable_progress_bar = false")
    return connection


def stream(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.RecordBatchReader:
    """The result of a query as Arrow batches, made as they are read."""
    relation = connection.sql(sql)
    if hasattr(relation, "to_arrow_reader"):
        return relation.to_arrow_reader(BATCH_ROWS)
    return relation.fetch_arrow_reader(BATCH_ROWS)


@dataclass(frozen=True)
class ParquetPart:
    """A Parquet file, decoded by Arrow."""

    path: Path
    textual = False

    @property
    def name(self) -> str:
        return str(self.path)

    @cached_property
    def schema(self) -> pa.Schema:
        try:
            return pq.read_schema(self.path)
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(f"{self.path}: not a Parquet file ({_first_line(error)})") from None

    @property
    def columns(self) -> list[str]:
        return list(self.schema.names)

    def types(self, wanted: Wanted) -> dict[str, pa.DataType]:
        return {ours: self.schema.field(theirs).type for ours, theirs in wanted.items()}

    def batches(self, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        try:
            with pq.ParquetFile(self.path) as file:
                for batch in file.iter_batches(BATCH_ROWS, columns=list(dict.fromkeys(wanted.values()))):
                    yield _renamed(batch, wanted)
        except pa.ArrowInvalid as error:
            raise InputError(f"{self.path}: damaged Parquet file ({_first_line(error)})") from None

    def relation(self, wanted: Wanted, connection: duckdb.DuckDBPyConnection) -> str:
        chosen = ", ".join(f"{identifier(theirs)} AS {identifier(ours)}" for ours, theirs in wanted.items())
        return f"SELECT {chosen} FROM read_parquet({literal(str(self.path))})"  # noqa: S608


@dataclass(frozen=True)
class TextPart:
    """A CSV or JSON Lines file, read by DuckDB: ids stay text, a value of the wrong type becomes missing."""

    path: Path
    kind: str
    textual = True

    @property
    def name(self) -> str:
        return str(self.path)

    @cached_property
    def _inferred(self) -> dict[str, str]:
        scan = f"read_json_auto({literal(str(self.path))}, format='newline_delimited', ignore_errors=true)"
        if self.kind == "csv":
            scan = self._csv()
        try:
            with connect() as connection:
                rows = connection.execute(f"DESCRIBE SELECT * FROM {scan}").fetchall()  # noqa: S608
        except duckdb.Error as error:
            raise InputError(f"{self.path}: not readable as {self.kind.upper()} ({_first_line(error)})") from None
        return {str(row[0]): str(row[1]) for row in rows}

    @property
    def columns(self) -> list[str]:
        return list(self._inferred)

    def types(self, wanted: Wanted) -> dict[str, pa.DataType]:
        """JSON numbers are read as text, but told as integers, so that output gives integers back."""
        integers = {"BIGINT": pa.int64(), "BIGINT[]": pa.list_(pa.int64())}
        lists = {"items": pa.list_(pa.string())}
        return {
            ours: integers.get(self._inferred[theirs], lists.get(ours, pa.string())) for ours, theirs in wanted.items()
        }

    def batches(self, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        with connect() as connection:
            reader = stream(connection, self.relation(wanted, connection))
            while True:
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    return
                except (pa.ArrowInvalid, OSError, duckdb.Error) as error:
                    raise InputError(f"{self.path}: not readable as {self.kind.upper()} ({_told(error)})") from None
                yield batch

    def relation(self, wanted: Wanted, connection: duckdb.DuckDBPyConnection) -> str:
        if self.kind == "csv":
            chosen = ", ".join(_from_csv(ours, identifier(theirs)) for ours, theirs in wanted.items())
            return f"SELECT {chosen} FROM {self._csv()}"  # noqa: S608
        types = ", ".join(f"{literal(theirs)}: {literal(TEXT_TYPES[ours])}" for ours, theirs in wanted.items())
        chosen = ", ".join(f"{identifier(theirs)} AS {identifier(ours)}" for ours, theirs in wanted.items())
        return (
            f"SELECT {chosen} FROM read_json({literal(str(self.path))}, format='newline_delimited', "  # noqa: S608
            f"ignore_errors=true, maximum_object_size=67108864, columns={{{types}}})"
        )

    def _csv(self) -> str:
        return (
            f"read_csv({literal(str(self.path))}, all_varchar=true, header=true, delim=',', quote='\"', "
            "escape='\"', strict_mode=true, max_line_size=16777216)"
        )


@dataclass(frozen=True)
class DatabasePart:
    """A table in a DuckDB file, opened for reading only."""

    path: str
    table: str
    textual = False

    @property
    def name(self) -> str:
        return f"{self.path}:{self.table}"

    @cached_property
    def schema(self) -> pa.Schema:
        with self._open() as connection:
            try:
                return stream(connection, f"SELECT * FROM {identifier(self.table)} LIMIT 0").schema  # noqa: S608
            except duckdb.Error as error:
                raise InputError(f"{self.path}: cannot read table {self.table!r} ({_first_line(error)})") from None

    def _open(self) -> duckdb.DuckDBPyConnection:
        try:
            return duckdb.connect(self.path, read_only=True)
        except duckdb.Error as error:
            raise InputError(f"{self.path}: not a DuckDB database ({_first_line(error)})") from None

    @property
    def columns(self) -> list[str]:
        return list(self.schema.names)

    def types(self, wanted: Wanted) -> dict[str, pa.DataType]:
        return {ours: self.schema.field(theirs).type for ours, theirs in wanted.items()}

    def batches(self, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        with self._open() as connection:
            yield from stream(connection, _select(wanted, identifier(self.table)))

    def relation(self, wanted: Wanted, connection: duckdb.DuckDBPyConnection) -> str:
        connection.execute(f"ATTACH IF NOT EXISTS {literal(self.path)} AS source (READ_ONLY)")
        return _select(wanted, f"source.{identifier(self.table)}")


@dataclass(frozen=True)
class TablePart:
    """Rows that are in memory already: an Arrow table."""

    table: pa.Table
    name: str = "table"
    textual = False

    @property
    def columns(self) -> list[str]:
        return list(self.table.column_names)

    def types(self, wanted: Wanted) -> dict[str, pa.DataType]:
        return {ours: self.table.schema.field(theirs).type for ours, theirs in wanted.items()}

    def batches(self, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        chosen = self.table.select(list(dict.fromkeys(wanted.values())))
        for batch in chosen.to_batches(max_chunksize=BATCH_ROWS):
            yield _renamed(batch, wanted)

    def relation(self, wanted: Wanted, connection: duckdb.DuckDBPyConnection) -> str:
        name = f"table_{id(self.table)}"
        connection.register(name, self.table)
        return _select(wanted, name)


def _select(wanted: Wanted, table: str) -> str:
    chosen = ", ".join(f"{identifier(theirs)} AS {identifier(ours)}" for ours, theirs in wanted.items())
    return f"SELECT {chosen} FROM {table}"  # noqa: S608


def _from_csv(ours: str, quoted: str) -> str:
    kind = TEXT_TYPES[ours]
    if kind.endswith("[]"):
        array = f"CASE WHEN json_valid({quoted}) AND json_type({quoted}) = 'ARRAY' THEN {quoted} END"
        return f"from_json({array}, '[\"{kind[:-2]}\"]') AS {identifier(ours)}"
    return f"{quoted if kind == 'VARCHAR' else f'TRY_CAST({quoted} AS {kind})'} AS {identifier(ours)}"


def _renamed(batch: pa.RecordBatch, wanted: Wanted) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([batch.column(theirs) for theirs in wanted.values()], names=list(wanted))


def identifier(name: str) -> str:
    """A column or table name, quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text, quoted for SQL."""
    return "'" + text.replace("'", "''") + "'"


_DATABASE = re.compile(r"^(?P<file>.+\.(?:duckdb|ddb|db)):(?P<table>[^:/\\]+)$")


def database_table(source: str) -> tuple[str, str] | None:
    """`file.duckdb:table` as its two halves."""
    match = _DATABASE.match(source)
    return (match["file"], match["table"]) if match else None


def _first_line(error: Any) -> str:
    return str(error).strip().splitlines()[0][:120]


def _told(error: Any) -> str:
    """DuckDB's message, with the line number that it gives on a line of its own."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    return " ".join(lines[:3])[:200]


def write_table(table: pa.Table, path: Path) -> None:
    """A small result as .parquet, .csv or .jsonl (the last two also .gz), ids as they are."""
    kind = kind_of(path)
    if kind == "parquet":
        pq.write_table(table, path)
        return
    if kind is None:
        raise InputError(f"{path}: unknown kind of file: expected .parquet, .csv or .jsonl")
    compressed = path.name.lower().endswith(".gz")
    with gzip.open(path, "wt", encoding="utf-8", newline="") if compressed else path.open(
        "w", encoding="utf-8", newline=""
    ) as file:
        if kind == "csv":
            writer = csv.writer(file)
            writer.writerow(table.column_names)
            writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
        else:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist())
