"""What the commands print: JSON, tables, help."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import counterrank
from counterrank.cli import COMMANDS, app
from counterrank.cli import command as command_of


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("sim")
    paths = {"log": folder / "log.parquet", "target": folder / "better.parquet"}
    result = run("simulate", "--out", paths["log"], "--better-out", paths["target"], "--impressions", 3000)
    assert result.exit_code == 0, result.output
    return paths


def run(*arguments: Any, **environment: str) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env=environment)


def test_json_is_one_object_in_full_precision(files: dict[str, Path]) -> None:
    result = run("evaluate", files["log"], "--target", files["target"], "--json")
    assert result.exit_code == 0
    assert result.stderr == ""
    found = json.loads(result.stdout, parse_constant=pytest.fail)
    value = counterrank.evaluate(files["log"], str(files["target"])).value("pbm")
    assert {row["estimator"]: row["value"] for row in found["estimates"]}["pbm"] == value
    fields = "estimator value stderr lower upper confidence interval effective_sample_size clipped unsupported warnings"
    assert all(set(fields.split()) <= set(row) for row in found["estimates"])
    result = run("check", files["log"], "--json")
    assert json.loads(result.stdout, parse_constant=pytest.fail)["impressions"] == 3000


@pytest.mark.parametrize("columns", ["", "80", "100"])
def test_tables_fit(columns: str, files: dict[str, Path]) -> None:
    for arguments in (["evaluate", files["log"], "--target", files["target"], "--clip", "5"], ["check", files["log"]]):
        result = run(*arguments, COLUMNS=columns)
        assert result.exit_code == 0
        assert result.stderr == ""
        lines = [line for line in result.stdout.splitlines() if str(files["log"]) not in line]
        assert max(map(len, lines)) <= int(columns or 100)
        assert not any(line.endswith(" ") for line in lines)


def test_no_cell_is_cut_at_80_columns(files: dict[str, Path]) -> None:
    wide, narrow = (
        run("evaluate", files["log"], "--target", files["target"], COLUMNS=width).stdout.split("•")[0].split()
        for width in ("200", "80")
    )
    assert wide == narrow


@pytest.mark.parametrize("kind", ["parquet", "csv", "csv.gz", "jsonl"])
def test_per_query(kind: str, tmp_path: Path, files: dict[str, Path]) -> None:
    path = tmp_path / f"queries.{kind}"
    result = run("evaluate", files["log"], "--target", files["target"], "--json", "--per-query", path)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    if kind == "parquet":
        rows = pq.read_table(path).to_pylist()
    elif kind == "jsonl":
        rows = [json.loads(line, parse_constant=pytest.fail) for line in path.read_text().splitlines()]
    else:
        return
    assert len(rows) == found["queries"]
    assert sum(row["impressions"] for row in rows) == found["impressions"]
    mean = sum(row["rctr"] * row["impressions"] for row in rows) / found["impressions"]
    assert mean == pytest.approx({row["estimator"]: row["value"] for row in found["estimates"]}["rctr"])


def test_per_query_as_csv(tmp_path: Path, files: dict[str, Path]) -> None:
    path = tmp_path / "queries.csv"
    assert run("evaluate", files["log"], "--target", files["target"], "--per-query", path).exit_code == 0
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {"query", "impressions", "pbm"} <= set(rows[0])
    assert sum(int(row["impressions"]) for row in rows) == 3000


def test_version() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, counterrank.__version__ + "\n")


def test_help_has_examples() -> None:
    assert "counterrank evaluate" in run("--help").stdout
    for name in ("check", "evaluate", "simulate", "demo"):
        assert f"counterrank {name}" in run(name, "--help").stdout.replace("Usage: counterrank", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_says_what_it_is(name: str) -> None:
    command = command_of(name)
    assert command.help.startswith(COMMANDS[name] + "\n")
    silent = [parameter.name for parameter in command.params if not getattr(parameter, "help", None)]
    assert silent == []


def test_nothing_but_the_result_where_there_is_no_terminal(files: dict[str, Path]) -> None:
    command = [sys.executable, "-m", "counterrank", "evaluate", files["log"], "--target", "logging", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stderr == ""
    json.loads(result.stdout)
