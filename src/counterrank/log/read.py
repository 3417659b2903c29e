"""`read_log`: any table of what was shown and clicked, as a `Log`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pyarrow as pa

from counterrank.errors import InputError, unknown
from counterrank.log.files import expand, open_parts
from counterrank.log.folders import Found, in_folder
from counterrank.log.frames import IbisPart, open_frame
from counterrank.log.log import Log
from counterrank.log.long_form import LongPart
from counterrank.log.opened import opened_before, remember_opened
from counterrank.log.parts import ParquetPart, Part, TablePart
from counterrank.log.schema import OPTIONAL, SEGMENT, check_columns, check_ignored, parse_ignored, resolve
from counterrank.log.text import TextPart
from counterrank.log.write import check_output


def read_log(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    cluster: str | None = None,
    segment: str | None = None,
    format: str | None = None,
    time_unit: str | None = None,
    bad_rows: str | Path | None = None,
    ignore: Sequence[str] | str | None = None,
    repair_repeats: bool = False,
) -> Log:
    """A click log from a file, a folder or glob of files, `file.duckdb:table`, or a dataframe.

    `columns` maps our names to the log's, `cluster` names the column of impressions that are not independent. `segment`
    names one whose values tell the impressions of a query apart: each (query, value) is then a query of its own.
    `format` names a foreign format (ubi, yandex, obd), `bad_rows` is a JSON Lines file that takes rows with problems
    instead of stopping at the first. A row is good or bad by all columns of ours that the log has; `ignore` names
    optional ones that are left unread. With `repair_repeats` an item that a ranking shows twice keeps its first place,
    and is clicked there if it was clicked anywhere; such rows are counted in the notes.

    >>> import pyarrow as pa
    >>> log = read_log(pa.table({"query": ["q"], "items": [["a", "b"]], "clicks": [[0, 1]]}))
    >>> sorted(log.columns)
    ['clicks', 'items', 'query']
    """
    named = {name: value for name, value in (("cluster", cluster), (SEGMENT, segment)) if value is not None}
    if isinstance(source, Log):
        for name, value in named.items():
            raise InputError(f"`{name}={value}` comes too late for a log that is open: give it to read_log")
        return source
    named_so = dict(columns) if isinstance(columns, Mapping) else columns  # a copy, which nobody changes
    asked = (cluster, segment, named_so, ignore, repair_repeats)
    plain = bad_rows is None and format in (None, "counterrank") and time_unit is None
    known = opened_before(source, asked) if plain else None
    if known is not None:
        return known
    mapping = check_columns({**(columns or {}), **named})
    unread = parse_ignored(ignore) if ignore is None or isinstance(ignore, str) else check_ignored(ignore)
    notes: list[str] = []
    expression = None
    if isinstance(source, str | Path):
        name = str(source)
        if format not in (None, "counterrank"):
            table, notes = _foreign(name, str(format), time_unit)
            parts: list[Part] = [TablePart(table, name)]
        else:
            if time_unit is not None:
                raise InputError(f"`time_unit={time_unit}` applies to `format='yandex'` only: leave it out")
            parts, notes = open_parts(source)
    else:
        parts = [open_frame(source, "log")]
        name = parts[0].name
        expression = source if isinstance(parts[0], IbisPart) else None
    found = _resolved(name, parts, mapping, unread)
    path = None
    if bad_rows is not None:
        path = Path(bad_rows)
        _check_bad_rows(path, source, parts)
    if "items" not in found[0]:
        folded = LongPart(parts, found, name)
        parts, found = [folded], [{c: c for c in folded.columns}]
    log = Log(
        name=name, parts=parts, found=found, notes=tuple(notes), bad_rows=path, table=expression, repair=repair_repeats
    )
    if plain:
        remember_opened(source, asked, log)
    return log


def _resolved(
    name: str, parts: Sequence[Part], mapping: Mapping[str, str], ignore: Sequence[str]
) -> list[dict[str, str]]:
    """Where each part has our columns: all in one form, with the same columns."""
    forms = [resolve(part.name, part.columns, mapping, ignore) for part in parts]
    first, columns = forms[0]
    for part, (form, found) in zip(parts, forms, strict=True):
        if form != first:
            raise InputError(
                f"{name}: {parts[0].name} is in {first} form, but {part.name} in {form} form: read them apart"
            )
        for column in columns.keys() ^ found.keys():
            has, lacks = (parts[0], part) if column in columns else (part, parts[0])
            raise InputError(
                f"{name}: {has.name} has column {column!r}, but {lacks.name} does not: "
                "give all files the same columns, or read them apart"
                + (f", or leave it unread with `ignore={column}`" if column in OPTIONAL else "")
            )
    return [found for _, found in forms]


def _check_bad_rows(path: Path, source: Any, parts: Sequence[Part]) -> None:
    """Bad rows must not go into the log itself."""
    check_output(path, "`bad_rows`", kinds=("jsonl",))
    if path.name.lower().endswith(".gz"):
        raise InputError(f"`bad_rows` {path}: bad rows are written as plain text: leave out .gz")
    place = path.absolute().resolve()
    if any(isinstance(part, ParquetPart | TextPart) and part.path.resolve() == place for part in parts):
        raise InputError(f"`bad_rows` {path}: that is the log itself: give another file")
    if isinstance(source, str | Path) and Path(source).is_dir() and place.is_relative_to(Path(source).resolve()):
        raise InputError(
            f"`bad_rows` {path}: inside the log's folder it would be read as a part of the log: put it elsewhere"
        )


def _foreign(name: str, format: str, time_unit: str | None) -> tuple[pa.Table, list[str]]:
    from counterrank.log.foreign import FORMATS, PATTERNS

    if format not in FORMATS:
        raise unknown("format", format, ["counterrank", *FORMATS])
    path = Path(name)
    if path.is_dir():
        found = in_folder(path, lambda file: fnmatch(file.name, PATTERNS.get(format, "*")))
        found = found if found.files else Found([path])  # the reader says what it expected
    else:
        found = Found([path]) if path.exists() else expand(name)
    foreign = FORMATS[format](found.files, time_unit=time_unit)
    return foreign.table, [*foreign.notes, *found.notes(name)]


__all__ = ["IbisPart", "Log", "read_log"]
