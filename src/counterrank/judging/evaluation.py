"""An evaluation as a table, as JSON and in a notebook."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from counterrank.errors import unknown
from counterrank.findings.diagnosis import Tail
from counterrank.judging.judged import Judged
from counterrank.judging.remarks import FEW, repeats_a_column
from counterrank.records import dataclass
from counterrank.result.row import Row
from counterrank.words import level, number, percent, plain_zero

if TYPE_CHECKING:
    from counterrank.report import Picture


LOST = 0.5  # of the target, from which an estimate says nothing of it


@dataclass(frozen=True, repr=False, kw_only=True)
class Evaluation(Judged):
    """The value of a target policy, by several estimators; prints and renders as a table."""

    listed = "estimates"
    rows: list[Row]
    examination: dict[str, Any] | None = None  # kind, curve, stderr
    tails: dict[str, Tail] = field(default_factory=dict)  # by estimator
    days: pa.Table | None = None  # day, impressions, mean, stderr: the log's reward day by day, where it has days
    every: bool = False  # no estimator was named: those that say nothing need no row of the table for people
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

    def headline(self) -> str | None:
        found = self.diagnosis
        if found is None:
            return None
        if found.estimator is None or found.verdict == "do not trust":
            return f"Cannot tell what the target is worth: {found.reason}."
        row = self[found.estimator]
        much = f"{number(row.value)} {self.unit} ({level(row.confidence)}: {number(row.lower)} … {number(row.upper)})"
        how = {"trust": "trust it", "caution": f"with caution, {found.reason}"}[found.verdict]
        return f"The target is worth {much} by {row.estimator}: {how}."

    def summary(self) -> str:
        return f"{self.unit}: {self._size()}"

    def _silent(self) -> list[Row]:
        """Estimates that say nothing, where others do and nobody asked for them by name."""
        out = [row for row in self.rows if not says_something(row)] if self.every else []
        return out if len(out) < len(self.rows) else []

    def quiet(self) -> list[str]:
        said: dict[str, list[str]] = {}
        for row in self._silent():
            said.setdefault(_why(row), []).append(row.estimator)
        return [
            f"{', '.join(names)}: {'say' if len(names) > 1 else 'says'} nothing here, {why}"
            for why, names in said.items()
        ]

    def cells(self) -> tuple[list[str], list[list[str]]]:
        sure, silent = level(self.rows[0].confidence) if self.rows else "", self._silent()
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
            if row not in silent
        ]
        return header, body

    def remarks(self) -> list[str]:
        """The verdict with its doubts, then warnings and notes."""
        return [*self._told(), *self.said()]

    def said(self) -> list[str]:
        """Warnings and notes, each once: those that several estimators share together, those that a column says not."""
        by_text: dict[str, list[str]] = {}
        silent = self._silent()
        for row in self.rows:
            for text in row.warnings:
                if row not in silent and not repeats_a_column(text):
                    by_text.setdefault(text, []).append(row.estimator)
        return [f"{', '.join(names)}: {text}" for text, names in by_text.items()] + [*self.notes, self.reading.line()]


def says_something(row: Row) -> bool:
    """Whether an estimate has a value that enough impressions carry, of a target that the log mostly shows."""
    carried = (row.effective_sample_size or 0.0) >= FEW and row.unsupported < LOST
    return row.value is not None and row.lower is not None and carried


def _why(row: Row) -> str:
    if row.value is None:
        return "undefined"
    size = row.effective_sample_size
    if size is None or size < FEW:
        return f"{size or 0.0:,.0f} impressions' worth of evidence"
    return f"the log never shows {percent(row.unsupported)} of the target"
