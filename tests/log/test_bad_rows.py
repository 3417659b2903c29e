"""Bad rows set aside: which, with what is told of them, and what is left."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterrank as cr
from counterrank.checking.check import check
from counterrank.engine import Embedded
from counterrank.log import parts

Rows = list[dict[str, Any]]
KINDS = ["parquet", "csv", "jsonl"]
TARGET = {"q": ["a", "b", "c"], "r": ["c", "a"]}


def good_rows(number: int = 300) -> Rows:
    rng = random.Random(5)
    rows = []
    for _ in range(number):
        items = rng.sample("abc", rng.randint(1, 3))
        rows.append({"query": rng.choice("qr"), "items": items, "clicks": [rng.randint(0, 1) for _ in items]})
    return rows


def spoilt(row: dict[str, Any], how: int) -> dict[str, Any]:
    changes: list[dict[str, Any]] = [
        {"query": None},
        {"items": [*row["items"], row["items"][0]], "clicks": [*row["clicks"], 0]},
        {"clicks": [*row["clicks"], 1]},
        {"clicks": [2] * len(row["clicks"])},
        {"items": [None, *row["items"][1:]]},
    ]
    return {**row, **changes[how % len(changes)]}


def write(path: Path, rows: Rows) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(rows[0])
            writer.writerows([json.dumps(v) if isinstance(v, list) else v for v in row.values()] for row in rows)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def in_long_form(rows: Rows) -> Rows:
    return [
        {"impression": i, "query": row["query"], "position": k + 1, "item": item, "click": click}
        for i, row in enumerate(rows)
        for k, (item, click) in enumerate(zip(row["items"], row["clicks"], strict=True))
    ]


def records(path: Path) -> Rows:
    return [json.loads(line, parse_constant=pytest.fail) for line in path.read_text().splitlines()]


def assert_same(one: cr.Evaluation, two: cr.Evaluation) -> None:
    for a, b in zip(one.rows, two.rows, strict=True):
        assert (a.value, a.stderr) == pytest.approx((b.value, b.stderr), rel=1e-12), a.estimator


@pytest.mark.parametrize("batch", [1, 7, 1000])
@pytest.mark.parametrize("kind", KINDS)
def test_list_form(kind: str, batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "BATCH_ROWS", batch)
    rows = good_rows()
    mixed = [spoilt(row, i) if i % 7 == 3 else row for i, row in enumerate(rows)]
    path, aside = write(tmp_path / f"log.{kind}", mixed), tmp_path / "bad.jsonl"
    log = cr.read_log(path, bad_rows=aside)
    result = cr.evaluate(log, TARGET)
    left = pa.Table.from_pylist([row for i, row in enumerate(rows) if i % 7 != 3])
    assert_same(result, cr.evaluate(left, TARGET))
    told = records(aside)
    assert [record["row"] - 1 for record in told] == list(range(3, len(rows), 7))
    assert {record["file"] for record in told} == {str(path)}
    assert (result.reading.rows, result.reading.rejected) == (len(rows) - len(told), len(told))
    assert f"{len(told)} set aside in {aside}" in repr(result)
    if kind != "csv":
        assert [record["content"] for record in told] == mixed[3::7]


@pytest.mark.parametrize("batch", [1, 7, 1000])
@pytest.mark.parametrize("kind", KINDS)
def test_long_form(kind: str, batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "BATCH_ROWS", batch)
    rows = good_rows(100)
    mixed: Rows = []
    for row in in_long_form(rows):
        number = row["impression"]
        change = {"click": 3} if number % 2 else {"position": row["position"] + 1}
        mixed.append({**row, **(change if number % 7 == 3 else {})})
    path, aside = write(tmp_path / f"log.{kind}", mixed), tmp_path / "bad.jsonl"
    log = cr.read_log(path, bad_rows=aside)
    left = pa.Table.from_pylist([row for i, row in enumerate(rows) if i % 7 != 3])
    assert_same(cr.evaluate(log, TARGET), cr.evaluate(left, TARGET))
    told = {int(record["content"]["impression"]): record for record in records(aside)}
    assert sorted(told) == list(range(3, len(rows), 7))
    for number, record in told.items():
        assert mixed[record["row"] - 1]["impression"] == number
        assert record["content"]["items"] == rows[number]["items"]


def test_a_second_reading_tells_the_same(tmp_path: Path) -> None:
    mixed = [spoilt(row, i) if i % 7 == 3 else row for i, row in enumerate(good_rows())]
    aside = tmp_path / "bad.jsonl"
    log = cr.read_log(write(tmp_path / "log.jsonl", mixed), bad_rows=aside)
    kept = cr.evaluate(log, TARGET, estimators="ip,pbm")
    text = aside.read_text()
    read_twice = cr.evaluate(log, TARGET, estimators="ip,pbm", engine=Embedded(cache_bytes=0))
    assert (read_twice.reading, aside.read_text()) == (kept.reading, text)
    assert_same(kept, read_twice)


def test_lines_that_cannot_be_parsed_are_kept_as_they_are(tmp_path: Path) -> None:
    path, aside = tmp_path / "log.jsonl", tmp_path / "bad.jsonl"
    row = '{"query":"q","items":["a"],"clicks":[1]}'
    path.write_text(f'{row}\n\n{{"query":\n{row}\n7\n{row[:-2]}NaN]}}\n')
    result = cr.evaluate(cr.read_log(path, bad_rows=aside), "logging")
    assert result.impressions == 2
    told = records(aside)
    assert [(record["row"], record["content"]) for record in told[:2]] == [(2, '{"query":'), (4, 7)]


def test_rows_of_a_folder_are_told_by_file(tmp_path: Path) -> None:
    folder, aside = tmp_path / "log", tmp_path / "bad.jsonl"
    folder.mkdir()
    rows = in_long_form(good_rows(4))
    write(folder / "a.jsonl", rows)
    bad = [{**row, "impression": row["impression"] + 10} for row in rows] + [{**rows[0], "impression": None}] * 2
    write(folder / "b.parquet", bad)
    cr.evaluate(cr.read_log(folder, bad_rows=aside), TARGET)
    found = [(record["file"], record["row"]) for record in records(aside)]
    assert found == [(str(folder / "b.parquet"), len(rows) + 1), (str(folder / "b.parquet"), len(rows) + 2)]


def test_check_counts_what_it_sets_aside(tmp_path: Path) -> None:
    mixed = [spoilt(row, i) if i % 7 == 3 else row for i, row in enumerate(good_rows())]
    aside = tmp_path / "bad.jsonl"
    result = check(cr.read_log(write(tmp_path / "log.csv", mixed), bad_rows=aside))
    assert result.facts["bad_rows"] == len(records(aside)) == sum(p["count"] for p in result.problems)


def test_a_log_of_bad_rows_only(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", [{"query": None, "items": ["a"], "clicks": [1]}])
    with pytest.raises(cr.InputError, match="all its 1 rows were set aside"):
        cr.evaluate(cr.read_log(path, bad_rows=tmp_path / "bad.jsonl"), TARGET)
