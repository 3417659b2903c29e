"""Features of items: rows `query`, `item` and numeric columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.errors import InputError, near
from counterrank.ids import Ids
from counterrank.limits import LARGEST
from counterrank.log.letor import read_letor
from counterrank.log.parts import Part
from counterrank.log.sources import Source, open_source
from counterrank.records import dataclass
from counterrank.statistics.pairs import Pairs

LETOR = (".txt", ".letor", ".svm", ".svmlight")
FORM = "features have query, item and numeric columns"


@dataclass(frozen=True)
class Features:
    """A row of numbers for each (query, item)."""

    query: pa.Array  # (N,) text
    item: pa.Array  # (N,) text
    names: list[str]
    values: NDArray[np.float64]  # (N, F)
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.query)

    def __repr__(self) -> str:
        return f"Features({len(self.names)} of {len(self):,} items of queries)"

    def on(self, pairs: Pairs) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The features of each pair, (P, F), and which pairs have none: those are NaN."""
        rows = pairs.find(pairs.query_ids.codes(self.query), pairs.item_ids.codes(self.item))
        out = np.full((len(pairs), len(self.names)), np.nan)
        out[rows[rows >= 0]] = self.values[rows >= 0]
        return out, np.isnan(out[:, 0])


def read_features(source: Any, *, format: str | None = None, missing: bool = False) -> Features:
    """Features from a file or a table.

    source: a path (Parquet, CSV, JSON Lines, a folder or glob of them, `file.duckdb:table`), a pandas, Polars, Arrow or
    Ibis table, or a dict of columns. format: "letor" for LETOR / SVMlight text, which names in .txt, .letor, .svm and
    .svmlight tell by themselves; its labels are left out. missing: whether a table may lack numbers (NaN).

    >>> read_features({"query": ["q", "q"], "item": ["a", "b"], "price": [1, 2]}).values.tolist()
    [[1.0], [2.0]]
    """
    if isinstance(source, Features):
        return source
    if format not in (None, "letor"):
        raise InputError(f"features of format {format!r} are not known: expected letor, or nothing for tables")
    if isinstance(source, str | Path) and (format == "letor" or _is_letor(str(source))):
        table = read_letor([Path(source)]).drop_columns("label")
        label, names = str(source), [n for n in table.column_names if n not in ("query", "item")]
        notes: list[str] = []
        values = np.stack([table[name].to_numpy() for name in names], axis=1) if names else np.zeros((0, 0))
    else:
        opened = open_source(dict(source) if isinstance(source, Mapping) else source, "table of features")
        label = opened.label
        names, notes = _numeric(opened)
        notes += opened.notes
        ours = {_ours(name): name for name in names}
        table = opened.read({"query": "query", "item": "item", **ours}, ours if missing else ())
        values = np.stack([table[_ours(name)].to_numpy() for name in names], axis=1).astype(np.float64, copy=False)
    query, item = (table[name].combine_chunks() for name in ("query", "item"))
    found = Features(query, item, names, values, notes)
    _check(found, label, missing)
    return found


def _is_letor(path: str) -> bool:
    return path.removesuffix(".gz").endswith(LETOR)


def _ours(name: str) -> str:
    """What messages call a column."""
    return f"feature {name}"


def _numeric(source: Source) -> tuple[list[str], list[str]]:
    """The numeric columns, and what to say of the others."""
    came = source.names
    for name in ("query", "item"):
        if name not in came:
            raise InputError(
                f"{source.label} lacks column {name!r}{near(name, came)}; it has {', '.join(came)}: {FORM}"
            )
    rest = [name for name in came if name not in ("query", "item")]
    others = [name for name in rest if any(not _is_number(part, name) for part in source.parts)]
    kept = [name for name in rest if name not in others]
    if not kept:
        raise InputError(f"{source.label} has no numeric column: {FORM}")
    return kept, [f"{source.label}: {', '.join(others)} left out: not numeric"] if others else []


def _is_number(part: Part, name: str) -> bool:
    """Whether a column is numeric; in a text file every column but the ids is taken to be."""
    if part.textual:
        return True
    kind = part.types({name: name})[name]
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_null(kind)
    )


def _check(features: Features, label: str, missing: bool) -> None:
    if len(features) == 0:
        raise InputError(f"{label} has no rows: {FORM}")
    if not features.names:
        raise InputError(f"{label} has no numeric column: {FORM}")
    bad = np.argwhere(~((np.abs(features.values) <= LARGEST) | (missing & np.isnan(features.values))))
    if len(bad):
        row, column = bad[0]
        raise InputError(
            f"{label}, row {row + 1}: {_ours(features.names[column])} is {features.values[row, column]}: "
            f"write a finite number up to {LARGEST:g} in size, or leave the row out"
        )
    queries, items = features.query.unique(), features.item.unique()
    keys = (Ids(queries).codes(features.query) << 32) | Ids(items).codes(features.item)
    _, first = np.unique(keys, return_index=True)
    if len(first) < len(keys):
        again = np.ones(len(keys), dtype=bool)
        again[first] = False
        row = int(np.flatnonzero(again)[0])
        raise InputError(
            f"{label}, row {row + 1}: query {features.query[row].as_py()!r} has item {features.item[row].as_py()!r} "
            "twice: give one row of features for each"
        )
