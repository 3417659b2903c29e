"""A bad row of a long log is named by its file and number, however many threads read it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import counterrank as cr
from counterrank.errors import InputError

ROWS, BAD = 600_000, 437_211  # rows of a file, and the one, from 1, whose click is no click


def written(path: Path, whole: bool, column: str) -> Path:
    """Impressions of three rows each, in an order that is not theirs."""
    rng = np.random.default_rng(0)
    impression = np.repeat(rng.permutation(ROWS // 3), 3)
    click = np.zeros(ROWS, dtype=np.int64)
    click[BAD - 1] = 7
    table = pa.table(
        {
            "impression": pa.array(impression if whole else [f"n{each}" for each in impression]),
            "query": np.zeros(ROWS, dtype=np.int64),
            "position": np.tile([1, 2, 3], ROWS // 3),
            "item": np.tile([10, 11, 12], ROWS // 3),
            "click": click,
            column: np.arange(ROWS),
        }
    )
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pq.write_table(table, path, row_group_size=50_000)
    return path


@pytest.mark.parametrize("column", ["other", "file_row_number"])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_bad_row_is_named_by_its_number(tmp_path: Path, kind: str, whole: bool, column: str) -> None:
    path = written(tmp_path / f"log.{kind}", whole, column)
    first = BAD - (BAD - 1) % 3  # an impression is named by its first row
    with pytest.raises(InputError, match=rf"log\.{kind}: row {first}: ") as said:
        cr.evaluate(path, {"0": ["10", "11", "12"]}, estimators="rctr")
    assert "click" in str(said.value)


def test_impressions_of_several_files_are_numbers_or_texts(tmp_path: Path) -> None:
    """7 and "7" are one impression wherever they come together, also where only one file has them as numbers."""
    for name, values in (("a", [7, 7, 8]), ("b", ["9", "9", "10"])):
        rows = {
            "impression": values, "query": ["q"] * 3, "position": [1, 2, 1], "item": ["x", "y", "x"],
            "click": [1, 0, 0],
        }  # fmt: skip
        pq.write_table(pa.table(rows), tmp_path / f"{name}.parquet")
    found = cr.evaluate(str(tmp_path / "*.parquet"), {"q": ["x", "y"]}, estimators="rctr")
    assert (found.impressions, found.value("rctr")) == (4, 0.5)
