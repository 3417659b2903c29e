"""The parts that rows come from (a file, a database table, a table in memory), as Arrow batches under our names."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from counterrank import temporary
from counterrank.errors import InputError
from counterrank.late import Late
from counterrank.log.plain_parquet import plain_columns
from counterrank.records import dataclass

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = Late("duckdb")

BATCH_ROWS = 131_072
_GROUP_ROWS = 32_768  # rows of a Parquet file's row group that are worth a batch of their own
_FEWEST_ROWS, _BATCHES = 16_384, 4  # of a small file's batches: one is decoded while the one before it is counted
IDS = "query", "items"  # columns of ids that are coded
# what a text file does not say of its columns: the DuckDB type that each of ours is read as; others are numbers
TEXT_TYPES = {
    "query": "VARCHAR", "items": "VARCHAR[]", "clicks": "DOUBLE[]", "reward": "DOUBLE", "day": "VARCHAR",
    "propensity": "DOUBLE", "item_propensities": "DOUBLE[]", "item_propensity": "DOUBLE",
    "impressions": "DOUBLE", "impression": "VARCHAR", "position": "DOUBLE",
    "item": "VARCHAR", "cluster": "VARCHAR", "segment": "VARCHAR", "click": "DOUBLE",
    "probability": "DOUBLE", "score": "DOUBLE",
}  # fmt: skip
_PREFIX = re.compile(r"^(?:[A-Z]\w+ )+Error: ")
_opening = threading.Lock()
_opened: dict[tuple[int, Any], duckdb.DuckDBPyConnection] = {}  # by process and temporary folder
Wanted = Mapping[str, str]  # our column name -> the file's


class Part(Protocol):
    """A piece of a table: it knows its columns and gives its rows, as often as it is asked."""

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


def text_type(ours: str) -> str:
    """The DuckDB type that a column is read as where the file does not tell."""
    return TEXT_TYPES.get(ours, "DOUBLE")


def connect() -> duckdb.DuckDBPyConnection:
    """A connection of its own to this process's DuckDB, to read texts with. To open one takes 40 ms, this 10 µs."""
    with _opening:
        key = (os.getpid(), settings()["temp_directory"])  # a forked process has none of its parent's threads, and so
        if key not in _opened:  # leaves its parent's alone: to close that would wait for them
            _opened[key] = connect_apart()
            atexit.register(_opened.pop, key, None)  # before DuckDB itself goes, which would speak of leaks
        connection = _opened[key].cursor()
    connection.execute("SET enable_progress_bar = false")  # each connection has its own
    return connection


def connect_apart() -> duckdb.DuckDBPyConnection:
    """A DuckDB by itself, for whoever makes tables or changes settings.

    It spills to the system's temporary folder beyond two gigabytes.
    """
    connection = duckdb.connect(config=settings())
    connection.execute("SET enable_progress_bar = false")
    with contextlib.suppress(duckdb.Error):  # older ones have no such cache
        connection.execute("SET enable_external_file_cache = false")
    return connection


def settings() -> dict[str, str | bool | int | float | list[str]]:
    """How we open DuckDB: it spills to our own temporary folder, and never fetches or loads an extension by itself."""
    try:
        folder = temporary.room()
    except InputError:
        folder = ""  # what fits in memory is done without
    return {
        "memory_limit": "2GB",
        "temp_directory": folder,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
    }


def stream(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.RecordBatchReader:
    """The result of a query as Arrow batches, made as they are read."""
    relation = connection.sql(sql)
    if hasattr(relation, "to_arrow_reader"):
        return relation.to_arrow_reader(BATCH_ROWS)
    return relation.fetch_arrow_reader(BATCH_ROWS)


def streamed(connection: duckdb.DuckDBPyConnection, sql: str, name: str, kind: str) -> Iterator[pa.RecordBatch]:
    """The same, with what goes wrong on the way as an error of this source."""
    try:
        yield from stream(connection, sql)
    except (pa.ArrowException, OSError, duckdb.Error) as error:
        check_room(name, error)
        raise InputError(f"{name}: not readable as {kind} ({told(error)}): mend the file") from None


def check_room(name: str, error: Exception) -> None:
    """An error where this one says that there is no room for a source's rows."""
    if isinstance(error, duckdb.OutOfMemoryException) or "No space left" in str(error):
        raise InputError(
            f"{name}: does not fit in memory, and the temporary folder has no room: make room there, or "
            "set TMPDIR to a larger disk"
        ) from None


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
            return pq.read_schema(whole_path(self.path))
        except (pa.ArrowException, OSError) as error:
            why = f"not a Parquet file ({told(error)}): write it as Parquet, or name it by what it is"
            raise InputError(f"{self.path}: {why}") from None

    @property
    def columns(self) -> list[str]:
        return list(self.schema.names)

    def types(self, wanted: Wanted) -> dict[str, pa.DataType]:
        return {ours: self.schema.field(theirs).type for ours, theirs in wanted.items()}

    def batches(self, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        try:
            with pq.ParquetFile(whole_path(self.path)) as file:
                columns = list(dict.fromkeys(wanted.values()))
                most = min(max(file.metadata.num_rows // _BATCHES, _FEWEST_ROWS), BATCH_ROWS)
                for groups in _together(file.metadata):
                    for batch in file.iter_batches(most, row_groups=groups, columns=columns):
                        yield _renamed(batch, wanted)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None

    def pieces(self, wanted: Wanted) -> list[Iterator[pa.RecordBatch]]:
        """The same batches in pieces that can be read side by side, in file order: row groups that are neither small
        nor large are a piece each, and else there are none. Text ids are dictionaries where the file has them so, and
        can be told apart then without being written out."""
        file, metadata = self._opened()
        sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
        if len(sizes) < 2 or min(sizes[:-1]) < _GROUP_ROWS or max(sizes) > 2 * BATCH_ROWS:
            return []
        named = self._dictionaries(wanted, metadata)
        return [self._group(number, wanted, file, metadata, named) for number in range(len(sizes))]

    def row_groups(self, wanted: Wanted, numbers: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """The batches of these row groups, decoded in this thread alone."""
        file, metadata = self._opened()
        named = self._dictionaries(wanted, metadata)
        for number in numbers:
            yield from self._group(number, wanted, file, metadata, named)

    def group_sizes(self) -> list[int]:
        """How many rows each row group has."""
        _, metadata = self._opened()
        return [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]

    def _group(
        self, number: int, wanted: Wanted, file: pa.NativeFile, metadata: pq.FileMetaData, named: list[str]
    ) -> Iterator[pa.RecordBatch]:
        columns = list(dict.fromkeys(wanted.values()))
        try:
            found = plain_columns(file, metadata, number, self._kinds(wanted, named), wanted.get("clicks"))
            rest, before = [name for name in columns if name not in found], 0
            if not rest:
                for batch in pa.table(found).to_batches(max_chunksize=BATCH_ROWS):
                    yield _renamed(batch, wanted)
                return
            one = pq.ParquetFile(file, metadata=metadata, read_dictionary=named)
            for batch in one.iter_batches(BATCH_ROWS, row_groups=[number], columns=rest, use_threads=False):
                for name, array in found.items():
                    batch = batch.append_column(name, array.slice(before, len(batch)))
                before += len(batch)
                yield _renamed(batch, wanted)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None

    def _kinds(self, wanted: Wanted, named: Sequence[str]) -> dict[str, pa.DataType]:
        """The types that columns come in: ids that the file has once each are dictionaries, of whole numbers where
        they are few."""
        kinds = {name: self.schema.field(name).type for name in wanted.values()}
        for ours in IDS:
            name = wanted.get(ours, "")
            alone = list(wanted.values()).count(name) == 1
            kind = self._bare(name) if name else None
            whole = alone and pa.types.is_signed_integer(kind)
            if whole or any(path == name or path.startswith(f"{name}.") for path in named):
                once = pa.dictionary(pa.int32(), pa.int64() if whole else pa.string())
                kinds[name] = pa.list_(once) if pa.types.is_list(kinds[name]) else once
        return kinds

    def _opened(self) -> tuple[pa.NativeFile, pq.FileMetaData]:
        """The file, opened once for all threads, which read it at places of their own."""
        try:
            file = pa.OSFile(whole_path(self.path))
            return file, pq.read_metadata(file)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None

    def _dictionaries(self, wanted: Wanted, metadata: pq.FileMetaData) -> list[str]:
        """Columns of ids whose texts the file has once each: all values take less than a plain text's length would."""
        found = []
        texts = [wanted[c] for c in IDS if c in wanted and pa.types.is_string(self._bare(wanted[c]))]
        leaves = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
        for name in texts:
            matching = [i for i, path in enumerate(leaves) if path == name or path.startswith(f"{name}.")]
            groups = [metadata.row_group(g).column(i) for g in range(metadata.num_row_groups) for i in matching]
            small = sum(g.total_uncompressed_size for g in groups) < 4 * sum(g.num_values for g in groups)
            if len(matching) == 1 and small and all(g.has_dictionary_page for g in groups):
                found += [leaves[i] for i in matching]
        return found

    def _bare(self, name: str) -> pa.DataType:
        """The type of a column, or of what its lists hold."""
        kind = self.schema.field(name).type
        return kind.value_type if pa.types.is_list(kind) else kind

    def _damaged(self, error: Any) -> InputError:
        return InputError(f"{self.path}: damaged Parquet file ({told(error)}): write it anew")

    def relation(self, wanted: Wanted, connection: duckdb.DuckDBPyConnection, *, numbered: bool = False) -> str:
        """`numbered`: with a column `file_row_number`, from 0."""
        if not numbered:
            return select(wanted, f"read_parquet({pattern(self.path)}, hive_partitioning=false)")
        rows = f"read_parquet({pattern(self.path)}, hive_partitioning=false, file_row_number=true)"
        return select({**wanted, "file_row_number": "file_row_number"}, rows)


def _together(metadata: Any) -> Iterator[list[int]]:
    """Row groups to read at a time, a few batches' worth: Arrow holds on to what it read of all it was asked for."""
    groups: list[int] = []
    rows = 0
    for number in range(metadata.num_row_groups):
        groups.append(number)
        rows += metadata.row_group(number).num_rows
        if rows >= 2 * BATCH_ROWS:
            yield groups
            groups, rows = [], 0
    if groups:
        yield groups


@dataclass(frozen=True)
class DatabasePart:
    """A table or view in a DuckDB file, opened for reading only; a view in it may read nothing but that file."""

    path: str
    table: str
    textual = False

    @property
    def name(self) -> str:
        return f"{self.path}:{self.table}"

    @cached_property
    def schema(self) -> pa.Schema:
        first = f"SELECT * FROM {self._table} LIMIT 0"  # noqa: S608
        with self._open() as connection:
            try:
                return stream(connection, first).schema
            except duckdb.Error as error:
                raise InputError(f"{self.path}: cannot read table {self.table!r} ({told(error)})") from None

    @cached_property
    def _table(self) -> str:
        """The table or view for SQL: `table`, whose name may have a dot, or `schema.table`."""
        with self._open() as connection:
            found = (
                "SELECT table_schema, table_name FROM information_schema.tables ORDER BY table_schema <> 'main', 1, 2"
            )
            known = connection.execute(found).fetchall()
        for schema, table in known:  # those of the main schema first
            if self.table == f"{schema}.{table}" or (schema == "main" and self.table == table):
                return f"{identifier(schema)}.{identifier(table)}"
        names = [table if schema == "main" else f"{schema}.{table}" for schema, table in known]
        choices = ", ".join(map(repr, names)) or "none: it has no tables"
        raise InputError(f"{self.path} has no table {self.table!r}: choose from {choices}")

    def _open(self) -> duckdb.DuckDBPyConnection:
        if not Path(self.path).is_file():
            raise InputError(f"{self.path}: no such file (from {self.name!r}): check the path")
        try:
            connection = duckdb.connect(whole_path(self.path), read_only=True, config=settings())
            if _may_read_files(connection):  # a second connection to an open file shares what the first has locked
                connection.execute("SET enable_external_access = false; SET lock_configuration = true")
            return connection
        except duckdb.Error as error:
            raise InputError(f"{self.path}: cannot be opened as a DuckDB database ({told(error)})") from None

    @property
    def columns(self) -> list[str]:
        return list(self.schema.names)

    def types(self, wanted: Wanted) -> dict[str, pa.DataType]:
        return {ours: self.schema.field(theirs).type for ours, theirs in wanted.items()}

    def batches(self, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        rows = select(wanted, self._table)
        with self._open() as connection:
            yield from streamed(connection, rows, self.name, "a DuckDB table")

    def relation(self, wanted: Wanted, connection: duckdb.DuckDBPyConnection) -> str:
        connection.execute(f"ATTACH IF NOT EXISTS {literal(whole_path(self.path))} AS source (READ_ONLY, TYPE duckdb)")
        connection.execute("SET enable_external_access = false")
        return select(wanted, f"source.{self._table}")


def _may_read_files(connection: duckdb.DuckDBPyConnection) -> bool:
    found = connection.execute("SELECT current_setting('enable_external_access')").fetchone()
    return found is None or bool(found[0])


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
        return select(wanted, name)


def select(wanted: Wanted, table: str) -> str:
    """The wanted columns of a table expression, under our names."""
    chosen = ", ".join(f"{identifier(theirs)} AS {identifier(ours)}" for ours, theirs in wanted.items())
    return f"SELECT {chosen} FROM {table}"  # noqa: S608


def _renamed(batch: pa.RecordBatch, wanted: Wanted) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([batch.column(theirs) for theirs in wanted.values()], names=list(wanted))


def identifier(name: str) -> str:
    """A column or table name, quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text, quoted for SQL."""
    return "'" + text.replace("'", "''") + "'"


def pattern(path: Path) -> str:
    """A file name, quoted for the functions of DuckDB that would read signs in it as a pattern."""
    return literal("".join(f"[{sign}]" if sign in "*?[" else sign for sign in whole_path(path)))


def whole_path(path: str | Path) -> str:
    """A path from the root, which neither Arrow nor DuckDB takes for a URL, whatever colons are in it."""
    whole = os.path.abspath(path)
    try:
        whole.encode()
    except UnicodeEncodeError:
        name = os.fsencode(path).decode(errors="replace")
        raise InputError(f"{name}: the name of the file is not UTF-8: rename it") from None
    return whole


def told(error: Any) -> str:
    """What DuckDB or Arrow say, in one line without their advice, which is not for our users."""
    said = "; ".join(map(str, error.args)) if isinstance(error, pa.ArrowException) else str(error)
    lines: Sequence[str] = [line.strip() for line in said.splitlines() if line.strip()]
    kept = []
    for line in lines[:3]:
        if line.startswith(("Possible", "LINE ", "*", "Try ", "Candidate")):
            break
        kept.append(line)
    text = _PREFIX.sub("", " ".join(" ".join(kept).split())) or type(error).__name__
    return text if len(text) <= 200 else text[:197] + "…"
