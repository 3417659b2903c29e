"""One id, however it is written: numbers, text, every kind of file, every engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterrank as cr
from counterrank.log.features import read_features

ENGINES = ["duckdb", "ibis"]


def lines(path: Path, *rows: str) -> Path:
    path.write_text("".join(row + "\n" for row in rows))
    return path


def shown(log: Any, engine: str = "duckdb") -> list[str]:
    """The queries of a log."""
    rows = cr.evaluate(log, "logging", estimators="rctr", engine=engine).per_query
    return sorted(str(query) for query in rows.column("query").to_pylist())


SEVEN = ["7", "7.0", '"7"', "7e0", "70e-1"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["list", "long"])
def test_seven_is_seven(form: str, engine: str, tmp_path: Path) -> None:
    if form == "list":
        rows = [f'{{"query": {q}, "items": [{q}, "b"], "clicks": [1, 0]}}' for q in SEVEN]
    else:
        rows = [
            f'{{"impression": {i}, "query": {q}, "position": {k}, "item": {item}, "click": 1}}'
            for i, q in enumerate(SEVEN)
            for k, item in ((1, q), (2, '"b"'))
        ]
    log = lines(tmp_path / "log.jsonl", *rows)
    result = cr.evaluate(log, {"7": ["7", "b"]}, estimators="list", engine=engine)
    assert result.impressions == len(SEVEN)
    assert result["list"].unsupported == 0
    assert result.queries == 1
    assert shown(log, engine) == ["7"]


@pytest.mark.parametrize("engine", ENGINES)
def test_seven_in_every_kind_of_file(engine: str, tmp_path: Path) -> None:
    expected = {"query": [7, 7], "items": [[7, 8], [8, 7]], "clicks": [[1, 0], [0, 1]]}
    tables = {
        "integers": pa.table(expected),
        "floats": pa.table(expected | {"query": [7.0, 7.0], "items": [[7.0, 8.0], [8.0, 7.0]]}),
        "texts": pa.table(expected | {"query": ["7", "7"], "items": [["7", "8"], ["8", "7"]]}),
    }
    for name, table in tables.items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
        lines(tmp_path / f"{name}.jsonl", *(json.dumps(row) for row in table.to_pylist()))
    found = [
        cr.evaluate(path, {7: [7, 8]}, engine=engine, estimators="ip").value("ip")
        for path in sorted(tmp_path.iterdir())
    ]
    assert found == [pytest.approx(found[0])] * 6


def written(forms: list[str]) -> list[Any]:
    """Every form, in lists and in the long form; by Ibis, which is slow to plan, in every run in one of the two."""
    return [
        pytest.param(long, form, engine, marks=[pytest.mark.slow] * (engine == "ibis" and long == bool(i % 2)))
        for i, form in enumerate(forms)
        for long in (False, True)
        for engine in ENGINES
    ]


@pytest.mark.parametrize(
    ("long", "form", "engine"), written(["arrow", "pandas", "parquet", "duckdb", "jsonl", "json", "-0", "-0e0"])
)
def test_minus_zero_is_zero(long: bool, form: str, engine: str, tmp_path: Path) -> None:
    rows: list[dict[str, Any]]
    if long:
        pages = [(query, item) for query in (-0.0, 0.0) for item in (-0.0, 0.0)]
        rows = [
            {"impression": i, "query": query, "position": k, "item": one, "click": 2 - k}
            for i, (query, item) in enumerate(pages)
            for k, one in ((1, item), (2, 5.0))
        ]
    else:
        rows = [{"query": q, "items": [item, 5.0], "clicks": [1, 0]} for q in (-0.0, 0.0) for item in (-0.0, 0.0)]
    table, log = pa.Table.from_pylist(rows), tmp_path / f"log.{'jsonl' if form[0] == '-' else form}"
    source: Any = log
    if form in ("arrow", "pandas"):
        source = table.to_pandas() if form == "pandas" else table
    elif form == "parquet":
        pq.write_table(table, log)
    elif form == "duckdb":
        with duckdb.connect(str(log)) as connection:
            connection.register("rows", table)
            connection.execute("CREATE TABLE log AS SELECT * FROM rows")
        source = f"{log}:log"
    elif form == "json":
        log.write_text(json.dumps(rows))
    else:
        lines(log, *(json.dumps(row).replace("-0.0", "-0.0" if form == "jsonl" else form) for row in rows))
    result = cr.evaluate(source, {-0.0: [-0.0, 5]}, estimators="list", engine=engine)
    assert (result.queries, result.impressions, result["list"].unsupported) == (1, 4, 0)
    assert cr.check(source, engine=engine).facts["items"] == 2
    assert shown(source, engine) == ["0"]


def test_csv_ids_are_not_typed(tmp_path: Path) -> None:
    log = lines(
        tmp_path / "log.csv", "query,items,clicks", '7.0,"[""007"", 7.0]","[1, 0]"', "7.0,007|7.0,0|1", "7,7|8,1|0"
    )
    assert shown(log) == shown(log, "ibis") == ["7", "7.0"]
    assert cr.evaluate(log, {"7.0": ["007", "7.0"]}, estimators="list").impressions == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_large_integers_stay_exact(engine: str, tmp_path: Path) -> None:
    ids = [2**53 + 1, 2**53, 2**64 - 1, 2**64, 12345678901234567890123, -(2**63)]
    rows = [json.dumps({"query": i, "items": [i, "b", 7.0], "clicks": [1, 0, 0]}) for i in ids]
    assert shown(lines(tmp_path / "log.jsonl", *rows), engine) == sorted(map(str, ids))


BAD = ['{"a": 1}', "[1]", "true", "false", "1.5", "NaN", "null", '""', '"\\ud800"', '"a\\u0000b"', "1e300"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("column", ["query", "item"])
@pytest.mark.parametrize("form", ["list", "long"])
def test_no_ids(form: str, column: str, engine: str, tmp_path: Path) -> None:
    rows = []
    for i, value in enumerate(['"q"', *BAD]):
        query, item = (value, '"a"') if column == "query" else ('"q"', value)
        if form == "list":
            rows.append(f'{{"query": {query}, "items": [{item}, "b"], "clicks": [1, 0]}}')
        else:
            rows += [
                f'{{"impression": {i}, "query": {query}, "position": {k}, "item": {one}, "click": 1}}'
                for k, one in ((1, item), (2, '"b"'))
            ]
    log = lines(tmp_path / "log.jsonl", *rows)
    with pytest.raises(cr.InputError, match=r"query is|item is|items is|impression"):
        cr.evaluate(log, "logging", engine=engine)
    bad = tmp_path / "bad.jsonl"
    reading = cr.evaluate(cr.read_log(log, bad_rows=bad), "logging", engine=engine).reading
    # a line that is no JSON has no impression, so that rows of it stand alone
    torn = {("long", "query"): 1, ("long", "item"): 1}.get((form, column), 0)
    assert (reading.rows, reading.rejected) == (1, len(BAD) + torn)
    assert len([json.loads(line) for line in bad.read_text().splitlines()]) == reading.rejected


@pytest.mark.parametrize("engine", ENGINES)
def test_floats_that_are_no_ids(engine: str, tmp_path: Path) -> None:
    bad = [1.5, float("nan"), float("inf"), 1e300, None]
    queries = [7.0, -0.0, *bad, 7.0]
    items = [["a"]] * 7 + [["a", ""]]
    log = pa.table({"query": queries, "items": items, "clicks": [[1] * len(row) for row in items]})
    pq.write_table(log, tmp_path / "log.parquet")
    result = cr.evaluate(cr.read_log(tmp_path / "log.parquet", bad_rows=tmp_path / "b.jsonl"), "logging", engine=engine)
    assert (result.reading.rows, result.reading.rejected) == (2, 6)
    assert sorted(map(str, result.per_query.column("query").to_pylist())) == ["0", "7"]


@pytest.mark.parametrize("engine", ENGINES)
def test_texts_that_are_no_ids(engine: str, tmp_path: Path) -> None:
    bad = ["", "a\0b", None]
    rows = [("q", ["a", "b"]), *((value, ["a", "b"]) for value in bad), *(("q", ["a", value]) for value in bad)]
    table = {"query": [q for q, _ in rows], "items": [i for _, i in rows], "clicks": [[1, 0]] * len(rows)}
    result = cr.evaluate(cr.read_log(pa.table(table), bad_rows=tmp_path / "b.jsonl"), "logging", engine=engine)
    assert (result.reading.rows, result.reading.rejected) == (1, 6)


@pytest.mark.parametrize("value", BAD)
def test_no_ids_of_other_sources(value: str, tmp_path: Path) -> None:
    policy = lines(tmp_path / "p.jsonl", '{"query": "q", "items": ["a"]}', f'{{"query": {value}, "items": ["a"]}}')
    with pytest.raises(cr.InputError, match="row 2: "):
        cr.read_policy(policy)
    policy = lines(tmp_path / "p.jsonl", '{"query": "q", "items": ["a"]}', f'{{"query": "r", "items": [{value}]}}')
    with pytest.raises(cr.InputError, match=r"row 2|item"):
        cr.read_policy(policy)
    features = lines(tmp_path / "f.jsonl", f'{{"query": "q", "item": {value}, "x": 1}}')
    with pytest.raises(cr.InputError, match="row 1: "):
        read_features(features)
