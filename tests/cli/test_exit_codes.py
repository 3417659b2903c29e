"""Exit codes: 0 done, 1 no, 2 bad input, 128 + n for signals, 141 for a closed pipe; never a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from seeds import seeds

COMMAND = [sys.executable, "-m", "counterrank"]
IMPORTING = """
import os, signal, sys, time
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == slow:
            os.kill(os.getpid(), int(number)); time.sleep(10)
_, number, slow = sys.argv
sys.argv = ["counterrank", "check", "nosuch.parquet"]
sys.meta_path.insert(0, Finder())
from counterrank.cli import main
main()
"""
GATE = "compare {log} --target logging --require-improvement 5"  # the answer is no


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("codes") / "log.jsonl"
    rows = [
        '{"query": "q", "items": ["a", "b"], "clicks": [1, 0]}',
        '{"query": "q", "items": ["b", "a"], "clicks": [0, 1]}',
    ]
    path.write_text("\n".join(rows * 20) + "\n")
    return path


def shell(line: str, log: Path) -> tuple[int, str]:
    """The exit code of the first command of a line of the shell, and its stderr."""
    line = line.replace("counterrank", f"{sys.executable} -m counterrank").format(log=log)
    script = f"{line}\nexit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("line", "code"),
    seeds(
        [
            (f"counterrank {GATE} | true", 141),
            (f"counterrank {GATE} > /dev/full", 2),
            ("counterrank --help | true", 141),
            ("counterrank check no-such-log 2>/dev/full", 2),
            (f"counterrank {GATE}", 1),
            (f"counterrank {GATE} --json | true", 141),
            ("counterrank check no-such-log 2>&1 >/dev/null | true", 141),
            ("counterrank check {log} >&- 2>&-", 0),
        ],
        4,
    ),
)
def test_closed_and_full(line: str, code: int, log: Path) -> None:
    found, stderr = shell(line, log)
    assert found == code
    assert "Traceback" not in stderr
    assert "Exception ignored" not in stderr
    assert stderr.count("\n") <= 1


def _heeding() -> None:
    """Interrupts are heeded, though whoever runs the tests in the background may ignore them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("slow", ["typer", "pyarrow"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_while_importing(number: int, slow: str) -> None:
    command = [sys.executable, "-c", IMPORTING, str(int(number)), slow]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=_heeding)
    assert done.returncode == 128 + number
    assert done.stderr == "counterrank: stopped\n"


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    program = IMPORTING.replace("import os", "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); import os")
    program = program.replace("sleep(10)", "sleep(0.1)")
    command = [sys.executable, "-c", program, str(int(signal.SIGHUP)), "pyarrow"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2  # it goes on to what it finds
    assert "no such file" in done.stderr


def test_a_program_that_imports_the_package_keeps_its_own_signals() -> None:
    program = "import signal, counterrank; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, preexec_fn=_heeding)
    assert done.stdout == "True\n"


def test_nothing_typed_shows_the_help() -> None:
    done = subprocess.run(COMMAND, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "100"})
    assert "Usage: counterrank" in done.stdout
    assert "evaluate" in done.stdout
    assert done.stderr == ""
