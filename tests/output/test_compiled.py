"""Compiled functions are kept where they can be, by whoever may, and never stop a run."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import counterrank
from counterrank import compiled
from counterrank.compiled import folders, function

SOURCE = """
from counterrank.compiled import njit

@njit()
def twice(x):
    return 2 * x + helper(x)

@njit()
def helper(x):
    return x - x
"""
USE = "import mod; from counterrank.compiled import made; print(mod.twice(3), mod.twice(2.0), 2 - made())"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "mod.py").write_text(SOURCE)
    return folder


def use(source: Path, **environment: str) -> tuple[str, str, int]:
    """The two values and how many of them were compiled before."""
    return run(source, USE, **environment)


def run(source: Path, code: str, **environment: str) -> tuple[str, str, int]:
    """The same, by this code."""
    before = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    paths = os.pathsep.join([str(source), *sys.path])
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        env={**before, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    one, two, hits = done.stdout.split()
    return one, two, int(hits)


def test_kept_beside_the_source_and_made_anew_when_it_changes(source: Path) -> None:
    assert use(source) == ("6", "4.0", 0)
    assert use(source) == ("6", "4.0", 2)
    kept = sorted((source / "__pycache__").glob("*.compiled"))
    assert len([path for path in kept if ".twice." in path.name]) == 2
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in kept)
    (source / "mod.py").write_text(SOURCE.replace("2 * x", "3 * x"))
    assert use(source) == ("9", "6.0", 0)
    assert len(list((source / "__pycache__").glob("*.compiled"))) == len(kept)  # nothing old is left


def test_a_change_in_what_is_called_counts(source: Path) -> None:
    one, two = SOURCE.split("@njit()\ndef helper")
    (source / "low.py").write_text("from counterrank.compiled import njit\n@njit()\ndef helper" + two)
    (source / "mod.py").write_text("from low import helper\n" + one)
    assert use(source) == ("6", "4.0", 0)
    assert use(source) == ("6", "4.0", 2)
    (source / "low.py").write_text("from counterrank.compiled import njit\n@njit()\ndef helper(x):\n    return x\n")
    assert use(source) == ("9", "6.0", 0)


@pytest.mark.slow  # five processes
def test_what_is_damaged_is_made_anew(source: Path) -> None:
    use(source)
    for damages in (("empty", "cut"), ("garbage", "flipped")):  # one for each of the two that are called
        for path in (source / "__pycache__").glob("*.helper.*.compiled"):
            path.unlink()
        called = sorted((source / "__pycache__").glob("*.twice.*.compiled"))
        for path, damage in zip(called, damages, strict=True):
            content = path.read_bytes()
            middle = len(content) // 2
            flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
            path.write_bytes({"empty": b"", "cut": content[:-9], "garbage": b"x" * 99, "flipped": flipped}[damage])
        assert use(source) == ("6", "4.0", 0)
    assert use(source) == ("6", "4.0", 2)


def test_two_first_runs_at_once(source: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), *sys.path])}
    command = [sys.executable, "-B", "-c", USE]
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [each.communicate()[0].split() for each in both]
    assert [each[:2] for each in told] == [["6", "4.0"]] * 2
    assert sum(int(each[2]) for each in told) == 2  # each of the two was compiled by one, and the other waited for it
    assert use(source) == ("6", "4.0", 2)
    assert not [path for path in (source / "__pycache__").iterdir() if path.suffix not in (".compiled", ".pyc")]


@pytest.mark.slow  # a process for each
def test_folders_in_their_order(source: Path, tmp_path: Path) -> None:
    (source / "__pycache__").write_text("a file, where no folder can be")
    cache, home, temporary = (tmp_path / name for name in ("cache", "home", "tmp"))
    home.mkdir()
    temporary.mkdir(mode=0o700)
    everywhere = {"XDG_CACHE_HOME": str(cache), "HOME": str(home), "TMPDIR": str(temporary)}
    use(source, **everywhere, NUMBA_CACHE_DIR=str(tmp_path / "numba"))
    assert list((tmp_path / "numba").glob("counterrank-*/*.compiled"))
    assert not cache.exists()
    use(source, **everywhere)
    assert list((cache / "counterrank").glob("*/*.compiled"))
    assert stat.S_IMODE(next((cache / "counterrank").iterdir()).stat().st_mode) == 0o700
    shutil.rmtree(cache)
    cache.write_text("")
    use(source, **everywhere)
    assert use(source, **everywhere)[2] == 2
    assert [path.name for path in temporary.iterdir()] == [f"counterrank-compiled-{os.getuid()}"]
    home.rmdir()
    use(source, HOME=str(home), TMPDIR=str(temporary))
    assert not home.exists()
    home.write_text("")
    nowhere = {"XDG_CACHE_HOME": str(cache), "HOME": str(home), "TMPDIR": "/no/such", "TMP": "/no", "TEMP": "/no"}
    assert use(source, **nowhere)[:2] == ("6", "4.0")


def test_the_command_starts_where_nothing_can_be_kept(tmp_path: Path) -> None:
    """A read-only installation and home, made so that root cannot write there either."""
    package = Path(counterrank.__file__).parent
    shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [path.parent for path in (tmp_path / package.name).rglob("*.py")]:
        (folder / "__pycache__").write_text("a file, where no folder can be")
    (tmp_path / "home").write_text("")
    environment = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "TMPDIR")}
    for name in ("HOME", "XDG_CACHE_HOME"):
        environment[name] = str(tmp_path / "home")
    done = subprocess.run(
        [sys.executable, "-m", "counterrank", "--version"],
        env={**environment, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_no_folder_of_others(tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    ours.mkdir(mode=0o700)
    assert folders._trusted(str(ours))
    for mode in (0o770, 0o702, 0o777, 0o1777):
        ours.chmod(mode)
        assert not folders._trusted(str(ours))
    ours.chmod(0o700)
    (tmp_path / "link").symlink_to(ours)
    assert not folders._trusted(str(tmp_path / "link"))
    tmp_path.chmod(0o777)
    assert not folders._trusted(str(ours))  # it could be moved away, and another put in its place
    tmp_path.chmod(0o1777)
    assert folders._trusted(str(ours))


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can give a folder away")
def test_no_folder_that_someone_else_owns(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, 12345, 12345)
    assert not folders._trusted(str(theirs))


def test_nowhere_to_keep_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "_folders", lambda source, name: iter(["/proc/no", "/dev/null/no"]))
    folders.place.cache_clear()
    try:
        assert compiled.place("/no/such/source") is None
        assert compiled.njit()(lambda x: x + 1)(1) == 2
    finally:
        folders.place.cache_clear()


def test_no_pickle_is_opened_anywhere_else() -> None:
    home = Path(counterrank.__file__).parent
    opens = re.compile(
        r"\b(pickle|marshal|shelve|joblib|cloudpickle)\.\w*|allow_pickle=True|read_pickle|serialize import loads"
    )
    found = {path.relative_to(home).as_posix() for path in home.rglob("*.py") if opens.search(path.read_text())}
    assert found == {"compiled/machine.py"}


def test_all_of_ours_is_kept_that_way() -> None:
    sources = Path(counterrank.__file__).parent.rglob("*.py")
    own = [path.name for path in sources if "from numba import" in path.read_text(encoding="utf-8")]
    assert own == [], "use counterrank.compiled.njit"
    with pytest.raises(TypeError):
        compiled.njit(cache=True)


def test_a_single_row_is_as_many_rows() -> None:
    """Its columns are in a row in memory too, which makes no other code of it: nothing is compiled twice."""
    one, many = np.zeros((1, 3)), np.zeros((2, 3))
    assert (
        function.kind(one) == function.kind(many) == function.kind(np.zeros((0, 3))) == function.kind(np.zeros((2, 1)))
    )
    assert len({function.kind(each) for each in (many, np.asfortranarray(many), np.zeros((4, 6))[::2, ::2])}) == 3
    many.flags.writeable = False
    assert function.kind(one) != function.kind(many)
    for array in (one, many, np.zeros((2, 1)), np.asfortranarray(np.zeros((2, 3)))):  # as Numba tells them apart
        assert (numba.typeof(array) == numba.typeof(one)) == (function.kind(array) == function.kind(one))
