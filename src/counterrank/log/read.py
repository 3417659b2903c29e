"""`read_log`: any table of what was shown and clicked, as a `Log`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from counterrank.errors import InputError, unknown
from counterrank.log.files import Part, TablePart, database_table, expand, open_part
from counterrank.log.log import Log
from counterrank.log.long_form import LongPart
from counterrank.log.schema import check_columns, resolve


def read_log(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,
    time_unit: str | None = None,
    bad_rows: str | Path | None = None,
) -> Log:
    """A click log from a file, a folder or glob of files, `file.duckdb:table`, or a dataframe.

    `columns` maps our names to the log's, `format` names a foreign format (ubi, yandex, obd), `bad_rows` is a
    JSON Lines file that takes rows with problems instead of stopping at the first.

    >>> import pyarrow as pa
    >>> log = read_log(pa.table({"query": ["q"], "items": [["a", "b"]], "clicks": [[0, 1]]}))
    >>> sorted(log.columns)
    ['clicks', 'items', 'query']
    """
    if isinstance(source, Log):
        return source
    mapping = check_columns(columns or {})
    notes: list[str] = []
    expression = None
    if isinstance(source, str | Path):
        name = str(source)
        if format not in (None, "counterrank"):
            table, notes = _foreign(name, str(format), time_unit)
            parts: list[Part] = [TablePart(table, name)]
        else:
            parts = open_part(source)
    else:
        table, expression = as_arrow(source, "log")
        name = type(source).__name__
        parts = [TablePart(table, name)] if table is not None else [IbisPart(expression)]
    forms = [resolve(part.name, part.columns, mapping) for part in parts]
    if len({form for form, _ in forms}) > 1:
        raise InputError(f"{name}: some files are in list form and some in long form: read them apart")
    found = [f for _, f in forms]
    if forms[0][0] == "long":
        common = set.intersection(*(set(f) for f in found))
        folded = LongPart(parts, [{c: f[c] for c in f if c in common} for f in found], name)
        parts, found = [folded], [{c: c for c in folded.columns}]
    path = Path(bad_rows) if bad_rows else None
    return Log(name, parts, found, notes, path, expression)


def _foreign(name: str, format: str, time_unit: str | None) -> tuple[pa.Table, list[str]]:
    from counterrank.log.foreign import FORMATS

    if format not in FORMATS:
        raise unknown("format", format, ["counterrank", *FORMATS])
    paths = [Path(name)] if Path(name).exists() else expand(name)
    foreign = FORMATS[format](paths, time_unit=time_unit)
    return foreign.table, foreign.notes


def as_arrow(source: Any, what: str) -> tuple[pa.Table | None, Any]:
    """A dataframe as an Arrow table, or an Ibis expression as it is."""
    if isinstance(source, pa.Table):
        return source, None
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source]), None
    if isinstance(source, Mapping):
        return pa.table(dict(source)), None
    module = type(source).__module__
    if module.startswith("ibis."):
        return None, source
    if module.startswith("pandas."):
        return pa.Table.from_pandas(source, preserve_index=False), None
    if hasattr(source, "collect") and module.startswith("polars."):
        source = source.collect() if "lazyframe" in module else source
    if hasattr(source, "to_arrow"):
        return source.to_arrow(), None
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source), None
    raise InputError(
        f"cannot read a {what} from {type(source).__name__}: give a path, or a pandas, Polars, Arrow or Ibis table"
    )


class IbisPart:
    """Rows of an Ibis expression, whichever database it lives in."""

    def __init__(self, expression: Any) -> None:
        self.expression = expression
        self.name = "ibis table"
        self.textual = False

    @property
    def columns(self) -> list[str]:
        return list(self.expression.columns)

    def types(self, wanted: Mapping[str, str]) -> dict[str, pa.DataType]:
        schema = self.expression.schema().to_pyarrow()
        return {ours: schema.field(theirs).type for ours, theirs in wanted.items()}

    def batches(self, wanted: Mapping[str, str]) -> Any:
        chosen = self.expression.select(**{ours: self.expression[theirs] for ours, theirs in wanted.items()})
        yield from chosen.to_pyarrow_batches()

    def relation(self, wanted: Mapping[str, str], connection: Any) -> str:
        name = f"ibis_{id(self.expression)}"
        chosen = self.expression.select(**{ours: self.expression[theirs] for ours, theirs in wanted.items()})
        connection.register(name, chosen.to_pyarrow())
        return f"SELECT * FROM {name}"  # noqa: S608


__all__ = ["Log", "as_arrow", "database_table", "read_log"]
