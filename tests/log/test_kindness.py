"""Logs as people have them: lists as pandas prints them, rows of the wrong length, repeated items."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterrank as cr
from counterrank.log.spelled import parse_lists

ENGINES = ["duckdb", "ibis"]
TARGET = {"q": ["b", "a"]}

ITEMS: dict[str, list[str | None] | None] = {
    '["a", "b"]': ["a", "b"],
    "['a', 'b']": ["a", "b"],
    "['a' 'b']": ["a", "b"],
    "['a'\n 'b']": ["a", "b"],
    "a|b": ["a", "b"],
    "red shoes|b": ["red shoes", "b"],
    "a": ["a"],
    "['a']": ["a"],
    "[1 0 1]": ["1", "0", "1"],
    "[00123, 7.0]": ["00123", "7.0"],
    "[np.str_('a'), np.int64(7)]": ["a", "7"],
    """["it's", 'b"c']""": ["it's", 'b"c'],
    r"""['it\'s', 'a\\b']""": ["it's", r"a\b"],
    "[nan, 'a']": [None, "a"],
    "['a', None]": ["a", None],
    "a||b": ["a", None, "b"],
    "[True]": [None],
    "[1 ... 9]": ["1", None, "9"],
    '["a", true, {"b": 1}, [2]]': ["a", None, None, None],
    "[{'a': 1}]": None,
    "['a'": None,
    "['a''b']": None,
    "[1,2]]": None,
    "a b": None,
    "a;b": None,
    "array(['a'])": None,
}


@pytest.mark.parametrize("text", ITEMS)
def test_items(text: str) -> None:
    assert parse_lists(pa.array([text]), "VARCHAR[]").to_pylist() == [ITEMS[text]]


CLICKS = ["[1, 0]", "[1 0]", "[1. 0.]", "1|0", "[True, False]", "[ True False]", "[true, false]", "True|False", "t|f"]


@pytest.mark.parametrize("text", CLICKS)
def test_clicks(text: str) -> None:
    expected = [None, None] if text == "t|f" else [1.0, 0.0]
    assert parse_lists(pa.array([text]), "DOUBLE[]").to_pylist() == [expected]


def value(log: Any, engine: str = "duckdb") -> float | None:
    return cr.evaluate(log, TARGET, estimators="ip", engine=engine).value("ip")


ROWS = {"query": ["q"] * 3, "items": [["a", "b"], ["b", "a"], ["b"]], "clicks": [[1, 0], [1, 1], [0]]}


@pytest.mark.parametrize("engine", ENGINES)
def test_what_pandas_writes(engine: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    numpy = pytest.importorskip("numpy")
    frame = pandas.DataFrame(ROWS)
    frame.to_csv(tmp_path / "lists.csv")
    frame.to_csv(tmp_path / "lists.tsv", sep="\t", index=False)
    frame.map(lambda v: numpy.array(v) if isinstance(v, list) else v).to_csv(tmp_path / "arrays.csv")
    frame["clicks"] = [[bool(c) for c in row] for row in frame["clicks"]]
    frame.to_csv(tmp_path / "booleans.csv", index=False)
    frame["items"] = ["|".join(row) for row in frame["items"]]
    frame.to_csv(tmp_path / "bars.csv", index=False)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "texts.parquet")
    for path in sorted(tmp_path.iterdir()):
        assert value(path, engine) == pytest.approx(value(pa.table(ROWS))), path.name


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("word", ["1", "true", "True", "TRUE"])
def test_clicks_of_the_long_form(word: str, engine: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"impression,query,position,item,click\n1,q,1,b,{word}\n1,q,2,a,0\n")
    assert value(path, engine) == pytest.approx(1)


def test_the_error_shows_the_list(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("query,items,clicks\nq,a;b,1|0\n")
    with pytest.raises(cr.InputError, match="items='a;b'"):
        value(tmp_path / "log.csv")


RAGGED = ["q,a|b", "q,a|b,1|0,x", 'q,"a|b"c,1|0', "q"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("row", RAGGED)
def test_ragged_rows(row: str, engine: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"query,items,clicks\nq,a|b,1|0\n{row}\nq,b|a,1|1\n\nq,b|a,1|2\n{row}\nq,b,0\n")
    with pytest.raises(cr.InputError, match=r"as many values|a click is neither"):
        value(path, engine)
    log = cr.read_log(path, bad_rows=tmp_path / "bad.jsonl")
    result = cr.evaluate(log, TARGET, estimators="ip", engine=engine)
    assert result.value("ip") == pytest.approx(value(pa.table(ROWS)))
    assert (result.reading.rows, result.reading.rejected) == (3, 3)
    found = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    if engine == "duckdb":
        assert [(r["file"], r["row"], r["content"]) for r in found if r["row"] != 4] == [
            (str(path), 2, row),
            (str(path), 5, row),
        ]


@pytest.mark.parametrize("engine", ENGINES)
def test_ragged_rows_of_the_long_form(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    good = "1,q,1,b,1\n1,q,2,a,0\n"
    path.write_text("impression,query,position,item,click\n2,q,1,b,1\n2,q,2,a\n" + good + "3,q,1,b,1,x,y\n")
    log = cr.read_log(path, bad_rows=tmp_path / "bad.jsonl")
    reading = cr.evaluate(log, TARGET, estimators="ip", engine=engine).reading
    assert (reading.rows, reading.rejected) == (1, 2)


def test_other_ends_of_lines_and_text(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"query,items,clicks\r\nq,a|b,1|0\nq,b|a,1|1\r\n\nq,b,0")
    assert value(path) == pytest.approx(value(pa.table(ROWS)))
    path.write_bytes(b"query,items,clicks\nq,a|b,1|0\nq\xff,b|a,1|1\n")
    with pytest.raises(cr.InputError, match="not UTF-8"):
        value(path)
    path.write_bytes(b'query,items,clicks\nq,a|b,1|0\nq,"b|a,1|1\n')
    with pytest.raises(cr.InputError, match="never closed"):
        value(path)
    path.write_bytes(b"query,items,clicks\n")
    with pytest.raises(cr.InputError, match="no rows"):
        value(path)


def test_ragged_policy(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("query,items,probability\nq,a|b,1\nr,a|b\n")
    with pytest.raises(cr.InputError, match="row 2: the row has not as many values"):
        cr.read_policy(tmp_path / "p.csv")


REPEATED = {
    "query": ["q"] * 4,
    "items": [["a", "b", "a"], ["b", "a"], ["b", "b", "b"], ["b", "a", "b", "a"]],
    "clicks": [[0, 0, 1], [1, 1], [0, 0, 0], [1, 0, 0, 0]],
}
REPAIRED = REPEATED | {"items": [["a", "b"], ["b", "a"], ["b"], ["b", "a"]], "clicks": [[1, 0], [1, 1], [0], [1, 0]]}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["list", "long", "reward"])
def test_repeats_are_repaired(form: str, engine: str, tmp_path: Path) -> None:
    rows, repaired = dict(REPEATED), dict(REPAIRED)
    if form == "reward":
        rows["reward"] = repaired["reward"] = [1.0, 2.0, 3.0, 4.0]
    table = pa.table(rows)
    if form == "long":
        table = pa.Table.from_pylist(
            [
                {"impression": i, "query": "q", "position": k + 1, "item": item, "click": click}
                for i, (items, clicks) in enumerate(zip(rows["items"], rows["clicks"], strict=True))
                for k, (item, click) in enumerate(zip(items, clicks, strict=True))
            ]
        )
    with pytest.raises(cr.InputError, match="repeated"):
        cr.evaluate(table, TARGET, engine=engine)
    result = cr.evaluate(cr.read_log(table, repair_repeats=True), TARGET, engine=engine)
    expected = cr.evaluate(pa.table(repaired), TARGET)
    assert {r.estimator: pytest.approx(r.value, abs=1e-12) for r in result.rows} == {
        r.estimator: r.value for r in expected.rows
    }
    assert (result.reading.rows, result.reading.rejected) == (4, 0)
    assert any(note.startswith("3 rows repeated an item") for note in result.reading.notes)
    assert expected.reading.notes == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_repairs_beside_bad_rows(engine: str, tmp_path: Path) -> None:
    rows = {
        "query": ["q", None, "q", "q"],
        "items": [["b", "b"], ["a", "a"], ["a", "a"], ["b", "a"]],
        "clicks": [[0, 1], [0, 1], [0, 2], [1, 0]],
    }
    log = cr.read_log(pa.table(rows), repair_repeats=True, bad_rows=tmp_path / "bad.jsonl")
    reading = cr.evaluate(log, TARGET, engine=engine).reading
    assert (reading.rows, reading.rejected) == (2, 2)
    assert any(note.startswith("1 row repeated an item") for note in reading.notes)
