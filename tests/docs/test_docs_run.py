"""The examples run, and give what the pages say they give."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from pages import PAGES, ROOT, blocks, name_of
from typer.testing import CliRunner

from counterrank.cli import app
from counterrank.estimate import ESTIMATORS

README = ROOT / "README.md"
WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]
WITH_CONSOLE = [page for page in PAGES if blocks(page, "console")]


def counterrank(command: str) -> str:
    """What a command prints where nobody looks: 80 columns, no colours."""
    words = shlex.split(command)
    assert words[0] == "counterrank"
    result = CliRunner().invoke(app, words[1:], env={"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"})
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the README's first command makes."""
    folder = tmp_path_factory.mktemp("docs")
    first = blocks(README, "console")[0].text.splitlines()[0].removeprefix("$ ")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        counterrank(first)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh folder with links to those files; what an example registers is forgotten afterwards."""
    for file in made.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    kept = dict(ESTIMATORS)
    yield tmp_path
    ESTIMATORS.clear()
    ESTIMATORS.update(kept)


@pytest.mark.parametrize("page", WITH_CONSOLE, ids=name_of)
def test_commands_print_what_the_page_shows(page: Path, folder: Path) -> None:
    """Whitespace does not count; a line with … alone stands for lines left out."""
    for block in blocks(page, "console"):
        head, _, shown = block.text.partition("\n")
        real = _bare(counterrank(head.removeprefix("$ ")))
        pieces = [_bare(piece) for piece in re.split(r"^…$", shown, flags=re.M)]
        at = 0
        for number, piece in enumerate(pieces):
            found = real.find(piece, at)
            assert found >= 0, f"{head}: not in the output any more:\n{piece}"
            assert found == 0 or number > 0, f"{head}: the output starts otherwise"
            at = found + len(piece)
        assert at == len(real) or not pieces[-1], f"{head}: the output goes on:\n{real[at:]}"


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_python_gives_what_the_page_says(page: Path, folder: Path) -> None:
    """Blocks of a page run one after the other; `expression  # -> repr` is checked."""
    names: dict[str, Any] = {"__name__": "docs"}
    for block in blocks(page, "python"):
        checked = 0
        for statement in ast.parse(block.text).body:
            said = _said(block.text.splitlines()[statement.end_lineno - 1])
            if said is None or not isinstance(statement, ast.Expr):
                code = compile(ast.Module([statement], []), name_of(page), "exec")
                exec(code, names)  # noqa: S102 - our own documentation
                continue
            code = compile(ast.Expression(statement.value), name_of(page), "eval")
            assert repr(eval(code, names)) == said, ast.unparse(statement)  # noqa: S307
            checked += 1
        assert checked == block.text.count("# -> "), "a result is shown where there is no expression to check"


def _said(line: str) -> str | None:
    _, arrow, said = line.partition("# -> ")
    return said.strip() if arrow else None


def _bare(text: str) -> str:
    return re.sub(r"\s+", "", text)
