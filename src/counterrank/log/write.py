"""Small results as files."""

from __future__ import annotations

import csv
import gzip
import io
import json
from fnmatch import fnmatch
from glob import glob
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from counterrank.errors import InputError
from counterrank.log.files import database_table, kind_of
from counterrank.output import writing


def check_output(path: Path, option: str, *, kinds: tuple[str, ...] = ("parquet", "csv", "jsonl")) -> None:
    """Refuse early what could not be written late: an unknown kind of file, a folder, or one that does not exist."""
    if kind_of(path) not in kinds:
        suffixes = ", ".join(f".{kind}" for kind in kinds)
        raise InputError(f"{option} {path}: unknown kind of file: expected a name that ends with {suffixes}")
    check_place(path, option)


def check_place(path: Path, option: str) -> None:
    """Refuse a folder, and a file in a folder that does not exist."""
    if path.is_dir():
        raise InputError(f"{option} {path}: a folder is there: give the name of a file")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{option} {path}: there is no folder {str(path.parent)!r}: make it first")


def check_apart(path: Path, option: str, *inputs: str | None) -> None:
    """Refuse to write over what is read, and into a folder whose files are."""
    for source in inputs:
        if source is not None and _reads(source, path):
            many = Path(source).resolve() != path.resolve()
            what = f"among those that {source} stands for" if many else "an input of this command"
            raise InputError(f"{option} {path}: that file is {what}: give another name")


def _reads(source: str, path: Path) -> bool:
    """Whether a path, a folder, a glob or `file.duckdb:table` means this file, now or once it is there."""
    given, place = Path(source), path.resolve()
    if given.is_dir():
        return kind_of(path) is not None and place.is_relative_to(given.resolve())
    if not given.exists() and (table := database_table(source)):
        return Path(table[0]).resolve() == place
    if not given.exists() and any(sign in source for sign in "*?["):
        beside = given.parent.resolve() == place.parent and fnmatch(path.name, given.name)
        return beside or any(Path(file).resolve() == place for file in glob(source, recursive=True))
    return given.resolve() == place


def write_table(table: pa.Table, path: Path) -> None:
    """A small result as .parquet, .csv or .jsonl (the last two also .gz), ids as they are. In CSV a list is JSON."""
    check_output(path, "write to")
    with writing(path) as whole:
        if kind_of(path) == "parquet":
            pq.write_table(table, whole)
        elif path.name.lower().endswith(".gz"):
            with gzip.GzipFile(filename="", fileobj=whole, mode="wb", mtime=0) as zipped:
                _write_text(table, path, zipped)
        else:
            _write_text(table, path, whole)


def _write_text(table: pa.Table, path: Path, stream: IO[bytes]) -> None:
    file = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    if kind_of(path) == "csv":
        writer = csv.writer(file)
        writer.writerow(table.column_names)
        writer.writerows(zip(*map(_cells, table.columns), strict=True))
    else:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist())
    file.detach()


def _cells(column: pa.ChunkedArray) -> list[object]:
    values: list[object] = column.to_pylist()
    if not pa.types.is_list(column.type):
        return values
    return [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
