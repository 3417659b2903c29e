"""How the tests themselves run: those of a file, and Spark's, on one worker, hypothesis the same way every time."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

HERE = Path(__file__).parent
TESTS = """
import os
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("kind", ["plain", pytest.param("local[2]", id="spark", marks=pytest.mark.spark)])
def test_one(number, kind):
    with Path("workers.txt").open("a") as file:
        file.write(kind + " " + os.environ["PYTEST_XDIST_WORKER"] + " " + Path(__file__).name + chr(10))
"""


def test_sparks_tests_stay_on_one_worker_and_those_of_a_file(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    for name in ("test_some.py", "test_others.py"):
        (tmp_path / name).write_text(TESTS)
    (tmp_path / "conftest.py").write_text((HERE / "conftest.py").read_text())
    (tmp_path / "pyproject.toml").write_text((HERE.parent / "pyproject.toml").read_text())
    words = [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", "."]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(words, cwd=tmp_path, env=plain, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split() for line in (tmp_path / "workers.txt").read_text().splitlines()]
    assert len(lines) == 24
    assert len({worker for kind, worker, _ in lines if kind == "local[2]"}) == 1
    for each in ("test_some.py", "test_others.py"):
        assert len({worker for kind, worker, file in lines if (kind, file) == ("plain", each)}) == 1
    assert len({worker for _, worker, _ in lines}) == 2  # which of them takes the plain ones is a matter of speed


def test_files_that_are_dealt_out_are_there() -> None:
    dealt_out = runpy.run_path(str(HERE / "conftest.py"))["LONG"]
    assert dealt_out
    assert [name for name in dealt_out if not (HERE.parent / name).is_file()] == []


def test_hypothesis_draws_the_same_every_time() -> None:
    def drawn() -> list[int]:
        found: list[int] = []

        @settings(max_examples=20)
        @given(st.integers())
        def look(number: int) -> None:
            found.append(number)

        look()
        return found

    assert settings.default is not None
    assert settings.default.derandomize
    assert drawn() == drawn()
