"""An evaluation as a table, as JSON and in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from counterrank.errors import unknown
from counterrank.findings.diagnosis import Tail
from counterrank.judging.judged import Judged
from counterrank.result.row import Row
from counterrank.words import level, number, plain_zero

if TYPE_CHECKING:
    from counterrank.report import Picture


@dataclass(frozen=True, repr=False, kw_only=True)
class Evaluation(Judged):
    """The value of a target policy, by several estimators; prints and renders as a table."""

    listed = "estimates"
    rows: list[Row]
    examination: dict[str, Any] | None = None  # kind, curve, stderr
    tails: dict[str, Tail] = field(default_factory=dict)  # by estimator
    days: pa.Table | None = None  # day, impressions, mean, stderr: the log's reward day by day, where it has days
    curve: pa.Table | None = None  # position, impressions, rate (of clicks), examination (that pbm uses)

    def value(self, estimator: str) -> float | None:
        return self[estimator].value

    def __getitem__(self, estimator: str) -> Row:
        for row in self.rows:
            if row.estimator == estimator:
                return row
        raise unknown("estimator", estimator, [row.estimator for row in self.rows])

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.reading.to_dict(),
            **{name: getattr(self, name) for name in ("impressions", "queries", "positions", "metric", "covered")},
            "estimates": [row.to_dict() for row in self.rows],
            "examination": self.examination,
            "model": self.model,
            "notes": self.notes,
            "verdict": self._trust(),
        }

    def plot(self) -> Picture:
        """Every estimate with its interval, beside the log's own mean."""
        from counterrank.pages.pictures import plot_evaluation

        return plot_evaluation(self)

    def summary(self) -> str:
        return f"{self.metric}: {self._size()}"

    def cells(self) -> tuple[list[str], list[list[str]]]:
        sure = level(self.rows[0].confidence) if self.rows else ""
        header = ["estimator", "value", f"{sure} interval", "± se", "eff. size", "clipped", "unsupported"]
        body = [
            [
                row.estimator,
                number(row.value),
                f"{number(row.lower)} … {number(row.upper)}" if row.lower is not None else "–",
                number(row.stderr, 2),
                f"{row.effective_sample_size:,.0f}" if row.effective_sample_size is not None else "–",
                plain_zero(f"{row.clipped:.1%}"),
                plain_zero(f"{row.unsupported:.1%}"),
            ]
            for row in self.rows
        ]
        return header, body

    def remarks(self) -> list[str]:
        """The verdict with its doubts, then warnings and notes."""
        return [*self._told(), *self.said()]

    def said(self) -> list[str]:
        """Warnings and notes, each once: warnings that several estimators share are said together."""
        by_text: dict[str, list[str]] = {}
        for row in self.rows:
            for text in row.warnings:
                by_text.setdefault(text, []).append(row.estimator)
        return [f"{', '.join(names)}: {text}" for text, names in by_text.items()] + [*self.notes, self.reading.line()]
