"""Dataframes of other libraries as parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from counterrank.errors import InputError
from counterrank.log.parts import BATCH_ROWS, Part, TablePart, Wanted, told


def open_frame(source: Any, what: str) -> Part:
    """A pandas, Polars, Arrow or Ibis table, or a dict of columns, as a part."""
    name = f"the {type(source).__name__} given"
    if type(source).__module__.startswith("ibis."):
        return IbisPart(source)
    try:
        table = _table(source)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        why = f"cannot be read as a table ({told(error)})"
        raise InputError(f"{name} {why}: give each column one kind of values, ids as text or integers") from None
    if table is None:
        raise InputError(
            f"cannot read a {what}: {name} is not a table: give a path, or a pandas, Polars, Arrow or Ibis table"
        )
    return TablePart(table, name)


def _table(source: Any) -> pa.Table | None:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, Mapping):
        return pa.table(dict(source))
    module = type(source).__module__
    if module.startswith("pandas."):
        return pa.Table.from_pandas(source, preserve_index=False)
    if hasattr(source, "collect") and module.startswith("polars."):
        source = source.collect() if "lazyframe" in module else source
    if hasattr(source, "to_arrow"):
        return source.to_arrow()
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    return None


class IbisPart:
    """Rows of an Ibis expression, whichever database it lives in."""

    def __init__(self, expression: Any) -> None:
        self.expression = expression
        self.name = "the Ibis table given"
        self.textual = False

    @property
    def columns(self) -> list[str]:
        return list(self.expression.columns)

    def types(self, wanted: Wanted) -> dict[str, pa.DataType]:
        schema = self.expression.schema().to_pyarrow()
        return {ours: schema.field(theirs).type for ours, theirs in wanted.items()}

    def batches(self, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        chosen = self._chosen(wanted)
        backend = self.expression.get_backend()
        if backend.name == "duckdb" and not hasattr(backend.con, "fetch_record_batch"):
            # an Ibis that streams by a method which this newer DuckDB has dropped: all rows at once, then
            yield from chosen.to_pyarrow().to_batches(max_chunksize=BATCH_ROWS)
        else:
            yield from chosen.to_pyarrow_batches(chunk_size=BATCH_ROWS)

    def relation(self, wanted: Wanted, connection: Any) -> str:
        name = f"ibis_{id(self.expression)}"
        connection.register(name, self._chosen(wanted).to_pyarrow())
        return f"SELECT * FROM {name}"  # noqa: S608

    def _chosen(self, wanted: Wanted) -> Any:
        return self.expression.select(**{ours: self.expression[theirs] for ours, theirs in wanted.items()})
