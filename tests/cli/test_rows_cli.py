"""Every command that reads a log says how many rows it used and set aside; the file of bad rows has exactly those."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from counterrank.cli import app

ROWS, EVERY = 240, 11  # every 11th row is bad
COMMANDS = {
    "check": [],
    "check --engine ibis": [],
    "evaluate": ["--target", "POLICY"],
    "evaluate --logging propensity --report PAGE": ["--target", "POLICY"],
    "evaluate --estimator best": ["--target", "POLICY"],
    "evaluate --engine ibis": ["--target", "POLICY"],
    "compare": ["--target", "POLICY", "--baseline", "logging"],
    "compare --estimator ip": ["--target", "POLICY", "--baseline", "logging"],
    "backtest": [],
    "clicks": ["--model", "pbm,cm"],
    "clicks --split day": ["--model", "cm"],
    "optimize": [],
    "optimize --delta auto": [],
    "optimize --by lp-ip": [],
    "learn": ["--out", "OUT"],
}


def bad(i: int) -> dict[str, Any]:
    return [{"propensity": 1.5}, {"day": "30 February"}, {"clicks": [2, 0]}, {"items": ["a", "a"]}][i % 4]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rng = random.Random(1)
    path = tmp_path / "log.jsonl"
    lines = []
    for i in range(ROWS):
        items = rng.sample("ab", 2)
        row = {"query": rng.choice("qr"), "items": items, "clicks": [int(rng.random() < 0.5), 0], "day": i % 4}
        lines.append(json.dumps({**row, "propensity": 0.5, **(bad(i) if i % EVERY == 0 else {})}))
    path.write_text("\n".join(lines))
    (tmp_path / "policy.csv").write_text('query,items\nq,"[""a"",""b""]"\nr,"[""b"",""a""]"\n')
    return path


def run(words: list[str]) -> str:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    return result.stdout


# by Ibis the matrix of tests/laws asks the same in every run
@pytest.mark.parametrize(
    "command", [pytest.param(each, marks=[pytest.mark.slow] * ("ibis" in each)) for each in COMMANDS]
)
def test_rows_are_accounted_for(command: str, log: Path, tmp_path: Path) -> None:
    aside, number = tmp_path / "bad.jsonl", len(range(0, ROWS, EVERY))
    name, *options = command.split()
    words = [name, str(log), *options, *COMMANDS[command], "--bad-rows", str(aside)]
    names = {
        "POLICY": str(tmp_path / "policy.csv"),
        "PAGE": str(tmp_path / "page.html"),
        "OUT": str(tmp_path / "learnt"),
    }
    words = [names.get(word, word) for word in words]
    found = json.loads(run([*words, "--json"]))
    assert (found["rows"], found["rejected"]) == (ROWS - number, number)
    assert isinstance(found["notes"], list)
    records = [json.loads(line, parse_constant=pytest.fail) for line in aside.read_text().splitlines()]
    assert len(records) == number
    assert [record["row"] - 1 for record in records] == list(range(0, ROWS, EVERY))
    told = " ".join(run(words).split())
    assert f"{ROWS - number} rows read, {number} set aside in" in told


def test_a_log_to_judge_by_has_its_bad_rows_in_the_same_file(log: Path, tmp_path: Path) -> None:
    other, aside, number = tmp_path / "other.jsonl", tmp_path / "bad.jsonl", len(range(0, ROWS, EVERY))
    other.write_text(log.read_text())
    words = ["clicks", str(log), "--test", str(other), "--model", "cm", "--bad-rows", str(aside), "--json"]
    for _ in range(2):  # an old file is not added to
        found = json.loads(run(words))
        assert (found["rows"], found["rejected"]) == (2 * (ROWS - number), 2 * number)
        files = [json.loads(line)["file"] for line in aside.read_text().splitlines()]
        assert files == [str(log)] * number + [str(other)] * number


def test_ignored_columns_make_no_bad_rows(log: Path) -> None:
    words = ["check", str(log), "--ignore", "day,propensity", "--json"]
    found = json.loads(run(words))
    assert 0 < found["rejected"] < len(range(0, ROWS, EVERY))
    assert (found["days"], found["has_propensity"]) == (None, False)


def test_repairs_of_foreign_formats_are_in_every_json(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    lines = []
    for session in range(30):
        lines += [f"{session}\t0\tQ\t7\t0\t1\t2\t3\t1", f"{session}\t1\tC\t2", f"{session}\t2\tC\t9"]
    path.write_text("\n".join(lines) + "\n")
    for command in (["check"], ["clicks", "--model", "cm"], ["optimize"], ["evaluate", "--target", "logging"]):
        name, *rest = command
        found = json.loads(run([name, str(path), "--format", "yandex", *rest, "--json"]))
        assert any("unmatched" in note or "click" in note for note in found["notes"]), (command, found["notes"])
        assert any("repeated" in note or "place" in note for note in found["notes"]), (command, found["notes"])
        assert found["rejected"] == 0
