"""What reaches a terminal, a page and a notebook: ids as they are, what a screen obeys by its number, whole digits."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import counterrank as cr
from counterrank.cli import app
from counterrank.cli.tables import Screen
from counterrank.screen import json_text, visible
from seeds import in_turn, seeds

ODD = ["urn:key:7", "[red]x", "[/x]y", "\x1b[2J\x1b]0;owned\x07", "\x9b31mz", "a\u202eb", "z\u200b\u2028\x7f"]
ODD += [r"\[red]x", r"\[/x]y"]  # a backslash in front must not undo what protects a bracket
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e]")


def odd_log(path: Path) -> Path:
    rows = [
        {"query": query, "items": [query, "b", "c"] if i % 2 else ["b", query, "c"], "clicks": [i % 2, 0, i % 3 // 2],
         "day": i % 2}
        for query in ODD for i in range(12)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(*words: object, **environment: str) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"} | environment)


def test_ids_are_printed_as_they_are_but_for_what_a_terminal_obeys(tmp_path: Path) -> None:
    result = run("optimize", odd_log(tmp_path / "log.jsonl"))
    assert result.exit_code == 0, result.output
    assert not OBEYED.search(result.stdout)
    for name in ODD:
        assert visible(name) in result.stdout
    assert "⟨U+001B⟩[2J⟨U+001B⟩]0;owned⟨U+0007⟩" in result.stdout


def test_json_is_exact_and_holds_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    result = run("optimize", odd_log(tmp_path / "log.jsonl"), "--json")
    assert not OBEYED.search(result.stdout)
    assert {ranking["query"] for ranking in json.loads(result.stdout)["rankings"]} == set(ODD)


def test_names_in_errors(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_bytes(b"qu\x1b[2Jery,[/x],urn:key:7\n1,2,3\n")
    message = run("check", log)
    assert (message.exit_code, message.stderr.count("\n")) == (2, 1)
    assert "qu⟨U+001B⟩[2Jery, [/x], urn:key:7" in message.stderr
    for name in ("\x1b[2J.csv", "\udcff.csv", "[/x]:key:.csv"):
        message = run("check", name)
        assert (message.exit_code, message.stderr.count("\n")) == (2, 1)
        assert visible(name) in message.stderr
    assert len(run("evaluate", log, "--target", "x" * 100_000).stderr) < 2000


def test_pages_and_notebooks(tmp_path: Path) -> None:
    log = odd_log(tmp_path / "log.jsonl")
    found = cr.optimize(log)
    assert not OBEYED.search(repr(found))
    assert not OBEYED.search(found._repr_html_())
    assert visible(ODD[3]) in found._repr_html_()
    assert not OBEYED.search(repr(cr.check(log)))
    judged = cr.evaluate(log, {name: [name, "c", "b"] for name in ODD})
    page = judged.report(tmp_path / "page.html", log=log).read_text()
    words = re.sub(r"<(script|style)>.*?</\\1>", "", page, flags=re.DOTALL)
    assert not OBEYED.search(words)
    assert visible(ODD[3]) in words


@pytest.mark.parametrize(
    ("command", "width"),
    in_turn(["evaluate", "compare", "check", "clicks", "optimize", "backtest"], ["60", "80", "120"]),
)
def test_no_name_or_digit_is_lost_at_any_width(command: str, width: str, tmp_path: Path) -> None:
    rows = [
        {"query": f"query number {i % 3}", "items": ["first item", "b", "c"] if i % 2 else ["b", "first item", "c"],
         "clicks": [i % 2, i % 5 // 4, i % 3 // 2], "day": i % 4}
        for i in range(48)
    ]  # fmt: skip
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    more = ["--target", "uniform"] if command in ("evaluate", "compare") else []
    wide, narrow = (run(command, log, *more, COLUMNS=columns) for columns in ("400", width))
    assert (wide.exit_code, narrow.exit_code) == (0, 0), wide.output
    lines = [line for line in narrow.stdout.splitlines() if str(log) not in line]
    assert max(map(len, lines)) <= int(width)
    assert set(wide.stdout.split()) == set(narrow.stdout.split())


@pytest.mark.parametrize("encoding", seeds(["ascii", "latin-1"], 1))
def test_a_stream_that_lacks_characters(encoding: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    rows = [{"query": "q☃é", "items": ["ä", "☃"], "clicks": [1, 0]}] * 3
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    environment = os.environ | {"PYTHONIOENCODING": encoding, "COLUMNS": "80"}
    command = [sys.executable, "-m", "counterrank", "optimize"]
    shown = subprocess.run([*command, log], capture_output=True, env=environment, check=True).stdout.decode(encoding)
    assert r"q\u2603" in shown
    if encoding != "ascii":  # the others go the same way
        return
    text = subprocess.run([*command, log, "--json"], capture_output=True, env=environment, check=True).stdout
    assert json.loads(text.decode(encoding))["rankings"][0]["query"] == "q☃é"
    wrong = subprocess.run([*command, "☃.csv"], capture_output=True, env=environment, check=False)
    assert (wrong.returncode, wrong.stderr.count(b"\n")) == (2, 1)
    assert rb"\u2603.csv" in wrong.stderr


def test_status_lines(capsys: pytest.CaptureFixture[str]) -> None:
    Screen(stderr=True, force_terminal=True, color_system=None).print("[/x] :key: \x1b[2J")
    assert capsys.readouterr().err == "[/x] :key: ⟨U+001B⟩[2J\n"


def test_json_text() -> None:
    value = {"a": [-0.0, float("inf"), 1e-320, "-0.0"], "b": ("\ud800", "\u2028", "é")}
    text = json_text(value)
    assert text.encode()
    assert "é" in text
    assert json.loads(text) == {"a": [0.0, None, 1e-320, "-0.0"], "b": ["\ud800", "\u2028", "é"]}
    assert "-0.0," not in text


@pytest.mark.parametrize("text", ["👩\u200d👩\u200d👧", "می\u200cخواهم", "plain text", "é", "日本"])
def test_what_people_write_is_left_alone(text: str) -> None:
    assert visible(text) == text
