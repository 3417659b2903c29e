"""What an evaluation and a comparison have in common."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from counterrank.engine import Engine
from counterrank.findings.diagnosis import Diagnosis
from counterrank.log import Reading, read_log
from counterrank.records import dataclass
from counterrank.result.answer import Answer
from counterrank.words import counted

if TYPE_CHECKING:
    from counterrank.setting.asked import Asked


@dataclass(frozen=True, repr=False, kw_only=True)
class Judged(Answer):
    """Policies judged by a log: how much of it counts, and whether to trust what it says."""

    impressions: int
    queries: int
    positions: int
    metric: str
    covered: float
    per_query: pa.Table
    reading: Reading
    notes: list[str] = field(default_factory=list)
    model: dict[str, Any] | None = None  # the regression, where an estimator has one
    diagnosis: Diagnosis | None = None
    asked: Asked = field(compare=False)  # for a page or a picture

    @property
    def unit(self) -> str:
        """What a value counts."""
        return self.asked.unit

    def report(
        self, path: str | Path, command: str | None = None, *, log: Any = None, engine: str | Engine = "duckdb"
    ) -> Path:
        """Write one HTML page with all that there is to say; `command` is shown as the way to get it again.

        A result does not keep its log: rankings of single queries and a backtest are on the page if `log` is given,
        which is then read again.
        """
        from counterrank.pages.write import write_page

        question = None if log is None else self.asked.question(log=read_log(log).again(self.reading))
        return write_page(self, Path(path), command, question, engine)

    def _size(self) -> str:
        share = f", {self.covered:.1%} of the log" if self.covered < 1 else ""
        of = f"{counted(self.impressions, 'impression')} of {counted(self.queries, 'query', 'queries')}"
        return f"{of}{share}, {counted(self.positions, 'position')}"

    def _trust(self) -> dict[str, Any] | None:
        return self.diagnosis.to_dict() if self.diagnosis is not None else None

    def _told(self) -> list[str]:
        return self.diagnosis.told() if self.diagnosis is not None else []
