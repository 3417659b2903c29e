"""The same log in every type of column and every kind of dataframe."""

from __future__ import annotations

import decimal
import json
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterrank as cr

ITEMS = [["a", "b"], ["b", "a"], ["c", "a"]]
CLICKS = [[1, 0], [0, 1], [1, 1]]
TARGET = {"q": ["a", "b"]}
LISTS = pa.array(ITEMS)
NUMBERS = pa.array(CLICKS)


def table(**columns: Any) -> pa.Table:
    return pa.table({"query": ["q"] * 3, "items": LISTS, "clicks": NUMBERS} | columns)


def values(log: Any, target: Any = None) -> dict[str, float | None]:
    return {row.estimator: row.value for row in cr.evaluate(log, TARGET if target is None else target).rows}


COLUMNS: dict[str, dict[str, Any]] = {
    "dictionary": {"query": pa.array(["q"] * 3).dictionary_encode()},
    "dictionary in a list": {"items": pa.ListArray.from_arrays(LISTS.offsets, LISTS.values.dictionary_encode())},
    "large": {"items": LISTS.cast(pa.large_list(pa.large_string()))},
    "fixed size": {"items": LISTS.cast(pa.list_(pa.string(), 2)), "clicks": NUMBERS.cast(pa.list_(pa.int64(), 2))},
    "views": {"items": pa.array(ITEMS, pa.list_view(pa.string())), "clicks": pa.array(CLICKS, pa.list_view(pa.int8()))},
    "text views": {"query": pa.array(["q"] * 3).cast(pa.string_view())},
    "booleans": {"clicks": NUMBERS.cast(pa.list_(pa.bool_()))},
    "bytes": {"clicks": NUMBERS.cast(pa.list_(pa.uint8()))},
    "floats": {"clicks": NUMBERS.cast(pa.list_(pa.float32()))},
    "decimals": {"clicks": NUMBERS.cast(pa.list_(pa.decimal128(20, 0)))},
    "JSON text": {"items": [json.dumps(row) for row in ITEMS], "clicks": [json.dumps(row) for row in CLICKS]},
}


@pytest.mark.parametrize("name", COLUMNS)
def test_types_of_columns(name: str, tmp_path: Path) -> None:
    expected = values(table())
    log = table(**COLUMNS[name])
    assert values(log) == expected
    assert values(log.slice(0, 3)) == expected
    pq.write_table(log, tmp_path / "log.parquet")
    assert values(tmp_path / "log.parquet") == expected
    assert values(table(), log.select(["query", "items"]).slice(0, 1)) == expected
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.register("rows", pq.read_table(tmp_path / "log.parquet"))
        connection.sql("CREATE TABLE log AS SELECT * FROM rows")
    assert values(f"{tmp_path}/d.duckdb:log") == expected


IDS: dict[str, Any] = {
    "int64": pa.array([7, 7, 7]),
    "int8": pa.array([7, 7, 7], pa.int8()),
    "uint64": pa.array([7, 7, 7], pa.uint64()),
    "whole floats": pa.array([7.0, 7.0, 7.0]),
    "decimals": pa.array([decimal.Decimal(7)] * 3, pa.decimal128(9, 0)),
    "text": pa.array(["7", "7", "7"]),
}


@pytest.mark.parametrize("name", IDS)
def test_ids_are_compared_as_text(name: str) -> None:
    assert values(table(query=IDS[name]), {"7": ["a", "b"]}) == values(table())


def test_large_ids_are_told_apart() -> None:
    log = table(query=pa.array([2**64 - 1, 2**63, 2**63 + 1], pa.uint64()))
    assert cr.evaluate(log, "logging").queries == 3
    assert cr.evaluate(log, {str(2**63): ["b", "a"]}).impressions == 1


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "fractions": ({"query": [1.5, 2.0, 3.0]}, "row 1: query is missing or no id"),
    "infinite": ({"query": [1.0, float("inf"), 3.0]}, "row 2: query is missing or no id"),
    "dates": ({"query": [date(2020, 1, 1)] * 3}, "date32"),
    "booleans": ({"query": [True] * 3}, "bool"),
    "structs": ({"items": [[{"a": 1}]] * 3}, "struct"),
    "text clicks": ({"clicks": [["1", "0"]] * 3}, "list of string"),
    "text rewards": ({"reward": ["1"] * 3}, "reward must be a number"),
    "missing": ({"query": ["q", None, "q"]}, "row 2"),
    "NaN": ({"query": [1.0, float("nan"), 1.0]}, "row 2"),
    "a missing list": ({"items": [["a", "b"], None, ["a", "b"]]}, "row 2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    columns, words = REFUSED[name]
    with pytest.raises(cr.InputError, match=words):
        values(table(**columns), "logging")


def test_columns_of_one_name(tmp_path: Path) -> None:
    queries = pa.array(["q"] * 3)
    twice = pa.Table.from_arrays([queries, queries, LISTS, NUMBERS], names=["query", "query", "items", "clicks"])
    pq.write_table(twice, tmp_path / "log.parquet")
    for log in (twice, tmp_path / "log.parquet"):
        with pytest.raises(cr.InputError, match="distinct"):
            cr.read_log(log)


def test_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    expected = values(table())
    arrays = {"items": [np.array(row, dtype=object) for row in ITEMS], "clicks": [np.array(row) for row in CLICKS]}
    frame = pandas.DataFrame({"query": ["q"] * 3, **arrays})
    assert values(frame) == expected
    assert values(frame.assign(query=frame["query"].astype("category"))) == expected
    for gap in (None, np.nan):
        with pytest.raises(cr.InputError, match="row 2"):
            values(frame.assign(query=["q", gap, "q"]))
    with pytest.raises(cr.InputError, match="one kind of values"):
        values(frame.assign(query=pandas.Series(["q", 7, "q"], dtype=object)))


def test_other_dataframes() -> None:
    expected = values(table())
    assert values(ibis.memtable(table())) == expected
    assert values(table().to_batches()[0]) == expected
    assert values(table().to_reader()) == expected
    assert values(table().to_pydict()) == expected
    assert values(pa.concat_tables([table(), table()]).slice(3)) == expected
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(table().to_pydict())
    assert values(frame) == values(frame.lazy()) == expected
    assert values(frame.with_columns(polars.col("query").cast(polars.Categorical))) == expected
    for nothing in (None, 7, [1]):
        with pytest.raises(cr.InputError, match="not a table"):
            cr.read_log(nothing)


def test_integers_first_and_text_later(tmp_path: Path) -> None:
    """What a JSON file's first rows say of its ids does not hold for all of them."""
    first, later = {"query": 1, "items": [1, 2], "clicks": [1, 0]}, {"query": "x", "items": ["u", 1], "clicks": [1, 0]}
    huge = {**first, "query": 12345678901234567890123}
    (tmp_path / "log.jsonl").write_text(
        (json.dumps(first) + "\n") * 25_000 + json.dumps(later) + "\n" + json.dumps(huge)
    )
    result = cr.evaluate(tmp_path / "log.jsonl", "logging")
    assert sorted(result.per_query["query"].to_pylist()) == ["1", "12345678901234567890123", "x"]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_ids_differ_by_case_and_space_and_may_be_long(kind: str, tmp_path: Path) -> None:
    names = ["q", "Q", " q", "q ", "x" * 10_000]
    rows = [{"query": name, "items": names, "clicks": [0] * 5} for name in names]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    if kind == "csv":
        quoted = ['"' + json.dumps(row["items"]).replace('"', '""') + '"' for row in rows]
        lines = [f'"{row["query"]}",{items},"[0,0,0,0,0]"\n' for row, items in zip(rows, quoted, strict=True)]
        text = "query,items,clicks\n" + "".join(lines)
    (tmp_path / f"log.{kind}").write_text(text)
    result = cr.evaluate(tmp_path / f"log.{kind}", "logging")
    assert sorted(result.per_query["query"].to_pylist()) == sorted(names)
