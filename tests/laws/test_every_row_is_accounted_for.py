"""Rows in = rows used + rows set aside, on every command that reads a log, in every form, on every engine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from counterrank.cli import app
from laws.accounting import FORMS, bad_rows, good_rows, mixed, readers, write_form
from seeds import in_turn, seeds

COMMANDS = readers()
MORE: list[list[str]] = [  # options that read the log more than once, or other columns of it
    ["evaluate", "--target", "logging", "--report", "page.html", "--logging", "propensity"],
    ["evaluate", "--target", "logging", "--estimator", "best", "--metric", "clicks"],
    ["evaluate", "--target", "logging", "--metric", "clicks", "--per-query", "queries.csv", "--examination", "em"],
    ["evaluate", "--target", "logging", "--metric", "clicks", "--clip", "auto"],
    ["compare", "--target", "logging", "--estimator", "list", "--metric", "reward"],
    ["compare", "--target", "logging", "--report", "page.html"],
    ["compare", "--target", "uniform", "--target", "logging", "--metric", "clicks"],
    ["compare", "--target", "uniform", "--metric", "clicks", "--per-query", "queries.csv", "--engine", "ibis"],
    ["optimize", "--holdout", "0.3"],
    ["optimize", "--holdout", "days", "--by", "lp-ip", "--metric", "clicks", "--engine", "ibis"],
    ["optimize", "--delta", "auto"],
    ["optimize", "--by", "lp-ip"],
    ["learn", "--out", "learnt", "--special", "both", "--report", "page.html"],
    ["clicks", "--split", "day"],
]


def run(words: list[str], folder: Path) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return CliRunner().invoke(app, words)


def accounted(words: list[str], log: str, folder: Path, marks: set[str], used: int) -> None:
    """The counts are right, and the quarantine has exactly the bad rows, each once, as JSON."""
    result = run([*words[0].split(), log, *words[1:], "--bad-rows", "bad.jsonl", "--json"], folder)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout, parse_constant=pytest.fail)
    assert (found["rows"], found["rejected"]) == (used, len(marks))
    assert isinstance(found["notes"], list)
    lines = (folder / "bad.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line, parse_constant=pytest.fail) for line in lines]
    assert all(set(record) >= {"file", "row", "problem", "content"} for record in records)
    assert all(record["row"] >= 1 for record in records)  # its number in the file, whoever counts
    assert sorted(mark for mark in marks for record in records if mark in json.dumps(record)) == sorted(marks)
    assert len(records) == len(marks)


def cells() -> Iterator[Any]:
    """Every command on every form of log; by Ibis, which is slow to plan, each on a sixth of them in turn, or all."""
    for c, command in enumerate(COMMANDS):
        for f, form in enumerate(FORMS):
            yield pytest.param(command, form, "duckdb")
            yield pytest.param(command, form, "ibis", marks=[pytest.mark.slow] if (c + f) % 6 else [])


@pytest.mark.parametrize(("command", "form", "engine"), list(cells()))
def test_rows_in_are_rows_used_and_rows_set_aside(command: str, form: str, engine: str, tmp_path: Path) -> None:
    bad = bad_rows(form.startswith("long "))
    log = write_form(mixed(bad), tmp_path, form)
    accounted([command, *COMMANDS[command], "--engine", engine], log, tmp_path, set(bad), len(good_rows()))


@pytest.mark.parametrize(("words", "form"), in_turn(MORE, ["parquet", "long csv"]))
def test_however_many_passes_it_takes(words: list[str], form: str, tmp_path: Path) -> None:
    bad = bad_rows(form.startswith("long "))
    log = write_form(mixed(bad), tmp_path, form)
    accounted(words, log, tmp_path, set(bad), len(good_rows()))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("command", "form"),
    seeds(
        [("check", "parquet"), ("evaluate", "csv.gz"), ("clicks", "long csv"), ("check", "tsv"), ("evaluate", "jsonl")],
        2,
    ),
)
def test_on_spark_too(command: str, form: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    from counterrank.engine.spark import JAVA, java_version

    if (java_version() or 0) < JAVA:
        pytest.skip(f"Spark needs Java {JAVA} or later, found {java_version()}")
    bad = bad_rows(form.startswith("long "))
    log = write_form(mixed(bad), tmp_path, form)
    accounted([command, *COMMANDS[command], "--engine", "local[2]"], log, tmp_path, set(bad), len(good_rows()))


@pytest.mark.parametrize("part", [pytest.param(5, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("form", "engine"), [*((form, "duckdb") for form in FORMS), ("csv", "ibis"), ("long parquet", "ibis")]
)
def test_each_kind_alone_stops_the_run_in_one_line(form: str, engine: str, part: int, tmp_path: Path) -> None:
    """The line names the file and the number of the row, on every engine.

    Every fifth kind, or all; forms begin elsewhere, so that together they try every kind. By Ibis, every tenth.
    """
    part *= 2 if part > 1 and engine == "ibis" else 1
    for number, row in list(enumerate(bad_rows(form.startswith("long ")).values()))[FORMS.index(form) % part :: part]:
        folder = tmp_path / str(number)
        folder.mkdir()
        log = write_form([*good_rows()[:4], row], folder, form)
        result = run(["evaluate", log, "--target", "logging", "--engine", engine, "--json"], folder)
        assert result.exit_code == 2, (row, result.stdout)
        assert len(result.stderr.splitlines()) == 1
        assert re.search(r"(log\.[a-z.]+|log\.duckdb:log|part 2\.jsonl): row \d+: ", result.stderr), result.stderr
        assert "--bad-rows" in result.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_both_counts_are_printed(command: str, tmp_path: Path) -> None:
    bad = bad_rows(long=False)
    log = write_form(mixed(bad), tmp_path, "parquet")
    result = run([*command.split(), log, *COMMANDS[command], "--bad-rows", "bad.jsonl"], tmp_path)
    assert result.exit_code == 0, result.stderr
    said = " ".join(result.stdout.split())
    assert f"{len(good_rows())} rows" in said
    assert f"{len(bad)} set aside" in said or f"{len(bad)} rows were set aside" in said


def test_a_log_without_bad_rows_leaves_an_empty_quarantine(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("old\n", encoding="utf-8")
    log = write_form(good_rows(), tmp_path, "parquet")
    result = run(["check", log, "--bad-rows", "bad.jsonl", "--json"], tmp_path)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["rejected"] == 0
    assert (tmp_path / "bad.jsonl").read_text(encoding="utf-8") == ""
