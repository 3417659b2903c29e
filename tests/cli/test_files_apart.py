"""No command writes over what it reads, nor two outputs to one file, by whatever names they go."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from typer.testing import CliRunner

from counterrank.cli import COMMANDS, app, function
from counterrank.cli.files import Reads, Writes, marks

ROWS = [{"query": "q", "items": ["a", "b"], "clicks": [1, 0]}, {"query": "q", "items": ["b", "a"], "clicks": [0, 1]}]


def run(*words: Any) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def refused(*words: Any) -> str:
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    assert "bug" not in result.stderr
    return str(result.stderr)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a log in three forms and a policy, beside which outputs go."""
    (tmp_path / "logs" / "deep").mkdir(parents=True)
    text = "".join(json.dumps(row) + "\n" for row in ROWS)
    (tmp_path / "log.jsonl").write_text(text)
    (tmp_path / "logs" / "one.jsonl").write_text(text)
    (tmp_path / "logs" / "deep" / "two.jsonl").write_text(text)
    (tmp_path / "new.jsonl").write_text('{"query": "q", "items": ["a", "b"]}\n')
    with duckdb.connect(str(tmp_path / "base.duckdb")) as connection:
        connection.execute("CREATE TABLE log AS SELECT 'q' AS query, ['a', 'b'] AS items, [1, 0] AS clicks")
    (tmp_path / "soft.jsonl").symlink_to("log.jsonl")
    os.link(tmp_path / "log.jsonl", tmp_path / "hard.jsonl")
    os.link(tmp_path / "logs" / "deep" / "two.jsonl", tmp_path / "hard-two.jsonl")
    os.link(tmp_path / "new.jsonl", tmp_path / "hard-new.jsonl")
    os.link(tmp_path / "base.duckdb", tmp_path / "base.csv")
    (tmp_path / "way").symlink_to("logs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


TAKEN = [
    ("log.jsonl", "log.jsonl"),
    ("log.jsonl", "./logs/../log.jsonl"),
    ("log.jsonl", "soft.jsonl"),
    ("soft.jsonl", "log.jsonl"),
    ("log.jsonl", "hard.jsonl"),
    ("hard.jsonl", "soft.jsonl"),
    ("logs", "logs/one.jsonl"),
    ("logs", "logs/deep/new.csv"),
    ("logs", "way/new.csv"),
    ("way", "logs/new.csv"),
    ("logs", "hard-two.jsonl"),
    ("logs/*.jsonl", "logs/three.jsonl"),
    ("logs/*.jsonl", "way/one.jsonl"),
    ("logs/**/*.jsonl", "hard-two.jsonl"),
    ("logs/**/*.jsonl", "logs/deep/three.jsonl"),
    ("base.duckdb:log", "base.csv"),
]


@pytest.mark.parametrize(("log", "out"), TAKEN)
def test_not_over_the_log(log: str, out: str, folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for command in (["evaluate", log, "--target", "logging", "--per-query", out], ["clicks", log, "--out", out]):
        assert "give another name" in refused(*command)
    if out.endswith(".jsonl"):
        refused("check", log, "--bad-rows", out)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("option", ["--target", "--logging", "--candidates", "--features"])
def test_not_over_other_inputs(option: str, folder: Path) -> None:
    words = ["evaluate", "log.jsonl", option, "new.jsonl", *(["--target", "logging"] if option != "--target" else [])]
    for out in ("new.jsonl", "hard-new.jsonl"):
        for output in ("--per-query", "--bad-rows"):
            assert f"{output} {out}: that file is an input" in refused(*words, output, out)
    (folder / "report.html").symlink_to("new.jsonl")
    assert "an input of this command" in refused(*words, "--report", "report.html")
    message = refused("clicks", "log.jsonl", "--test", "new.jsonl", "--bad-rows", "hard-new.jsonl")
    assert "an input of this command" in message


def test_not_two_outputs_to_one_file(folder: Path) -> None:
    os.link(folder / "log.jsonl", folder / "other.jsonl")
    for one, two in (
        ("x.csv", "x.csv"),
        ("x.csv", "logs/../x.csv"),
        ("hard.jsonl", "other.jsonl"),
        ("way/x.csv", "logs/x.csv"),
    ):
        assert "each output its own" in refused("simulate", "--out", one, "--better-out", two)
    words = ["evaluate", "logs/one.jsonl", "--target", "logging"]
    assert "that is --per-query too" in refused(*words, "--per-query", "x.jsonl", "--bad-rows", "x.jsonl")
    assert not (folder / "x.csv").exists()


def test_not_where_stdout_goes(folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "counterrank",
        "evaluate",
        "log.jsonl",
        "--target",
        "logging",
        "--per-query",
        "x.csv",
    ]
    with (folder / "x.csv").open("wb") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "stdout goes there already" in done.stderr


def test_what_is_apart_is_written(folder: Path) -> None:
    words = ["evaluate", "logs", "--target", "new.jsonl", "--per-query", "x.csv", "--report", "logs/page.html"]
    assert run(*words, "--bad-rows", "bad.jsonl").exit_code == 0
    assert run("evaluate", "log.jsonl", "--target", "logging", "--per-query", "logs/x.csv").exit_code == 0
    assert run("simulate", "--out", "a.csv", "--better-out", "b.csv", "--truth-out", "/dev/null").exit_code == 0


@pytest.mark.parametrize(
    ("out", "word"),
    [
        ("logs", "a folder is there"),
        ("x" * 300 + ".csv", "name too long"),
        ("no/such/x.csv", "no folder"),
        ("log.jsonl/x.csv", "Not a directory"),
        ("full.csv", "No space left"),
        ("/dev/stdout", "unknown kind of file"),
    ],
)
def test_outputs_that_cannot_be(out: str, word: str, folder: Path) -> None:
    (folder / "logs.csv").mkdir()
    (folder / "full.csv").symlink_to("/dev/full")
    out = "logs.csv" if out == "logs" else out
    for words in (
        ["evaluate", "log.jsonl", "--target", "logging", "--per-query", out],
        ["simulate", "--out", out, "--impressions", "10"],
        ["optimize", "log.jsonl", "--out", out],
    ):
        message = refused(*words)
        assert word in message
        assert out[:20] in message
    page = out.replace(".csv", ".html")
    if out.endswith(".csv") and out[0] not in "lf":
        assert word in refused("evaluate", "log.jsonl", "--target", "logging", "--report", page)


@pytest.mark.parametrize("command", ["demo", "reproduce"])
def test_a_file_where_a_folder_is_wanted(command: str, folder: Path) -> None:
    words = ["reproduce", "coverage", "--quick"] if command == "reproduce" else ["demo"]
    assert "a file is there" in refused(*words, "--out", "log.jsonl")
    assert "Not a directory" in refused(*words, "--out", "log.jsonl/deeper")
    assert "name too long" in refused(*words, "--out", "x" * 300)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_parameter_that_names_a_file_says_so(command: str) -> None:
    marked = marks(function(command))
    hints = typing.get_type_hints(function(command), include_extras=True)
    for name in inspect.signature(function(command)).parameters:
        if "Path" in str(hints[name]) or name in ("log", "test", "target", "baseline"):
            assert name in marked, f"mark {name} of {command} with Reads or Writes (cli/files.py)"
    for name in {"logging", "candidates", "features", "selection", "general"} & set(hints):
        assert isinstance(marked[name], Reads)
    for name in {"out", "per_query", "report", "bad_rows"} & set(hints):
        assert isinstance(marked[name], Writes)
