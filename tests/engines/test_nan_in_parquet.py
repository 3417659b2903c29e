"""A NaN that a Parquet file's statistics leave out is a bad row all the same, on every engine."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterrank as cr


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
def test_nan_is_set_aside(engine: str, tmp_path: Path) -> None:
    rewards = [1.0, float("nan"), 1.0, 1.0, 1.0, 0.0]
    table = {"query": ["7"] * 6, "items": [["a", "b"]] * 6, "clicks": [[1, 0]] * 6, "reward": rewards}
    pq.write_table(pa.table(table), tmp_path / "log.parquet")
    log = cr.read_log(tmp_path / "log.parquet", bad_rows=tmp_path / "bad.jsonl")
    result = cr.evaluate(log, "logging", engine=engine)
    assert (result.reading.rows, result.reading.rejected) == (5, 1)
    assert result.value("rctr") == pytest.approx(0.8)
