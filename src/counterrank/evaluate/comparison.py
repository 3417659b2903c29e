"""A comparison of two policies as a table, as JSON and in a notebook."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.evaluate.diagnosis import Diagnosis
from counterrank.evaluate.result import need, number
from counterrank.evaluate.tabular import Tabular
from counterrank.log import Reading
from counterrank.log.foreign import counted
from counterrank.screen import json_text, plain_zero

if TYPE_CHECKING:
    from counterrank.evaluate.pages.asked import Asked
    from counterrank.report import Picture

Verdict = Literal["target", "baseline", "undecided"]
VERDICTS: dict[int, Verdict] = {1: "target", -1: "baseline", 0: "undecided"}
Signs = NDArray[np.int64]


@dataclass(frozen=True)
class Bound:
    """A policy's value on its own, with its own bound."""

    value: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class QueryVerdicts:
    """How many queries each policy wins at this confidence, and how many once corrected for asking of so many."""

    queries: int
    target: int
    baseline: int
    undecided: int
    target_after_correction: int
    baseline_after_correction: int
    expected_false: float  # verdicts that may be false by chance: queries · (1 − confidence)

    @classmethod
    def of(cls, found: Signs, corrected: Signs, confidence: float) -> QueryVerdicts:
        """From the sign of each query's difference where it is decided, else 0, without and with the correction."""
        size = len(found)
        wins, losses = (int((found == sign).sum()) for sign in (1, -1))
        kept, kept_losses = (int((corrected == sign).sum()) for sign in (1, -1))
        return cls(size, wins, losses, size - wins - losses, kept, kept_losses, size * (1 - confidence))

    def words(self) -> str:
        kept = self.target_after_correction + self.baseline_after_correction
        return (
            f"of {counted(self.queries, 'query', 'queries')}, the target wins {self.target:,}, the baseline "
            f"{self.baseline:,}, and {self.undecided:,} are undecided; with so many questions at once up to "
            f"{number(self.expected_false, 3)} verdicts may be false by chance, and {kept:,} hold after Bonferroni's "
            "correction"
        )


@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
    """Is the target better than the baseline? Prints and renders as a table."""

    difference: float | None
    lower: float | None
    upper: float | None
    confidence: float
    verdict: Verdict
    impressions_needed: int | None
    covered: float
    unsupported: dict[str, float]
    separate: dict[str, Bound]
    impressions: int
    queries: int
    positions: int
    metric: str
    clicks: int | None
    estimator: str
    interval: str
    stderr: float | None
    by_query: QueryVerdicts | None
    per_query: pa.Table = field(repr=False)
    reading: Reading
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    clip: float | None = None  # the largest weight, where an estimator has one
    model: dict[str, Any] | None = None  # the regression, where an estimator has one
    diagnosis: Diagnosis | None = None
    asked: Asked | None = field(default=None, repr=False, compare=False)  # for a page or a picture

    def to_dict(self) -> dict[str, Any]:
        hidden = ("per_query", "reading", "diagnosis", "asked")
        shown = self.reading.to_dict() | {name: value for name, value in vars(self).items() if name not in hidden}
        shown["trust"] = self.diagnosis.to_dict() if self.diagnosis is not None else None
        shown["separate"] = {name: asdict(bound) for name, bound in self.separate.items()}
        shown["by_query"] = asdict(self.by_query) if self.by_query is not None else None
        return shown

    def to_json(self) -> str:
        return json_text(self.to_dict())

    def to_arrow(self) -> pa.Table:
        """Three rows: target, baseline and their difference."""
        difference = Bound(self.difference, self.lower, self.upper)
        rows = {**self.separate, "difference": difference}
        return pa.Table.from_pylist([{"policy": name, **asdict(bound)} for name, bound in rows.items()])

    def to_pandas(self) -> Any:
        return need("pandas") and self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        return need("polars").from_arrow(self.to_arrow())

    def plot(self) -> Picture:
        """The difference and its bound, beside 0."""
        from counterrank.evaluate.pages.pictures import plot_comparison

        return plot_comparison(self)

    def report(self, path: str | Path, command: str | None = None) -> Path:
        """Write one HTML page with all that there is to say; `command` is shown as the way to get it again."""
        from counterrank.evaluate.pages.write import check_page, write_comparison

        check_page(Path(path))
        return write_comparison(self, path, command)

    def summary(self) -> str:
        share = f", {self.covered:.1%} of the log" if self.covered < 1 else ""
        of = f"{counted(self.impressions, 'impression')} of {counted(self.queries, 'query', 'queries')}"
        return f"{self.metric}, {self.estimator}: {of}{share}, {counted(self.positions, 'position')}"

    def cells(self) -> tuple[list[str], list[list[str]]]:
        header = ["policy", "value", f"{_percent(self.confidence)} bounds", "unsupported"]
        rows = [
            [name, number(bound.value), _between(bound), plain_zero(f"{self.unsupported[name]:.1%}")]
            for name, bound in self.separate.items()
        ]
        both = Bound(self.difference, self.lower, self.upper)
        return header, [*rows, ["difference", number(both.value), _between(both), ""]]

    def answer(self) -> str:
        """The verdict in a sentence."""
        sure = f"with {_percent(self.confidence)} confidence"
        if self.verdict == "target":
            return f"The target wins: {sure} it is worth at least {number(self.lower)} more than the baseline."
        if self.verdict == "baseline":
            less = -self.upper if self.upper is not None else None
            return f"The baseline wins: {sure} the target is worth at least {number(less)} less."
        if self.difference is None:
            return "Undecided: the difference is undefined."
        if self.impressions_needed is None:
            return "Undecided: the log shows no difference."
        more = counted(self.impressions_needed, "more impression", "more impressions")
        return f"Undecided: at this rate about {more} would decide."

    def remarks(self) -> list[str]:
        return [
            self.answer(), *(self.diagnosis.told() if self.diagnosis is not None else []), *self.warnings, *self.notes,
            self.reading.line(),
        ]  # fmt: skip


def _percent(confidence: float) -> str:
    """0.95 as 95%, 0.9999 as 99.99%."""
    return f"{100 * confidence:.10g}%"


def _between(bound: Bound) -> str:
    return f"{number(bound.lower)} … {number(bound.upper)}" if bound.lower is not None else "–"
