"""Code that comes with the package is found wherever that is installed, and only where it fits."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from counterrank.compiled import ahead
from counterrank.errors import InputError
from output.test_compiled import SOURCE, USE, run

FROM = "from counterrank.compiled import ahead; ahead.FOLDER = {folder!r}; {more}; " + USE
INTO = "from counterrank.compiled import collect; collect({folder!r}); " + USE


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A source, and what was compiled ahead from it."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("ahead")
    (source / "mod.py").write_text(SOURCE)
    assert run(source, INTO.format(folder=str(folder))) == ("6", "4.0", 0)
    assert not (source / "__pycache__").exists()  # all of it went into the folder
    assert len([path for path in folder.iterdir() if ".twice." in path.name]) == 2
    return source, folder


def test_it_is_found_wherever_the_source_lies(made: tuple[Path, Path], tmp_path: Path) -> None:
    source, folder = made
    shutil.copytree(source, tmp_path / "elsewhere")
    asked = FROM.format(folder=str(folder), more="pass")
    assert run(tmp_path / "elsewhere", asked, NUMBA_CACHE_DIR=str(tmp_path / "cold")) == ("6", "4.0", 2)


@pytest.mark.parametrize("case", ["another source", "an older processor", "damaged"])
def test_else_it_is_compiled(made: tuple[Path, Path], tmp_path: Path, case: str) -> None:
    source, folder = (Path(shutil.copytree(each, tmp_path / each.name)) for each in made)
    if case == "another source":
        (source / "mod.py").write_text(SOURCE + "# changed\n")
    if case == "damaged":
        for path in folder.iterdir():
            path.write_bytes(path.read_bytes()[:-1])
    older = "ahead.features = lambda: {'sse3'}; ahead._KINDS = dict.fromkeys(ahead._KINDS, ('sse4',))"
    asked = FROM.format(folder=str(folder), more=older if case == "an older processor" else "pass")
    assert run(source, asked, NUMBA_CACHE_DIR=str(tmp_path / "cold")) == ("6", "4.0", 0)


def test_a_process_that_has_numba_already_cannot_make_it(tmp_path: Path) -> None:
    import numba  # noqa: F401

    with pytest.raises(InputError, match="in a process of its own"):
        ahead.collect(str(tmp_path / "ahead"))
    assert ahead.collecting() is None
