"""Small results as files."""

from __future__ import annotations

import csv
import gzip
import json
from fnmatch import fnmatch
from glob import glob
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from counterrank.errors import InputError
from counterrank.log.files import database_table, kind_of


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
    try:
        _write(table, path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error}): give another path") from None


def _write(table: pa.Table, path: Path) -> None:
    kind = kind_of(path)
    if kind == "parquet":
        pq.write_table(table, path)
        return
    compressed = path.name.lower().endswith(".gz")
    with (
        gzip.open(path, "wt", encoding="utf-8", newline="")
        if compressed
        else path.open("w", encoding="utf-8", newline="") as file
    ):
        if kind == "csv":
            writer = csv.writer(file)
            writer.writerow(table.column_names)
            writer.writerows(zip(*map(_cells, table.columns), strict=True))
        else:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist())


def _cells(column: pa.ChunkedArray) -> list[object]:
    values: list[object] = column.to_pylist()
    if not pa.types.is_list(column.type):
        return values
    return [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
