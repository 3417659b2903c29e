"""The file that takes bad rows: whole, or not there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from counterrank.log.originals import as_json
from counterrank.log.problems import MESSAGES, RowProblem
from counterrank.output import is_special, writing
from counterrank.records import dataclass


@dataclass(frozen=True)
class Quarantine:
    """Bad rows as JSON Lines."""

    file: BinaryIO

    def write(self, file: str, row: int | None, problem: RowProblem, content: Any, times: int = 1) -> None:
        """A bad row as its file has it; `times` for rows that are alike."""
        record = {"file": file, "row": row, "problem": MESSAGES[problem], "content": content}
        line = (as_json(record) + "\n").encode(errors="backslashreplace")
        for _ in range(times):
            self.file.write(line)


@contextmanager
def quarantine(path: Path, joins: bool) -> Iterator[Quarantine]:
    """A file for bad rows, there when the pass ends well; with `joins`, those of another log stay in it."""
    with writing(path, "`bad_rows`") as file:
        if joins and path.exists() and not is_special(path):
            with path.open("rb") as before:
                shutil.copyfileobj(before, file)
        yield Quarantine(file)
