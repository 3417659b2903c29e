"""Arrow batches to Parquet, CSV or JSON Lines, one batch at a time."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, BinaryIO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from counterrank.errors import InputError
from counterrank.log.files import kind_of
from counterrank.output import writing

SUFFIXES = (".parquet", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz")

Write = Callable[[pa.RecordBatch], None]


@contextmanager
def writer(path: str | Path, schema: pa.Schema) -> Iterator[Write]:
    """A function that appends batches to the file. In CSV a list is a JSON array."""
    kind = kind_of(Path(path))
    if kind is None:
        raise InputError(f"cannot tell how to write {str(path)!r}: end the name with {', '.join(SUFFIXES)}")
    with writing(path) as whole:
        if kind == "parquet":
            with pa.parquet.ParquetWriter(whole, schema, compression="zstd") as parquet:
                yield parquet.write_batch
            return
        with _zipped(whole) if str(path).lower().endswith(".gz") else nullcontext(whole) as stream:
            if kind == "jsonl":
                yield lambda batch: _write_lines(stream, batch)
                return
            flat = pa.schema([pa.field(f.name, pa.string() if pa.types.is_list(f.type) else f.type) for f in schema])
            with pa.csv.CSVWriter(stream, flat) as table:
                yield lambda batch: table.write_batch(_flattened(batch, flat))


def _flattened(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [_as_json(column) if pa.types.is_list(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _zipped(stream: BinaryIO) -> IO[bytes]:
    """No name and no time in the gzip header: the same rows give the same bytes."""
    return cast(IO[bytes], gzip.GzipFile(filename="", fileobj=stream, mode="wb", compresslevel=4, mtime=0))


def _write_lines(stream: IO[bytes], batch: pa.RecordBatch) -> None:
    parts: list[object] = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        parts += [("{" if not parts else ", ") + json.dumps(name) + ": ", pc.fill_null(_as_json(column), "null")]
    lines = pc.binary_join_element_wise(*parts, "}\n", "")
    for text in _whole(lines):
        stream.write(text.as_buffer())


def _whole(lines: pa.Array, size: int = 1 << 14) -> Iterator[pa.Scalar]:
    """The lines glued together, some thousands at a time."""
    for start in range(0, len(lines), size):
        some = lines[start : start + size]
        yield pc.binary_join(pa.ListArray.from_arrays([0, len(some)], some), "")[0]


def _as_json(column: pa.Array) -> pa.Array:
    """Each value as JSON text."""
    if pa.types.is_list(column.type):
        ends = pa.array(column.offsets.to_numpy() - column.offsets[0].as_py(), pa.int32())
        joined = pc.binary_join(pa.ListArray.from_arrays(ends, _as_json(column.flatten())), ", ")
        return pc.if_else(column.is_null(), None, pc.binary_join_element_wise("[", joined, "]", ""))
    if pa.types.is_string(column.type):
        coded = column.dictionary_encode()
        quoted = pa.array([json.dumps(text, ensure_ascii=False) for text in coded.dictionary.to_pylist()], pa.string())
        return quoted.take(coded.indices)
    return column.cast(pa.string())
