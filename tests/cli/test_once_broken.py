"""What once went wrong at the command line: rows lost, answers by the order of rows, files destroyed, exit code 3.

Each test is one defect that was found by trying, with the input that showed it; each failed on the code of then.
Those that need a process of their own are in test_exit_codes.py, test_kill.py and output/test_compiled.py.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from counterrank.cli import app

Row = dict[str, Any]
TARGET = [{"query": query, "items": ["a1", "a0", "a2"]} for query in ("q0", "q1")]
FEW = {"query": ["7"] * 6, "items": [["a", "b"]] * 6, "clicks": [[1, 0]] * 6}


def rows(size: int = 60, queries: int = 2, **more: Any) -> list[Row]:
    draw, out = random.Random(0), []
    for i in range(size):
        clicks = [int(draw.random() < 0.5 / (k + 1)) for k in range(3)]
        items = draw.sample(["a0", "a1", "a2"], 3)
        out.append({"query": f"q{i % queries}", "items": items, "clicks": clicks, "day": i % 3, **more})
    return out


def damaged(**changes: Any) -> list[Row]:
    """Sixty rows, of which seven are bad."""
    return [row | changes if 10 <= i < 17 else row for i, row in enumerate(rows(propensity=1 / 6))]


def lines(path: Path, content: Iterable[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in content))
    return path


def run(*words: object) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(word) for word in words])
    return done.exit_code, done.stdout, done.stderr


def told(*words: object) -> Any:
    code, out, err = run(*words, "--json")
    assert code == 0, err
    return json.loads(out, parse_constant=pytest.fail)


def refused(*words: object) -> str:
    code, _, err = run(*words)
    assert code == 2, err
    assert len(err.splitlines()) == 1
    return err


def set_aside(path: Path) -> list[Row]:
    return [json.loads(line, parse_constant=pytest.fail) for line in path.read_text().splitlines()]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return lines(tmp_path / "log.jsonl", rows())


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return lines(tmp_path / "target.jsonl", TARGET)


# rows that were lost


def test_the_name_of_a_folder_is_no_column(tmp_path: Path) -> None:
    found = told("check", lines(tmp_path / "query=zzz" / "day=2024-01-01" / "log.jsonl", rows()))
    assert (found["queries"], found["days"]) == (2, 3)


def test_a_later_pass_does_not_empty_the_file_of_bad_rows(tmp_path: Path, target: Path) -> None:
    log, aside = lines(tmp_path / "log.jsonl", damaged(propensity=1.5)), tmp_path / "bad.jsonl"
    page = tmp_path / "page.html"
    run("evaluate", log, "--target", target, "--logging", "propensity", "--report", page, "--bad-rows", aside)
    assert len(set_aside(aside)) == 7


@pytest.mark.parametrize("command", ["evaluate --estimator best", "backtest", "clicks"])
def test_bad_rows_are_told(command: str, tmp_path: Path, target: Path) -> None:
    log, aside = lines(tmp_path / "log.jsonl", damaged(clicks=[2, 0, 0])), tmp_path / "bad.jsonl"
    name, *more = command.split() + (["--target", str(target)] if "evaluate" in command else [])
    found = told(name, log, *more, "--bad-rows", aside)
    assert (found["rows"], found["rejected"], len(set_aside(aside))) == (53, 7, 7)


@pytest.mark.parametrize("command", ["evaluate LOG --target TARGET --report PAGE", "optimize LOG --delta auto"])
def test_rows_that_are_used_are_not_set_aside(command: str, tmp_path: Path, target: Path) -> None:
    content = rows()
    content[5]["day"] = "x"
    named = {"LOG": lines(tmp_path / "log.jsonl", content), "TARGET": target, "PAGE": tmp_path / "page.html"}
    found = told(*(named.get(word, word) for word in command.split()), "--bad-rows", tmp_path / "bad.jsonl")
    assert found["impressions"] + len(set_aside(tmp_path / "bad.jsonl")) == 60


def test_check_by_ibis_writes_the_bad_rows(tmp_path: Path) -> None:
    log, aside = lines(tmp_path / "log.jsonl", damaged(clicks=[2, 0, 0])), tmp_path / "bad.jsonl"
    assert run("check", log, "--engine", "ibis", "--bad-rows", aside)[0] == 0
    assert len(set_aside(aside)) == 7


def test_clicks_tells_of_repairs(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    path.write_text("".join(f"{s}\t0\tQ\t7\t0\t1\t2\t3\t1\n{s}\t1\tC\t2\n{s}\t2\tC\t9\n" for s in range(30)))
    notes = " ".join(told("clicks", path, "--format", "yandex")["notes"])
    assert "unmatched" in notes
    assert "repeated" in notes


def test_what_is_left_out_of_a_folder_is_named(tmp_path: Path) -> None:
    lines(tmp_path / "folder" / "a.jsonl", rows())
    lines(tmp_path / "other" / "b.jsonl", rows())
    (tmp_path / "folder" / "sub").symlink_to(tmp_path / "other")
    for name in ("x.jsonl.zst", "part-00001"):
        (tmp_path / "folder" / name).write_text("{}")
    found = told("check", tmp_path / "folder")
    assert found["impressions"] == 120
    assert all(name in " ".join(found["notes"]) for name in ("x.jsonl.zst", "part-00001"))


# answers by the order of rows


def cascade(size: int, queries: int) -> list[Row]:
    """Without days; users read from the top and stop at a click."""
    draw, out = random.Random(2), []
    attraction = {(query, item): draw.random() * 0.6 for query in range(queries) for item in range(5)}
    for _ in range(size):
        query, items = draw.randrange(queries), draw.sample(range(5), 3)
        first = next((k for k, item in enumerate(items) if draw.random() < attraction[query, item]), None)
        clicks = [int(k == first) for k in range(3)]
        out.append({"query": f"q{query}", "items": [f"a{item}" for item in items], "clicks": clicks})
    return out


FEATURES = [{"query": f"q{q}", "item": f"a{i}", "f": (7 * q + 3 * i) % 5, "g": i} for q in range(8) for i in range(5)]


@pytest.mark.parametrize(
    ("command", "content"),
    [
        ("optimize --delta auto", cascade(200, 20)),
        ("backtest", rows(120, 5)),
        ("optimize --by pi-opt --model tree --features FEATURES", cascade(200, 8)),
    ],
)
def test_the_order_of_rows_does_not_matter(command: str, content: list[Row], tmp_path: Path) -> None:
    features = str(lines(tmp_path / "features.jsonl", FEATURES))
    answers = []
    for seed in range(3):
        shuffled = random.Random(seed).sample(content, len(content))
        name, *more = command.replace("FEATURES", features).split()
        answers.append(told(name, lines(tmp_path / "log.jsonl", shuffled), *more))
    parts = ("delta", "errors", "held_out")  # what depended on it
    for other in answers[1:]:
        for part in set(parts) & set(other):
            assert json.dumps(_rounded(other[part])) == json.dumps(_rounded(answers[0][part]))


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


# files


def test_a_gzip_file_with_one_wrong_byte_is_refused(tmp_path: Path) -> None:
    text = "query,items,clicks\n" + "".join(f'q{i},"[""a"",""b""]","[1,0]"\n' for i in range(3000))
    content = gzip.compress(text.encode(), 0).replace(b"q1500", b"q7500")  # stored, not compressed: it parses well
    (tmp_path / "log.csv.gz").write_bytes(content)
    assert "damaged" in refused("check", tmp_path / "log.csv.gz")


@pytest.mark.parametrize("words", ["optimize LOG --out LINK", "evaluate LOG --target TARGET --bad-rows LINK"])
def test_a_hard_link_of_the_log_is_the_log(words: str, log: Path, target: Path, tmp_path: Path) -> None:
    os.link(log, tmp_path / "link.jsonl")
    before = log.read_bytes()
    named = {"LOG": log, "TARGET": target, "LINK": tmp_path / "link.jsonl"}
    refused(*(named.get(word, word) for word in words.split()))
    assert log.read_bytes() == before


def test_two_outputs_are_two_files(tmp_path: Path) -> None:
    one = tmp_path / "one.jsonl"
    refused("simulate", "--impressions", 100, "--out", one, "--better-out", one)


# ids and days


def test_two_ids_that_were_made_to_collide_are_two(tmp_path: Path) -> None:
    twins = ["6cca94c2aaaaaaaa", "180b290f,v4W`Fs^"]  # one 64-bit hash, where that has no key
    log = lines(tmp_path / "log.jsonl", [{"query": query, "items": ["a"], "clicks": [1]} for query in twins])
    assert told("check", log)["queries"] == 2


@pytest.mark.parametrize("day", ["2024-02-30", float("inf"), 1e300])
def test_no_such_day(day: Any, tmp_path: Path) -> None:
    others = ["2024-01-01", "2024-01-02"] if isinstance(day, str) else [0.0, 1.0]
    days = pa.array([*others, day] * 2)
    pq.write_table(pa.table(FEW).append_column("day", days), tmp_path / "log.parquet")
    found = told("check", tmp_path / "log.parquet")
    assert (found["days"], found["impressions"]) == (2, 4)


def test_seconds_are_not_days(tmp_path: Path) -> None:
    content = [row | {"day": 1_700_000_000 + 7919 * i} for i, row in enumerate(rows())]
    found = told("check", lines(tmp_path / "log.jsonl", content))
    assert found["days"] < 10
    assert "seconds" in " ".join(found["notes"])


def test_seven_is_seven_in_every_file(tmp_path: Path) -> None:
    policy = lines(tmp_path / "target.jsonl", [{"query": "7", "items": ["b", "a"]}])
    log = lines(tmp_path / "log.jsonl", [{"query": 7.0, "items": ["a", "b"], "clicks": [1, 0]}] * 6)
    assert told("evaluate", log, "--target", policy)["covered"] == 1


@pytest.mark.parametrize("query", [{"a": 1}, [1], True])
def test_what_is_no_id(query: Any, tmp_path: Path) -> None:
    refused("check", lines(tmp_path / "log.jsonl", [{"query": query, "items": ["a", "b"], "clicks": [1, 0]}] * 6))


def test_examination_begins_with_1(log: Path, target: Path) -> None:
    refused("compare", log, "--target", target, "--examination", "2,1,0.667")


def test_check_and_evaluate_use_the_same_rows(tmp_path: Path, target: Path) -> None:
    content = rows(reward=1.0)
    content[3]["day"], content[4]["reward"] = "x", None
    log, aside = lines(tmp_path / "log.jsonl", content), tmp_path / "bad.jsonl"
    found = told("check", log)
    judged = told("evaluate", log, "--target", target, "--bad-rows", aside)
    assert found["impressions"] == judged["impressions"] == 58
    assert found["rejected"] == 2


def test_candidates_that_change_nothing_are_said_to(log: Path, tmp_path: Path) -> None:
    scores = [{"query": q, "item": f"a{i}", "score": i} for q in ("q0", "q1") for i in range(3)]
    candidates = lines(tmp_path / "candidates.jsonl", [{"query": q, "item": "a0"} for q in ("q0", "q1")])
    found = told("evaluate", log, "--target", lines(tmp_path / "scores.jsonl", scores), "--candidates", candidates)
    assert any("candidates" in note for note in found["notes"])


# screens


def test_ids_are_no_markup_and_no_orders_to_the_terminal(tmp_path: Path) -> None:
    names = ["urn:key:7", "[red]x", "[/x]y", "\x1b[2J\x1b]0;t\x07"]
    content = [{"query": n, "items": [n, "b"][:: 1 - 2 * (i % 2)], "clicks": [1, 0]} for n in names for i in range(20)]
    code, out, err = run("optimize", lines(tmp_path / "log.jsonl", content))
    assert (code, err) == (0, "")
    assert all(name in out for name in names[:3])
    assert "\x1b" not in out
    assert "\x1b" not in refused("check", tmp_path / "log.jsonl", "--columns", "query=\x1b[2Jx")


# crashes


def test_a_name_with_colons_is_no_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = "run-2024-05-01T10:00:00.parquet"
    with open(name, "wb") as file:
        pq.write_table(pa.table(FEW), file)
    assert told("check", name)["impressions"] == 6
    assert run("optimize", name, "--out", "best-10:00.parquet")[0] == 0


@pytest.mark.parametrize("words", ["optimize LOG --out {}.jsonl", "check LOG --bad-rows {}.jsonl"])
def test_a_name_that_is_too_long(words: str, log: Path, tmp_path: Path) -> None:
    named = {"LOG": log}
    refused(*(named.get(word, word) for word in words.format(tmp_path / ("x" * 300)).split()))


def test_a_full_disk(tmp_path: Path) -> None:
    log = lines(tmp_path / "log.jsonl", damaged(clicks=[2, 0, 0]))
    (tmp_path / "full.jsonl").symlink_to("/dev/full")
    refused("check", log, "--bad-rows", tmp_path / "full.jsonl")


def test_the_demo_wants_a_folder(log: Path) -> None:
    refused("demo", "--out", log)


def test_nanoseconds_are_times(tmp_path: Path) -> None:
    times = pa.array(np.arange(6) * 86400 * 10**9 + 1_700_000_000_000_000_123, pa.timestamp("ns"))
    pq.write_table(pa.table(FEW).append_column("day", times), tmp_path / "log.parquet")
    assert told("check", tmp_path / "log.parquet")["days"] == 6


def test_half_a_character_is_a_bad_row(tmp_path: Path) -> None:
    log = lines(tmp_path / "log.jsonl", [*rows(), {"query": "\ud800", "items": ["a", "b"], "clicks": [1, 0]}])
    aside = tmp_path / "bad.jsonl"
    assert told("check", log, "--bad-rows", aside)["impressions"] == 60
    assert len(set_aside(aside)) == 1


def test_rewards_near_the_largest_number(tmp_path: Path) -> None:
    log = lines(tmp_path / "log.jsonl", rows(reward=1e308))
    for words in (["check", log, "--json"], ["optimize", log, "--by", "lp-list", "--metric", "reward"]):
        assert run(*words)[0] in (0, 2)


def test_a_confidence_next_to_1(log: Path, target: Path) -> None:
    for command in ("evaluate", "compare"):
        assert run(command, log, "--target", target, "--confidence", "0.9999999999999999")[0] in (0, 2)


def test_features_near_the_largest_number(log: Path, target: Path, tmp_path: Path) -> None:
    features = [{"query": q, "item": f"a{i}", "f": 1e308, "g": i} for q in ("q0", "q1") for i in range(3)]
    words = ["--features", lines(tmp_path / "features.jsonl", features), "--json"]
    assert run("evaluate", log, "--target", target, *words)[0] in (0, 2)


# bad rows of other kinds, other files


def test_ragged_rows_are_set_aside(tmp_path: Path) -> None:
    good = 'q,"[""a"",""b""]","[1,0]"\n'
    (tmp_path / "log.csv").write_text("query,items,clicks\n" + 20 * good + 'q,"[""a""]"\n' + good.strip() + ",9,9\n")
    assert told("check", tmp_path / "log.csv", "--bad-rows", tmp_path / "bad.jsonl")["impressions"] == 20
    assert len(set_aside(tmp_path / "bad.jsonl")) == 2


def test_bad_rows_of_the_log_to_test_on(log: Path, tmp_path: Path) -> None:
    other, aside = lines(tmp_path / "other.jsonl", damaged(clicks=[2, 0, 0])), tmp_path / "bad.jsonl"
    assert told("clicks", log, "--test", other, "--bad-rows", aside)["rejected"] == 7
    assert len(set_aside(aside)) == 7


def test_what_ibis_sets_aside_is_json(tmp_path: Path) -> None:
    clicks = [[1.0, 0.0], [float("nan"), 0.0], *[[1.0, 0.0]] * 4]
    pq.write_table(pa.table({**FEW, "clicks": clicks}), tmp_path / "log.parquet")
    words = ["--estimator", "rctr", "--engine", "ibis", "--bad-rows", tmp_path / "bad.jsonl"]
    assert run("evaluate", tmp_path / "log.parquet", "--target", "logging", *words)[0] == 0
    assert len(set_aside(tmp_path / "bad.jsonl")) == 1


def test_a_view_of_somebody_else_reads_no_files(log: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as base:
        base.execute(f"create view log as select * from read_json_auto('{log}')")
    refused("check", f"{tmp_path / 'a.duckdb'}:log")


def test_tables_of_a_schema_have_names(log: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as base:
        base.execute(f"create schema web; create table web.log as select * from read_json_auto('{log}')")
    assert told("check", f"{tmp_path / 'a.duckdb'}:web.log")["impressions"] == 60


@pytest.mark.parametrize("query", ["", "q\0z"])
def test_what_is_written_can_be_read(query: str, tmp_path: Path) -> None:
    log = lines(tmp_path / "log.jsonl", [{"query": query, "items": ["a", "b"], "clicks": [1, 0]}] * 6)
    code, _, _ = run("optimize", log, "--out", tmp_path / "best.csv")
    assert code == 2 or told("evaluate", log, "--target", tmp_path / "best.csv")["covered"] == 1


def test_nothing_typed_is_no_error() -> None:
    code, out, err = run()
    assert (code, err) == (0, "")
    assert "evaluate" in out
