"""The command `clicks`: a table and a picture for people, JSON for programs, a file of attractions."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from counterrank.cli import app

LINES = [
    {"query": "q", "items": ["a", "b"], "clicks": [1, 0], "day": 1},
    {"query": "q", "items": ["b", "a"], "clicks": [0, 1], "day": 2},
    {"query": "[r]", "items": ["b", "a"], "clicks": [0, 0], "day": 3},
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in LINES * 30), encoding="utf-8")
    return path


def run(*words: object, code: int = 0):
    result = CliRunner().invoke(app, ["clicks", *map(str, words)], env={"COLUMNS": "100", "NO_COLOR": "1"})
    assert result.exit_code == code, result.output
    return result


def test_json_is_one_object_with_the_fields_of_the_page(log: Path) -> None:
    said = json.loads(run(log, "--json", "--model", "pbm,cm").stdout)
    assert {row["model"] for row in said["models"]} == {"pbm", "cm"}
    assert said["impressions"] + said["test_impressions"] == 90
    assert [point["position"] for point in said["curve"]] == [1, 2]
    assert said["prior"] == "fit"
    assert said["best"] == said["models"][0]["model"]  # by log-likelihood


def test_people_get_a_table_and_a_picture(log: Path) -> None:
    out = run(log).stdout
    assert "12 click models fitted to" in out
    assert "█" in out
    assert "harvested" in out


def test_days_formats_priors_and_files(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "attractions.parquet"
    said = run(log, "--split", "day", "--holdout", "0.3", "--prior", "fit", "--out", out, "--model", "pbm,dcm").stdout
    assert "the last of 3 days" in said
    assert f"attractions written to {out}" in " ".join(said.split())
    table = pq.read_table(out)
    assert set(table.column_names) == {"query", "item", "shown", "clicks", "pbm", "dcm"}
    assert table.num_rows == 4
    other = json.loads(run(log, "--test", log, "--top", 1, "--json", "--model", "ctr").stdout)
    assert other["positions"] == 1
    assert other["test_impressions"] == 90


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--prior", "1"], "--prior"),
        (["--split", "week"], "unknown split 'week'"),
        (["--scope", "all"], "unknown scope 'all'"),
        (["--model", "pmb"], "unknown click model 'pmb'"),
        (["--out", "there.txt"], "unknown kind of file"),
        (["--test", "nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_bad_usage_is_one_line(log: Path, words: list[str], said: str) -> None:
    result = run(log, *words, code=2)
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("prior", ["1e300,1", "1,1e300", "1e-300,1e-300", "1e17,1"])
def test_priors_beyond_reason_still_give_numbers(log: Path, prior: str) -> None:
    found = json.loads(run(log, "--prior", prior, "--json").stdout, parse_constant=pytest.fail)
    assert len(found["models"]) == 12
