"""Which files a source means, of which kind, opened as parts."""

from __future__ import annotations

import glob
import re
from pathlib import Path

from counterrank.errors import InputError
from counterrank.log.folders import Found, in_folder, of_glob
from counterrank.log.parts import (
    TEXT_TYPES,
    DatabasePart,
    ParquetPart,
    Part,
    TablePart,
    Wanted,
    connect_apart,
    identifier,
    stream,
)
from counterrank.log.text import TextPart

KINDS = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "jsonl": (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".json", ".json.gz"),
}
EXPECTED = "expected a format of .parquet, .csv, .tsv, .jsonl (the last three also .gz), or file.duckdb:table"
_DATABASE = re.compile(r"^(?P<file>.+\.(?:duckdb|ddb|db)):(?P<table>[^:/\\]+)$")


def kind_of(path: Path) -> str | None:
    lower = path.name.lower()
    return next((kind for kind, suffixes in KINDS.items() if lower.endswith(suffixes)), None)


def expand(source: str | Path) -> Found:
    """The files that a path, a folder or a glob means, sorted; names with a dot or underscore first are no data."""
    text = str(source)
    path = Path(text)
    if path.is_dir():
        found = in_folder(path, kind_of)
        if not found.files:
            raise InputError(f"{text}: the folder has no data files: put Parquet, CSV or JSON Lines files there")
        return found
    if path.exists():
        return Found([path])
    if any(sign in text for sign in "*?["):
        found = of_glob(glob.glob(text, recursive=True))
        if not found.files:
            raise InputError(f"{text}: no file matches this pattern: check the path")
        return found
    raise InputError(f"{text}: no such file or folder: check the path")


def open_parts(source: str | Path) -> tuple[list[Part], list[str]]:
    """The parts that a path, folder, glob or `file.duckdb:table` means, and notes on files that were left out."""
    table = database_table(str(source))
    if table and not Path(source).exists():
        return [DatabasePart(*table)], []
    parts: list[Part] = []
    found = expand(source)
    for path in found.files:
        kind = kind_of(path)
        if kind is None:
            raise InputError(f"{path}: unknown kind of file: {EXPECTED}")
        if path.stat().st_size == 0:
            raise InputError(f"{path}: the file is empty: give one with rows")
        parts.append(ParquetPart(path) if kind == "parquet" else TextPart(path, kind))
    return parts, found.notes(str(source))


def database_table(source: str) -> tuple[str, str] | None:
    """`file.duckdb:table` as its two halves."""
    match = _DATABASE.match(source)
    return (match["file"], match["table"]) if match else None


__all__ = [
    "TEXT_TYPES",
    "DatabasePart",
    "ParquetPart",
    "Part",
    "TablePart",
    "TextPart",
    "Wanted",
    "connect_apart",
    "database_table",
    "expand",
    "identifier",
    "kind_of",
    "open_parts",
    "stream",
]
