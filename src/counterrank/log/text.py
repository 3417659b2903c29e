"""CSV and JSON files, read by DuckDB."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import pyarrow as pa

from counterrank.errors import InputError
from counterrank.late import Late
from counterrank.log import ragged
from counterrank.log.gzipped import check_gzip
from counterrank.log.parts import Part, Wanted, connect, identifier, literal, pattern, stream, streamed, text_type, told
from counterrank.log.plain_json import plain_pieces
from counterrank.log.spelled import doubtful, from_csv, json_id
from counterrank.records import dataclass

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = Late("duckdb")

_ROOM = 67_108_864  # bytes that one JSON object may take
_SAMPLE = 20_480  # rows that tell a JSON file's columns
_MARK = b"\xef\xbb\xbf"  # the byte order mark of UTF-8
IDS = ("query", "item", "impression", "cluster")
_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


@dataclass(frozen=True)
class TextPart:
    """A CSV or JSON Lines file, read by DuckDB: ids stay text, a value of the wrong type becomes missing."""

    path: Path
    kind: str
    by_row: bool = False  # whether `relation` shall read rows that are not as long as the header, in memory
    textual = True

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def columns(self) -> list[str]:
        return self._header if self.kind == "csv" else list(self._inferred)

    @cached_property
    def _header(self) -> list[str]:
        """A CSV file's first line."""
        self._start  # noqa: B018 - refuses what is no UTF-8 text
        try:
            with self._open() as file:
                header = next(csv.reader(file, strict=True, delimiter=delimiter_of(self.path)), [])
        except UnicodeDecodeError:
            raise InputError(f"{self.path}: the text is not UTF-8: save it as UTF-8") from None
        except (OSError, EOFError, zlib.error, csv.Error) as error:
            raise InputError(f"{self.path}: not readable as CSV ({told(error)}): mend the file") from None
        named = list(filter(None, header))  # a column without a name is nobody's: an index, or a comma at the end
        if not named or len(set(named)) < len(named):
            shown = delimiter_of(self.path).join(header)
            shown = shown if len(shown) <= 80 else shown[:77] + "…"
            raise InputError(f"{self.path}: starts with {shown!r}: give a first line with distinct column names")
        return header

    @cached_property
    def _start(self) -> bytes:
        """The first bytes that are no space, of a file that is UTF-8 text as far as they tell."""
        if self._zipped:
            check_gzip(self.path)
        try:
            with gzip.open(self.path) if self._zipped else self.path.open("rb") as file:
                start = file.read(65_536)
                while start and not start.strip():
                    start = file.read(65_536)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(
                f"{self.path}: cannot be read ({told(error)}): is the file whole, and what its name says?"
            ) from None
        for mark, encoding in _BOMS.items():
            if start.startswith(mark):
                raise InputError(f"{self.path}: the text is {encoding}, expected UTF-8: save it as UTF-8")
        if b"\0" in start:
            raise InputError(f"{self.path}: not a text file (it holds zero bytes), expected {self._called} in UTF-8")
        return start.removeprefix(_MARK).lstrip()

    @cached_property
    def _marked(self) -> bool:
        """Whether a file begins with a byte order mark."""
        with gzip.open(self.path) if self._zipped else self.path.open("rb") as file:
            return file.read(len(_MARK)) == _MARK

    @property
    def _zipped(self) -> bool:
        return self.path.name.lower().endswith(".gz")

    @property
    def _called(self) -> str:
        return "CSV" if self.kind == "csv" else "JSON Lines"

    @cached_property
    def _array(self) -> bool:
        """Whether a JSON file is one array of rows instead of a row a line."""
        return self._start.startswith(b"[") and not self.path.name.lower().removesuffix(".gz").endswith("l")

    @property
    def _json(self) -> str:
        layout = "format='array'" if self._array else "format='newline_delimited', ignore_errors=true"
        return f"{pattern(self.path)}, {layout}, maximum_object_size={_ROOM}, hive_partitioning=false"

    @cached_property
    def _inferred(self) -> dict[str, str]:
        if not self._start:
            raise InputError(f"{self.path}: the file is empty (blank lines only): expected one JSON object a line")
        try:
            with connect() as connection:
                rows = connection.execute(f"DESCRIBE SELECT * FROM read_json_auto({self._json})").fetchall()  # noqa: S608
        except duckdb.Error as error:
            raise InputError(f"{self.path}: not readable as {self._called} ({told(error)}): mend the file") from None
        found = {str(row[0]): str(row[1]) for row in rows}
        if list(found) == ["json"]:  # some lines are no objects: DuckDB takes none for one, then
            found = self._looked_up()
        return found

    def _looked_up(self) -> dict[str, str]:
        """The columns of those of the first lines that are objects."""
        found: dict[str, str] = {}
        for row in islice(self.content(), _SAMPLE):
            for name, value in row.items() if isinstance(row, dict) else ():
                whole = [type(v) is int for v in value] if isinstance(value, list) else [type(value) is int]
                kind = ("BIGINT[]" if isinstance(value, list) else "BIGINT") if all(whole) else "VARCHAR"
                found[name] = kind if found.get(name, kind) == kind else "VARCHAR"
        if not found:
            raise InputError(f"{self.path}: not readable as JSON Lines: expected one JSON object a line")
        return found

    def types(self, wanted: Wanted) -> dict[str, pa.DataType]:
        """JSON numbers are read as text, but told as integers, so that output gives integers back."""
        lists = {"items": pa.list_(pa.string())}
        if self.kind == "csv":
            return {ours: lists.get(ours, pa.string()) for ours in wanted}
        integers = {"BIGINT": pa.int64(), "BIGINT[]": pa.list_(pa.int64())}
        return {
            ours: integers.get(self._inferred[theirs], lists.get(ours, pa.string())) for ours, theirs in wanted.items()
        }

    def pieces(self, wanted: Wanted) -> list[Iterator[pa.RecordBatch | None]]:
        """Blocks of JSON Lines that can be read side by side, with None for one that only `batches` can read. Where
        there are none, `batches` has to read it all."""
        return [] if self.kind == "csv" or self._zipped or self._array else plain_pieces(self.path, wanted)

    def batches(self, wanted: Wanted, done: int = 0) -> Iterator[pa.RecordBatch]:
        """Fast where every row is plain; from the first that is not on, with care. `done` rows of JSON are left out."""
        try:
            with connect() as connection:
                for batch in stream(connection, f"{self._relation(wanted, careful=False)} OFFSET {done}"):
                    if "items" in wanted and doubtful(batch.column("items").flatten(), self.kind == "jsonl"):
                        break
                    yield batch
                    done += len(batch)
                else:
                    return
            with connect() as connection:
                rest = f"{self._relation(wanted, careful=True)} OFFSET {done}"
                for batch in stream(connection, rest):
                    yield batch
                    done += len(batch)
        except (pa.ArrowException, OSError, duckdb.Error) as error:
            if self.kind != "csv":
                raise InputError(
                    f"{self.name}: not readable as {self._called} ({told(error)}): mend the file"
                ) from None
            with connect() as connection:
                for rows in ragged.tables(self._csv_rows(), len(self._header), done):
                    connection.register("rows_", rows)
                    yield from streamed(connection, self._chosen(wanted, "rows_", True), self.name, self._called)

    def relation(self, wanted: Wanted, connection: duckdb.DuckDBPyConnection) -> str:
        """With care for each value. CSV rows that are not as long as the header stop it, unless `by_row` is set."""
        if not self.by_row:
            return self._relation(wanted, careful=True)
        name = f"rows_{id(self)}"
        connection.register(name, pa.concat_tables(ragged.tables(self._csv_rows(), len(self._header))))
        return self._chosen(wanted, name, careful=True)

    def _relation(self, wanted: Wanted, careful: bool) -> str:
        if self.kind == "csv":
            return self._chosen(wanted, self._csv(), careful)
        kinds = {ours: text_type(ours) for ours in wanted}
        chosen = {ours: identifier(theirs) for ours, theirs in wanted.items()}
        for ours, theirs in wanted.items():
            if ours in IDS:
                kinds[ours], chosen[ours] = "JSON", json_id(identifier(theirs))
            elif ours == "items" and careful:
                kinds[ours] = "JSON[]"
                chosen[ours] = f"list_transform({identifier(theirs)}, lambda one: {json_id('one')})"
        for ours, theirs in wanted.items():
            if ours not in IDS and list(wanted.values()).count(theirs) > 1:  # a column that is two of ours
                chosen[ours] = f"TRY_CAST({identifier(theirs)}->>'$' AS {kinds[ours]})"
                kinds[ours] = "JSON"
        types = {theirs: kinds[ours] for ours, theirs in wanted.items()}
        table = self._marked_json(types) if self._marked else self._plain_json(types)
        return f"SELECT {', '.join(f'{sql} AS {identifier(ours)}' for ours, sql in chosen.items())} FROM {table}"  # noqa: S608

    def _chosen(self, wanted: Wanted, table: str, careful: bool) -> str:
        """The wanted columns of a table with the columns c0, c1, … of a CSV file."""
        number = {name: i for i, name in enumerate(self._header)}
        chosen = [from_csv(ours, f"c{number[theirs]}", careful) for ours, theirs in wanted.items()]
        chosen += ["problem_"] if table.startswith("rows_") else []
        return f"SELECT {', '.join(chosen)} FROM {table}"  # noqa: S608

    def _plain_json(self, types: dict[str, str]) -> str:
        typed = ", ".join(f"{literal(theirs)}: {literal(kind)}" for theirs, kind in types.items())
        return f"read_json({self._json}, columns={{{typed}}})"

    def _marked_json(self, types: dict[str, str]) -> str:
        """DuckDB takes a byte order mark for damage, so the lines are read as they are and parsed without it."""
        if self._array:
            raise InputError(f"{self.path}: starts with a byte order mark: save it as UTF-8 without one")
        shape = {theirs: [kind[:-2]] if kind.endswith("[]") else kind for theirs, kind in types.items()}
        line = f"ltrim(line, {literal(_MARK.decode())})"
        lines = (
            f"read_csv({pattern(self.path)}, auto_detect=false, columns={{line: 'VARCHAR'}}, header=false, "
            f"delim='\x01', quote='', escape='', comment='', strict_mode=false, "
            f"max_line_size={_ROOM}, hive_partitioning=false)"
        )
        row = f"CASE WHEN json_valid({line}) AND json_type({line}) = 'OBJECT' THEN {line} END"
        found = f"SELECT from_json({row}, {literal(json.dumps(shape))}) AS row FROM {lines} WHERE trim(line) <> ''"  # noqa: S608
        chosen = ", ".join(f"row[{literal(theirs)}] AS {identifier(theirs)}" for theirs in types)
        return f"(SELECT {chosen} FROM ({found}))"  # noqa: S608

    def _csv(self) -> str:
        """The file's rows as text, in columns c0, c1, … (names in SQL know no case)."""
        columns = ", ".join(f"c{i}: 'VARCHAR'" for i in range(len(self._header)))
        return (
            f"read_csv({pattern(self.path)}, auto_detect=false, columns={{{columns}}}, header=true, "
            f"delim={literal(delimiter_of(self.path))}, hive_partitioning=false, "
            "quote='\"', escape='\"', comment='', strict_mode=true, max_line_size=16777216)"
        )

    def _csv_rows(self) -> Iterator[ragged.RaggedRow]:
        """The rows below the header, one by one."""
        with self._open() as file:
            csv.field_size_limit(_ROOM)
            yield from ragged.rows(file, len(self._header), delimiter_of(self.path), self.name)

    def content(self) -> Iterator[Any]:
        """Each row as the file has it, for messages: a CSV row by column, a JSON value, or a line that is none."""
        if self.kind == "csv":
            for row in self._csv_rows():
                yield row.text if row.wrong else dict(zip(self._header, row.values, strict=True))
            return
        with self._open() as file:
            if self._array:
                yield from json.load(file)
                return
            for line in filter(str.strip, file):
                try:
                    yield json.loads(line)
                except ValueError:
                    yield line.rstrip("\r\n")

    def _open(self) -> TextIO:
        options: dict[str, Any] = {"encoding": "utf-8-sig", "newline": "", "errors": "replace"}
        if self.kind == "csv":
            options["errors"] = "strict"
        file = gzip.open(self.path, "rt", **options) if self._zipped else self.path.open(**options)  # noqa: SIM115
        return cast(TextIO, file)


def delimiter_of(path: Path) -> str:
    """What stands between the values of a CSV file: a tab where its name ends with .tsv."""
    return "\t" if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","


def read_by_row(parts: Sequence[Part]) -> list[Part] | None:
    """The same parts with CSV files read row by row; None where there is none that could be."""
    found = [
        replace(part, by_row=True) if isinstance(part, TextPart) and part.kind == "csv" else part for part in parts
    ]
    return None if list(parts) == found or any(getattr(part, "by_row", False) for part in parts) else found
