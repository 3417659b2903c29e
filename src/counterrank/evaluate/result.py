"""An evaluation as a table, as JSON and in a notebook."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from counterrank.errors import InputError, unknown
from counterrank.evaluate.diagnosis import Diagnosis, Tail
from counterrank.evaluate.tabular import Tabular
from counterrank.limits import NOISE
from counterrank.log import Reading
from counterrank.log.foreign import counted
from counterrank.screen import json_text, plain_zero

if TYPE_CHECKING:
    from counterrank.evaluate.pages.asked import Asked
    from counterrank.report import Picture


@dataclass(frozen=True)
class PageRow:
    """What `pi` and `wpi` add: how far target and logging policy are apart, and theorem 3's bound on `pi`'s error."""

    sigma2: float | None
    rho: float | None
    rho_bar: float | None
    kappa: float | None
    deviation: float | None


@dataclass(frozen=True)
class Row:
    """One estimator's answer."""

    estimator: str
    value: float | None
    stderr: float | None
    lower: float | None
    upper: float | None
    confidence: float
    interval: str
    effective_sample_size: float | None
    clipped: float
    unsupported: float
    warnings: list[str] = field(default_factory=list)
    page: PageRow | None = None
    clip: float | None = None  # the largest weight; none for no clip

    def to_dict(self) -> dict[str, Any]:
        """As in JSON: what only `pi` and `wpi` have stands beside the rest."""
        fields = asdict(self)
        return fields | (fields.pop("page") or {})


@dataclass(frozen=True, repr=False)
class Evaluation(Tabular):
    """The value of a target policy, by several estimators; prints and renders as a table."""

    impressions: int
    queries: int
    positions: int
    metric: str
    covered: float
    rows: list[Row]
    notes: list[str]
    per_query: pa.Table
    reading: Reading
    examination: list[float] | None = None
    model: dict[str, Any] | None = None
    diagnosis: Diagnosis | None = None
    tails: dict[str, Tail] = field(default_factory=dict)  # by estimator
    days: pa.Table | None = None  # day, impressions, mean, stderr: the log's reward day by day, where it has days
    curve: pa.Table | None = None  # position, impressions, rate (of clicks), examination (that pbm uses)
    asked: Asked | None = field(default=None, repr=False, compare=False)  # for a page or a picture

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
            "impressions": self.impressions,
            "queries": self.queries,
            "positions": self.positions,
            "metric": self.metric,
            "covered": self.covered,
            "estimates": [row.to_dict() for row in self.rows],
            "examination": self.examination,
            "model": self.model,
            "notes": self.notes,
            "verdict": self.diagnosis.to_dict() if self.diagnosis is not None else None,
        }

    def to_json(self) -> str:
        return json_text(self.to_dict())

    def to_arrow(self) -> pa.Table:
        rows = [row.to_dict() for row in self.rows]
        every = dict.fromkeys(name for row in rows for name in row)
        return pa.Table.from_pylist([{name: row.get(name) for name in every} for row in rows])

    def to_pandas(self) -> Any:
        return need("pandas") and self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        return need("polars").from_arrow(self.to_arrow())

    def plot(self) -> Picture:
        """Every estimate with its interval, beside the log's own mean."""
        from counterrank.evaluate.pages.pictures import plot_evaluation

        return plot_evaluation(self)

    def report(self, path: str | Path, command: str | None = None) -> Path:
        """Write one HTML page with all that there is to say; `command` is shown as the way to get it again."""
        from counterrank.evaluate.pages.write import check_page, write_evaluation

        check_page(Path(path))
        return write_evaluation(self, path, command)

    def summary(self) -> str:
        share = f", {self.covered:.1%} of the log" if self.covered < 1 else ""
        of = f"{counted(self.impressions, 'impression')} of {counted(self.queries, 'query', 'queries')}"
        return f"{self.metric}: {of}{share}, {counted(self.positions, 'position')}"

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The table for people: header and rows."""
        level = f"{100 * self.rows[0].confidence:.10g}%" if self.rows else ""
        header = ["estimator", "value", f"{level} interval", "± se", "eff. size", "clipped", "unsupported"]
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
        return [*(self.diagnosis.told() if self.diagnosis is not None else []), *self.said()]

    def said(self) -> list[str]:
        """Warnings and notes, each once: warnings that several estimators share are said together."""
        by_text: dict[str, list[str]] = {}
        for row in self.rows:
            for text in row.warnings:
                by_text.setdefault(text, []).append(row.estimator)
        return [f"{', '.join(names)}: {text}" for text, names in by_text.items()] + [*self.notes, self.reading.line()]


def number(value: float | None, digits: int = 4) -> str:
    """A number for people: as many digits as say something.

    >>> number(0.123456), number(1234.5678), number(None), number(-5.283e-308), number(-2.5e21)
    ('0.1235', '1,235', '–', '0', '-2.5e+21')
    """
    if value is None:
        return "–"
    if abs(value) < NOISE:
        return "0"
    if 1000 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def need(package: str) -> Any:
    """A package that only some results need."""
    try:
        return __import__(package)
    except ImportError:
        raise InputError(f"{package} is not installed: pip install {package}") from None
