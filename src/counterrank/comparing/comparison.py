"""A comparison of two policies as a table, as JSON and in a notebook."""

from __future__ import annotations

from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from counterrank.comparing.needed import Way
from counterrank.findings.diagnosis import Diagnosis
from counterrank.judging.judged import Judged
from counterrank.records import dataclass
from counterrank.words import counted, level, number, plain_zero

if TYPE_CHECKING:
    from counterrank.report import Picture

Verdict = Literal["target", "baseline", "undecided"]
VERDICTS: dict[int, Verdict] = {1: "target", -1: "baseline", 0: "undecided"}
Signs = NDArray[np.int64]
FIELDS = (  # of the JSON, in this order
    "estimator", "interval", "unit", "difference", "lower", "upper", "confidence", "verdict", "impressions_needed",
    "needed_reason", "covered", "unsupported", "separate", "impressions", "queries", "positions", "metric", "clicks",
    "stderr", "by_query", "warnings", "notes", "clip", "model",
)  # fmt: skip


def decided(lower: float | None, upper: float | None, trust: Diagnosis) -> Verdict:
    """Who wins: nobody, where the bound leaves it open or is not to be trusted."""
    if trust.verdict == "do not trust":
        return "undecided"
    if lower is not None and lower > 0:
        return "target"
    return "baseline" if upper is not None and upper < 0 else "undecided"


@dataclass(frozen=True)
class SideValue:
    """A policy's value on its own, with its own bound."""

    value: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True, kw_only=True)
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
        return cls(
            queries=len(found),
            target=int((found == 1).sum()),
            baseline=int((found == -1).sum()),
            undecided=int((found == 0).sum()),
            target_after_correction=int((corrected == 1).sum()),
            baseline_after_correction=int((corrected == -1).sum()),
            expected_false=len(found) * (1 - confidence),
        )

    def words(self) -> str:
        kept = self.target_after_correction + self.baseline_after_correction
        return (
            f"of {counted(self.queries, 'query', 'queries')}, the target wins {self.target:,}, the baseline "
            f"{self.baseline:,}, and {self.undecided:,} are undecided; with so many questions at once up to "
            f"{number(self.expected_false, 3)} verdicts may be false by chance, and {kept:,} hold after Bonferroni's "
            "correction"
        )


@dataclass(frozen=True, repr=False, kw_only=True)
class Comparison(Judged):
    """Is the target better than the baseline? Prints and renders as a table."""

    difference: float | None
    lower: float | None
    upper: float | None
    confidence: float
    verdict: Verdict
    impressions_needed: int | None
    unsupported: dict[str, float]
    separate: dict[str, SideValue]
    clicks: int | None
    estimator: str
    interval: str
    stderr: float | None
    by_query: QueryVerdicts | None
    warnings: list[str] = field(default_factory=list)
    clip: float | None = None  # the largest weight, where an estimator has one
    needed_reason: str = ""  # why `impressions_needed` cannot be told
    way: Way | None = None  # a test that would tell, where the log cannot

    def to_dict(self) -> dict[str, Any]:
        return self.reading.to_dict() | {
            **{name: getattr(self, name) for name in FIELDS},
            "separate": {name: asdict(bound) for name, bound in self.separate.items()},
            "by_query": asdict(self.by_query) if self.by_query is not None else None,
            "way": asdict(self.way) if self.way is not None else None,
            "trust": {**trust, "estimator": self.estimator} if (trust := self._trust()) is not None else None,
        }

    def records(self) -> list[dict[str, Any]]:
        """Three rows: target, baseline and their difference."""
        return [{"policy": name, **asdict(bound)} for name, bound in self.bounds().items()]

    def bounds(self) -> dict[str, SideValue]:
        """Of target, baseline and their difference."""
        return {**self.separate, "difference": SideValue(self.difference, self.lower, self.upper)}

    def plot(self) -> Picture:
        """The difference and its bound, beside 0."""
        from counterrank.pages.pictures import plot_comparison

        return plot_comparison(self)

    def headline(self) -> str:
        return self.answer()

    def summary(self) -> str:
        return f"{self.unit}, {self.estimator}: {self._size()}"

    def cells(self) -> tuple[list[str], list[list[str]]]:
        header = ["policy", "value", f"{level(self.confidence)} bounds", "unsupported"]
        lost = {name: plain_zero(f"{share:.1%}") for name, share in self.unsupported.items()}
        return header, [
            [name, number(bound.value), _between(bound), lost.get(name, "")] for name, bound in self.bounds().items()
        ]

    def improves(self, least: float = 0.0) -> bool:
        """Whether the target is better by more than `least` (below 0: worse by less), and the answer may be trusted."""
        trusted = self.diagnosis is None or self.diagnosis.verdict != "do not trust"
        return trusted and self.lower is not None and self.lower > least

    def answer(self) -> str:
        """The decision in a sentence: ship, do not ship, or cannot tell."""
        sure, unit = f"with {level(self.confidence)} confidence", self.unit
        if self.verdict == "target":
            return f"Ship: {sure} the target brings at least {number(self.lower)} {unit} more than the baseline."
        if self.verdict == "baseline":
            less = -self.upper if self.upper is not None else None
            return f"Do not ship: {sure} the target brings at least {number(less)} {unit} less than the baseline."
        return f"Cannot tell: {self.undecided_because()}."

    def undecided_because(self) -> str:
        """Why it cannot be told."""
        if self.difference is None:
            return "the difference is undefined"
        if self.diagnosis is not None and self.diagnosis.verdict == "do not trust":
            return "what the log says of the difference is not to be trusted"
        if self.impressions_needed is None:
            return self.needed_reason or "the log shows no difference"
        more = counted(self.impressions_needed, "more impression", "more impressions")
        return f"the bound holds 0; at this rate about {more} would decide"

    def remarks(self) -> list[str]:
        way = [self.way.words(self.unit)] if self.way is not None else []
        return [*self._told(), *way, *self.warnings, *self.notes, self.reading.line()]


def _between(bound: SideValue) -> str:
    return f"{number(bound.lower)} … {number(bound.upper)}" if bound.lower is not None else "–"
