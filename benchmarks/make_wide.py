"""A log with very many items or very many queries: `python -m benchmarks.make_wide items 2000000 1000000`."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.make_log import default_folder, lists

POSITIONS = 5


def make(kind: str, rows: int, size: int, folder: Path) -> tuple[Path, Path]:
    """Two million rows; a thousand queries over a million items, or 865,000 queries over ten items each."""
    log, table = folder / f"wide-{kind}-{rows}-{size}.parquet", folder / f"wide-{kind}-{size}-table.parquet"
    if log.exists() and table.exists():
        return log, table
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    queries = 1_000 if kind == "items" else size
    query = rng.integers(0, queries, rows)
    query[:queries] = np.arange(queries)
    own = size // queries if kind == "items" else 10
    first = rng.integers(0, own, rows)
    shown = query[:, None] * own + (first[:, None] + np.arange(POSITIONS) * (1 + own // 7)) % own
    clicked = (rng.random(shown.shape) < 0.3 / np.arange(1, POSITIONS + 1)).astype(np.int8)
    _write(log, query, {"items": shown, "clicks": clicked})
    every = np.arange(queries)
    _write(table, every, {"items": every[:, None] * own + np.arange(POSITIONS) * (1 + own // 7) % own})
    return log, table


def _write(path: Path, query: np.ndarray, columns: dict[str, np.ndarray]) -> None:
    listed = {name: lists(pa.array(values.ravel()), values.shape) for name, values in columns.items()}
    partial = path.with_suffix(".partial")
    pq.write_table(pa.table({"query": pa.array(query), **listed}), partial, row_group_size=122_880)
    partial.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("items", "queries"))
    parser.add_argument("rows", type=int)
    parser.add_argument("size", type=int)
    parser.add_argument("--dir", type=Path, default=default_folder())
    given = parser.parse_args()
    print(*make(given.kind, given.rows, given.size, given.dir), sep="\n")


if __name__ == "__main__":
    main()
