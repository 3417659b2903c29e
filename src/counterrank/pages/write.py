"""Pages as files, never larger than anyone can mail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterrank.errors import InputError
from counterrank.log.write import check_place
from counterrank.output import write
from counterrank.report import LARGEST

if TYPE_CHECKING:
    from counterrank.engine import Engine
    from counterrank.judging.judged import Judged
    from counterrank.setting.question import Question

SIZES = ((600, 2000), (300, 500), (80, 120), (20, 64))  # rows of the table of queries, characters of an id


def check_page(path: Path, option: str = "report") -> None:
    """Refuse early what could not be written late."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{option} {path}: unknown kind of file: expected a name that ends with .html")
    check_place(path, option)


def write_page(
    result: Judged, path: Path, command: str | None, question: Question | None, engine: str | Engine
) -> Path:
    """`question`: to the log that is read again, where it is there."""
    check_page(path)
    from counterrank.comparing.comparison import Comparison
    from counterrank.pages.comparison import ComparisonPage
    from counterrank.pages.evaluation import EvaluationPage

    made: Any = ComparisonPage if isinstance(result, Comparison) else EvaluationPage
    page = made(result, command, question, engine)
    for rows, longest in SIZES:
        content = page.render(rows, longest).encode()
        if len(content) < LARGEST:
            break
    write(path, content)
    return path
