"""A pass gives back what it read: the same rows on every pass, whatever a command needs; a log itself never changes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterrank as cr
from counterrank.engine import Embedded, Plan
from counterrank.log.problems import MESSAGES, RowProblem
from counterrank.setting.options import position_weights

# every optional column has one row that is wrong in it alone
ROWS = {
    "query": ["q"] * 8,
    "items": [["a", "b"], ["b", "a"]] * 4,
    "clicks": [[1, 0], [0, 1]] * 4,
    "reward": [1.0, 2.0, float("nan"), 0.5, 1.0, 1.0, 0.0, 1.0],
    "day": [1, 1, 1, None, 2, 2, 2, 2],
    "propensity": [0.5, 0.5, 0.5, 0.5, 1.5, 0.5, 0.5, 0.5],
    "impressions": [1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 3.0, 1.0],
}
BAD = [RowProblem.REWARD, RowProblem.DAY, RowProblem.PROPENSITY, RowProblem.IMPRESSIONS]
CLICKS = Plan(metric="clicks", weights=position_weights("clicks"))


def written(path: Path) -> Path:
    pq.write_table(pa.table(ROWS), path)
    return path


def records(path: Path) -> list[dict]:
    return [json.loads(line, parse_constant=pytest.fail) for line in path.read_text().splitlines()]


def test_a_log_cannot_be_changed() -> None:
    log = cr.read_log(pa.table(ROWS))
    assert isinstance(log.notes, tuple)
    for field in dataclasses.fields(log):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(log, field.name, None)


def test_rows_are_bad_by_every_column_of_ours_whatever_is_needed(tmp_path: Path) -> None:
    log = cr.read_log(written(tmp_path / "log.parquet"), bad_rows=tmp_path / "bad.jsonl")
    reading = Embedded().count(log, CLICKS).reading
    assert (reading.rows, reading.rejected) == (4, 4)
    assert [(wrong.problem, wrong.first) for wrong in reading.wrong] == [(what, (i,)) for i, what in enumerate(BAD, 3)]
    assert [(r["row"], r["problem"]) for r in records(tmp_path / "bad.jsonl")] == [
        (i, MESSAGES[what]) for i, what in enumerate(BAD, 3)
    ]


def test_columns_that_are_ignored_are_not_read(tmp_path: Path) -> None:
    path = written(tmp_path / "log.parquet")
    for ignore in ("reward,day,propensity,impressions", ["reward", "day", "propensity", "impressions"]):
        log = cr.read_log(path, ignore=ignore)
        assert log.columns == {"query", "items", "clicks"}
        assert Embedded().count(log, CLICKS).reading.rows == 8
    for bad, said in (("query", "every log needs"), ("dya", "unknown column 'dya'"), ("clicks,reward", "'reward'")):
        with pytest.raises(cr.InputError, match=said):
            cr.read_log(path, ignore=bad)


def test_an_error_tells_how_to_leave_the_column_unread(tmp_path: Path) -> None:
    path = written(tmp_path / "log.parquet")
    with pytest.raises(cr.InputError, match=r"row 3: reward is missing.*`ignore=reward`"):
        cr.evaluate(path, "logging", metric="clicks")
    text = pa.table({**ROWS, "reward": ["good"] * 8})
    with pytest.raises(cr.InputError, match=r"reward must be a number.*`ignore`"):
        cr.evaluate(text, "logging", metric="clicks")


def test_bad_rows_are_written_once_though_a_command_reads_the_log_often(tmp_path: Path) -> None:
    path, aside = written(tmp_path / "log.parquet"), tmp_path / "bad.jsonl"
    log = cr.read_log(path, bad_rows=aside)
    engine = Embedded(cache_bytes=0)
    run = engine.count(log, CLICKS)
    aside.unlink()
    again = engine.count(log.again(run.reading), CLICKS)
    assert again.reading == run.reading
    assert not aside.exists()


def test_a_log_that_changes_between_two_passes_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "log.parquet")
    log = cr.read_log(path, bad_rows=tmp_path / "bad.jsonl")
    reading = Embedded().count(log, CLICKS).reading
    pq.write_table(pa.table(ROWS).slice(1), path)
    with pytest.raises(cr.InputError, match="changed while it was read"):
        Embedded().count(log.again(reading), CLICKS)


def test_without_bad_rows_an_old_file_becomes_empty(tmp_path: Path) -> None:
    aside = tmp_path / "bad.jsonl"
    aside.write_text('{"old": 1}\n')
    log = cr.read_log(pa.table(ROWS).slice(6), bad_rows=aside)
    assert Embedded().count(log, CLICKS).reading.rejected == 0
    assert aside.read_text() == ""


def test_a_run_that_ends_badly_leaves_the_old_file(tmp_path: Path) -> None:
    aside, path = tmp_path / "bad.jsonl", tmp_path / "log.jsonl"
    aside.write_text('{"old": 1}\n')
    row = {"query": "q", "items": ["a"], "clicks": [1]}
    path.write_text(json.dumps({**row, "clicks": [2]}) + "\n" + json.dumps(row) + "\n")
    reader = cr.read_log(path, bad_rows=aside).rows(["clicks"])
    rows = iter(reader)
    next(rows)
    rows.close()  # type: ignore[attr-defined]
    assert aside.read_text() == '{"old": 1}\n'
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["bad.jsonl", "log.jsonl"]
    with pytest.raises(RuntimeError):
        _ = reader.reading


def test_two_times_of_a_day_are_one_day_in_the_long_form() -> None:
    rows = {
        "impression": [1, 1, 2, 2], "query": ["q"] * 4, "position": [1, 2, 1, 2], "item": ["a", "b"] * 2,
        "click": [1, 0, 0, 0], "day": ["2024-01-02 10:00", "2024-01-02 11:00", "2024-01-02", "2024-01-03"],
    }  # fmt: skip
    with pytest.raises(cr.InputError, match="differ in query, reward, day"):
        cr.evaluate(pa.table(rows), "logging")
    assert cr.evaluate(pa.table(rows).slice(0, 2), "logging").impressions == 1


def test_readings_of_two_logs_add_up() -> None:
    one = cr.Reading(rows=3, rejected=1, notes=("both", "one"), bad_rows=Path("q.jsonl"))
    both = one + cr.Reading(rows=4, rejected=0, notes=("both", "two"))
    assert both.to_dict() == {"rows": 7, "rejected": 1, "notes": ["both", "one", "two"]}
    assert both.line() == "7 rows read, 1 set aside in q.jsonl"
    assert cr.Reading(rows=1, rejected=0).line() == "1 row read, none set aside"
    assert cr.Reading(rows=1200, rejected=3).line() == "1,200 rows read, 3 bad rows left out"
