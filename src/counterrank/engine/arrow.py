"""Tables that a backend gives back, as arrays; and rankings as a table that it can read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.engine.plan import WantedRankings
from counterrank.ids import Codes
from counterrank.statistics.cells import Cells, Tally


def beginnings(wanted: WantedRankings, depth: int) -> pa.Table:
    """The first 1, 2, … items of each ranking: what a shorter list of the log may equal."""
    longest = pc.max(pc.list_value_length(wanted.items)).as_py() or 0
    parts = []
    for length in range(1, min(depth, longest) + 1):
        long = pc.greater_equal(pc.list_value_length(wanted.items), length)
        lists = pc.list_slice(wanted.items.filter(long), 0, length, return_fixed_size_list=False)
        parts.append(pa.table({"query": wanted.queries.filter(long), "items": lists}))
    empty = pa.table({"query": wanted.queries.slice(0, 0), "items": wanted.items.slice(0, 0)})
    return pa.concat_tables([empty, *parts], promote_options="permissive")


def tallied(found: pa.Table, rows: Codes, size: int, depth: int) -> Tally:
    """Shown and clicked by cell; row -1 and positions from `depth` on are left out."""
    positions = numbers(found["position"], np.int64)
    used = np.flatnonzero((rows >= 0) & (positions < depth))
    counted = [numbers(found[name], np.int64)[used] for name in ("shown", "clicked")]
    cells, (shown, clicked) = Cells.added(rows[used], positions[used], counted, size, depth)
    return Tally(cells, shown, clicked)


def text(column: Any) -> pa.Array:
    return (column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column).cast(pa.string())


def numbers(column: Any, kind: Any) -> NDArray[Any]:
    return np.asarray(column.to_numpy(), dtype=kind)
