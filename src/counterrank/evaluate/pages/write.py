"""Pages as files, never larger than anyone can mail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from counterrank.errors import InputError
from counterrank.log.write import check_place
from counterrank.output import write
from counterrank.report import LARGEST

if TYPE_CHECKING:
    from counterrank.evaluate.comparison import Comparison
    from counterrank.evaluate.pages.asked import Asked
    from counterrank.evaluate.result import Evaluation

SIZES = ((600, 2000), (300, 500), (80, 120), (20, 64))  # rows of the table of queries, characters of an id


class Page(Protocol):
    def render(self, rows: int, longest: int) -> str: ...


def check_page(path: Path, option: str = "report") -> None:
    """Refuse early what could not be written late."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{option} {path}: unknown kind of file: expected a name that ends with .html")
    check_place(path, option)


def write_evaluation(result: Evaluation, path: str | Path, command: str | None = None) -> Path:
    from counterrank.evaluate.pages.evaluation import EvaluationPage

    return _write(EvaluationPage(result, _known(result.asked), command), path)


def write_comparison(result: Comparison, path: str | Path, command: str | None = None) -> Path:
    from counterrank.evaluate.pages.comparison import ComparisonPage

    return _write(ComparisonPage(result, _known(result.asked), command), path)


def _known(asked: Asked | None) -> Asked:
    if asked is None:
        raise InputError("this result does not know its log: make it with evaluate or compare, then ask for the report")
    return asked


def _write(page: Page, path: str | Path) -> Path:
    file = Path(path)
    for rows, longest in SIZES:
        content = page.render(rows, longest).encode()
        if len(content) < LARGEST:
            break
    write(file, content)
    return file
