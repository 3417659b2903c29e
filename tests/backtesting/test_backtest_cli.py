"""`counterrank backtest` as users call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from counterrank.cli import app as counterrank
from counterrank.cli import function
from counterrank.simulate import make_world, write_log

app = typer.Typer()
app.command()(function("backtest"))


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    write_log(make_world(queries=8, items=6, k=4, seed=3), path, 4000, 1, days=5, drift=2.0)
    return str(path)


def test_a_table_of_100_columns_and_a_recommendation(log: str) -> None:
    result = CliRunner().invoke(app, [log])
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[1].split() == ["estimator", "K=2", "K=3", "all", "dcg"]
    assert any(line.startswith("noise floor") for line in lines)
    assert "use " in result.stdout


def test_json_alone(log: str) -> None:
    result = CliRunner().invoke(app, [log, "--weights", "dcg", "--top", "2", "--clips", "5,none", "--json"])
    content = json.loads(result.stdout)
    assert content["problems"] == ["dcg@2"]
    assert {row["clip"] for row in content["errors"]} == {5.0, None}
    assert content["recommendations"][0]["beats_rctr"] in ("yes", "no", "undecided")
    assert set(content["errors"][0]["against_rctr"]) == {"value", "lower", "upper"}


@pytest.mark.parametrize("options", [["--queries", "0"], ["--seed", "-1"], ["--clips", "x"], ["--estimator", "pj"]])
def test_bad_options(log: str, options: list[str]) -> None:
    result = CliRunner().invoke(app, [log, *options])
    assert type(result.exception).__name__ == "InputError"


def test_the_log_may_be_csv_with_dates(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "query,items,clicks,day\n"
        'q,"[""a"",""b""]","[1,0]",2024-01-01\nq,"[""b"",""a""]","[0,0]",2024-01-02\nq,"[""a"",""b""]","[1,1]",2024-01-03\n'
    )
    result = CliRunner().invoke(app, [str(path), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["query_days"] == 3


def test_a_bad_clip_is_named_as_the_option_is(log: str) -> None:
    result = CliRunner().invoke(counterrank, ["backtest", log, "--clips", "5,x"])
    assert result.exit_code == 2
    assert "--clips is 'x': expected positive numbers, or none" in result.stderr
