"""Results as files."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import IO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from counterrank.errors import InputError
from counterrank.log.files import kind_of
from counterrank.log.text import delimiter_of
from counterrank.output import is_special, writing


def check_output(path: Path, option: str, *, kinds: tuple[str, ...] = ("parquet", "csv", "jsonl")) -> None:
    """Refuse early what could not be written late: an unknown kind of file, a folder, or one that does not exist."""
    if kind_of(path) not in kinds:
        suffixes = ", ".join(f".{kind}" for kind in kinds)
        raise InputError(f"{option} {path}: unknown kind of file: expected a name that ends with {suffixes}")
    check_place(path, option)


def check_place(path: Path, option: str) -> None:
    """Refuse a folder, a file in a folder that is not there or cannot be written, and a name that cannot be."""
    try:
        if stat.S_ISDIR(os.stat(path).st_mode):
            raise InputError(f"{option} {path}: a folder is there: give the name of a file")
    except FileNotFoundError:
        pass
    except OSError as error:
        raise InputError(f"{option} {path}: cannot be written ({error.strerror}): give another path") from None
    if is_special(path):
        return
    parent = Path(os.path.realpath(path)).parent
    if not parent.is_dir():
        raise InputError(f"{option} {path}: there is no folder {str(path.parent)!r}: make it first")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{option} {path}: the folder {str(path.parent)!r} cannot be written: give another path")


def check_folder(path: Path, option: str) -> None:
    """Refuse a folder for outputs where a file is, or below one."""
    try:
        if not stat.S_ISDIR(os.stat(path).st_mode):
            raise InputError(f"{option} {path}: a file is there: give a folder")
    except FileNotFoundError:
        pass
    except OSError as error:
        raise InputError(f"{option} {path}: no folder can be there ({error.strerror}): give another") from None


def write_table(table: pa.Table, path: Path) -> None:
    """A small result as .parquet, .csv, .tsv or .jsonl (text also .gz), ids as they are. In CSV a list is JSON."""
    write_parts([table], table.schema, path)


def write_parts(parts: Iterable[pa.Table], schema: pa.Schema, path: Path) -> None:
    """Likewise of a large one, part by part: no more than one of them is in memory."""
    check_output(path, "write to")
    with writing(path) as whole:
        if kind_of(path) == "parquet":
            with pq.ParquetWriter(whole, schema) as file:
                for part in parts:
                    file.write_table(part)
        elif path.name.lower().endswith(".gz"):
            with gzip.GzipFile(filename="", fileobj=whole, mode="wb", mtime=0) as zipped:
                _write_text(parts, schema, path, cast(IO[bytes], zipped))
        else:
            _write_text(parts, schema, path, whole)


def _write_text(parts: Iterable[pa.Table], schema: pa.Schema, path: Path, stream: IO[bytes]) -> None:
    file = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    if kind_of(path) == "csv":
        writer = csv.writer(file, delimiter=delimiter_of(path))
        writer.writerow(schema.names)
        for part in parts:
            writer.writerows(zip(*map(_cells, part.columns), strict=True))
    else:
        for part in parts:
            file.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in part.to_pylist())
    file.detach()


def _cells(column: pa.ChunkedArray) -> list[object]:
    values: list[object] = column.to_pylist()
    if not pa.types.is_list(column.type):
        return values
    return [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
