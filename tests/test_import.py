"""Starting is quick: what is slow to import comes when it is needed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

COMMANDS = "from counterrank.cli import COMMANDS, function; [function(name) for name in COMMANDS]"
HEAVY = {"numba", "duckdb", "pyarrow", "numpy", "scipy", "sklearn", "ibis", "pandas", "lightgbm", "pydantic"}


def test_the_commands_do_not_import_what_is_slow() -> None:
    slow = {"scipy.optimize", "pandas", "ibis", "pyspark", "altair"}
    code = f"import sys; {COMMANDS}; print(sorted({slow!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "words",
    [["nosuch"], ["evaluate"], ["evaluate", "x", "--nosuch"], ["check", "x", "y"], ["optimize", "x", "--top"]],
    ids=" ".join,
)
def test_what_is_misspelt_is_refused_before_the_engine_is_imported(words: list[str]) -> None:
    code, imported = _imported(*words)
    assert code == 2
    assert "counterrank.cli" in imported
    assert imported & HEAVY == set()


@pytest.mark.parametrize("words", [["--version"], ["--help"], []], ids=" ".join)
def test_the_version_and_the_help_need_no_parser(words: list[str]) -> None:
    code, imported = _imported(*words)
    assert code == 0
    assert imported & (HEAVY | {"typer", "rich"}) == set()


def test_the_help_of_a_command_does_not_import_the_engine() -> None:
    code, imported = _imported("evaluate", "--help")
    assert code == 0
    assert imported & HEAVY == set()


def test_a_parquet_log_is_judged_without_what_it_does_not_need(tmp_path: Path) -> None:
    rows = {
        "query": ["q"] * 40,
        "items": [["a", "b"], ["b", "a"]] * 20,
        "clicks": [[1, 0], [0, 1], [0, 0], [0, 1]] * 10,
    }
    pq.write_table(pa.table(rows), tmp_path / "log.parquet")
    pq.write_table(pa.table({"query": ["q"], "items": [["a", "b"]]}), tmp_path / "new.parquet")
    code, imported = _imported("evaluate", str(tmp_path / "log.parquet"), "--target", str(tmp_path / "new.parquet"))
    assert code == 0
    assert imported & {"pandas.core", "duckdb", "ibis", "sklearn", "lightgbm", "pyspark"} == set()


def _imported(*words: str) -> tuple[int, set[str]]:
    """The exit code of a command, and the modules that it imported."""
    command = [sys.executable, "-X", "importtime", "-m", "counterrank", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return done.returncode, {line.rpartition("|")[2].strip() for line in lines}


def test_commands_are_completed_without_the_engine() -> None:
    asked = {"_COUNTERRANK_COMPLETE": "complete_bash", "COMP_WORDS": "counterrank ev", "COMP_CWORD": "1"}
    code = "import sys, atexit; atexit.register(lambda: print(sorted({'numba', 'duckdb'} & set(sys.modules))));"
    code += "from counterrank.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **asked}
    )
    assert (done.returncode, done.stdout) == (0, "evaluate\n[]\n")


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs the processor time of a process")
def test_the_version_takes_a_fraction_of_the_time_of_a_command() -> None:
    version = min(_seconds("--version") for _ in range(3))
    assert version < 0.5 * min(_seconds("evaluate", "--help") for _ in range(2))


def _seconds(*words: str) -> float:
    """The processor time of a command."""
    process = subprocess.Popen([sys.executable, "-m", "counterrank", *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime


def test_all_public_names_are_there() -> None:
    code = "import counterrank as cr; assert dir(cr) == sorted(cr.__all__); "
    code += "from counterrank import *; print(evaluate.__module__, policy.__name__); "
    code += "[getattr(cr, name) for name in cr.__all__]; cr.nosuch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "counterrank.judging.evaluate counterrank.policy\n"
    assert "module 'counterrank' has no attribute 'nosuch'" in done.stderr
