"""The command: files, JSON, a table, and errors in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from counterrank.cli import function
from counterrank.errors import InputError

app = typer.Typer()
app.command()(function("simulate"))

SMALL = ["--impressions", "500", "--queries", "5", "--items", "6", "--k", "3", "--days", "2"]


@pytest.mark.parametrize("users", ["cm", "dcm", "pbm"])
def test_writes_all_files_and_one_json_object(tmp_path: Path, users: str) -> None:
    names = {"out": "log.parquet", "logging-out": "l.csv", "better-out": "b.jsonl", "worse-out": "w.parquet"}
    names["truth-out"] = "truth.json"
    options = [part for name, file in names.items() for part in (f"--{name}", str(tmp_path / file))]
    result = CliRunner().invoke(app, [*SMALL, *options, "--users", users, "--json", "--drift", "0.5"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    log = pq.read_table(tmp_path / "log.parquet")
    assert log.num_rows == told["impressions"] == 500
    assert told["clicks"] == sum(map(sum, log["clicks"].to_pylist()))
    assert json.loads((tmp_path / "truth.json").read_text()) == told["truth"]
    assert told["truth"]["better"]["clicks"]["value"] > told["truth"]["worse"]["clicks"]["value"]
    assert all(Path(path).exists() for path in told["written"].values())


def test_prints_a_table_and_the_same_seed_gives_the_same_log(tmp_path: Path) -> None:
    for name in ("a", "b"):
        result = CliRunner().invoke(app, [*SMALL, "--out", str(tmp_path / f"{name}.csv"), "--seed", "4"])
        assert result.exit_code == 0, result.output
        assert "500 impressions of 5 queries, pbm users" in result.stdout
        assert "better" in result.stdout
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--users", "pmb"], "unknown users' click model 'pmb'"),
        (["--k", "7"], "only 6 items"),
        (["--seed", "-1"], "seed is -1"),
        (["--better-out", "b.xlsx"], "unknown kind of file"),
        (["--truth-out", "no/such/folder/t.json"], "there is no folder"),
        (["--uniform-share", "0.1", "--logging-out", "l.csv"], "scores cannot say"),
    ],
)
def test_bad_options(tmp_path: Path, options: list[str], message: str) -> None:
    result = CliRunner().invoke(app, [*SMALL, "--out", str(tmp_path / "log.csv"), *options])
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)
