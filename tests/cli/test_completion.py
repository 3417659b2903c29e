"""Shells complete commands and options, and say how to install that."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-m", "counterrank"]


def run(*words: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert done.stderr.count("\n") <= 1
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("counterrank ev", ["evaluate"]),
        ("counterrank evaluate log.csv --per", ["--per-query"]),
        ("counterrank compare --bad", ["--bad-rows"]),
    ],
)
def test_words_are_completed(typed: str, found: list[str]) -> None:
    asked = {"_COUNTERRANK_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    assert run(**asked) == (0, "\n".join(found) + "\n")


def test_the_script_for_a_shell() -> None:
    hidden = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    code, script = run("--show-completion", "bash", **hidden)
    assert (code, "_COUNTERRANK_COMPLETE=complete_bash" in script) == (0, True)
    assert run("--show-completion", "nosuch", **hidden) == (2, "")
    assert run(_COUNTERRANK_COMPLETE="complete_nosuch") == (2, "")
    assert run(_COUNTERRANK_COMPLETE="nonsense") == (2, "")
