"""Features as files and tables, and what is said of bad ones."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from counterrank.errors import InputError
from counterrank.ids import Ids
from counterrank.log.features import read_features
from counterrank.statistics.pairs import Pairs

ROWS = {"query": ["q", "q", "r"], "item": ["a", "b", "a"], "price": [1.5, 2.0, -3.0], "new": [1, 0, 1]}


def written(folder: Path, kind: str, columns: dict) -> Path:
    path = folder / f"features.{kind}"
    table = pa.table(columns)
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "csv":
        lines = [",".join(columns), *(",".join(map(str, row.values())) for row in table.to_pylist())]
        path.write_text("\n".join(lines) + "\n")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_files_of_each_kind_give_the_same(tmp_path: Path, kind: str) -> None:
    features = read_features(written(tmp_path, kind, ROWS))
    assert features.names == ["price", "new"]
    assert features.query.to_pylist() == ROWS["query"]
    assert features.item.to_pylist() == ROWS["item"]
    assert features.values.tolist() == [[1.5, 1], [2.0, 0], [-3.0, 1]]


def test_names_that_the_log_uses_are_features_here(tmp_path: Path) -> None:
    columns = {"query": [7, 7], "item": [1, 2], "position": [3, 4], "items": [0.5, 1], "day": [1, 2]}
    for source in (columns, written(tmp_path, "csv", columns)):
        features = read_features(source)
        assert features.values.tolist() == [[3, 0.5, 1], [4, 1, 2]]
        assert features.query.to_pylist() == ["7", "7"]


def test_text_columns_are_left_out_and_said() -> None:
    features = read_features({**ROWS, "title": ["x", "y", "z"]})
    assert features.names == ["price", "new"]
    assert "title left out" in features.notes[0]


def test_letor_text_gives_features_without_labels(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("2 qid:1 1:0.5 2:0.25 #docid = A\n0 qid:1 2:1 #docid = B\n")
    features = read_features(path)
    assert features.names == ["f1", "f2"]
    assert features.values.tolist() == [[0.5, 0.25], [0, 1]]
    assert read_features(path, format="letor").item.to_pylist() == ["A", "B"]


def test_on_the_pairs_of_a_run() -> None:
    ids = Ids(pa.array(["r", "q"])), Ids(pa.array(["b", "c", "a"]))
    pairs = Pairs.build(*ids, np.array([0, 1, 1, 1]), np.array([2, 0, 1, 2]), np.array([1, 2]), 2)
    values, missing = read_features(ROWS).on(pairs)
    assert missing.tolist() == [False, False, True, False]
    assert values[~missing].tolist() == [[-3.0, 1], [2.0, 0], [1.5, 1]]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"query": ["q"], "price": [1.0]}, "lacks column 'item'"),
        ({"query": ["q"], "item": ["a"]}, "no numeric column"),
        ({"query": ["q"], "item": ["a"], "title": ["x"]}, "no numeric column"),
        ({"query": ["q"], "item": ["a"], "x": [float("nan")]}, "row 1: feature x is nan"),
        ({"query": ["q"], "item": ["a"], "x": [float("inf")]}, "row 1: feature x is inf"),
        ({"query": ["q"], "item": ["a"], "x": pa.array([None], pa.float64())}, "feature x is missing"),
        ({"query": ["q", "q"], "item": ["a", "a"], "x": [1.0, 2.0]}, "row 2: query 'q' has item 'a' twice"),
        ({"query": pa.array([], pa.string()), "item": pa.array([], pa.string()), "x": pa.array([], pa.float64())},
         "no rows"),
    ],
)  # fmt: skip
def test_bad_features_are_one_line(columns: dict, said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        read_features(columns)
    assert "\n" not in str(error.value)


def test_a_word_in_a_csv_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"row 2: feature price is 'cheap', not a number"):
        read_features(written(tmp_path, "csv", {**ROWS, "price": [1, "cheap", 2]} | {"price": ["1", "cheap", "2"]}))
    with pytest.raises(InputError, match="format 'xml' are not known"):
        read_features("x", format="xml")
