"""Click models side by side, as a table, a picture of the position curve, and JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, field
from typing import Any

import pyarrow as pa

from counterrank.errors import unknown
from counterrank.log import Reading
from counterrank.records import dataclass
from counterrank.result.answer import Answer
from counterrank.words import plain_zero

WIDTH = 16  # signs of the longest bar
EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """One model on the held-out impressions."""

    model: str
    assumption: str
    perplexity: float
    log_likelihood: float
    perplexity_behind: float  # how far the best one is ahead, and the standard error of that
    perplexity_behind_stderr: float
    log_likelihood_behind: float
    log_likelihood_behind_stderr: float
    perplexity_by_position: list[float | None]
    prior: tuple[float, float]  # of its attractions
    impossible: int
    iterations: int
    converged: bool
    notes: list[str]


@dataclass(frozen=True)
class ExaminationCurve:
    """One position: its click rate, and how likely it is examined by two ways of telling."""

    position: int
    impressions: int
    click_rate: float | None
    examination: float | None
    harvested: float | None


@dataclass(frozen=True, repr=False, kw_only=True)
class ClickComparison(Answer):
    """Click models by held-out log-likelihood, the best first; prints and renders as a table."""

    listed = "models"
    impressions: int
    test_impressions: int
    queries: int
    pairs: int
    positions: int
    judged_on: str
    prior: str | tuple[float, float]
    scope: str
    best: str  # by log-likelihood
    best_perplexity: str
    models: list[ModelRow]
    curve: list[ExaminationCurve]
    notes: list[str]
    reading: Reading
    attractions: Callable[[], pa.Table] = field(repr=False)

    def row(self, model: str) -> ModelRow:
        """One model's line."""
        for row in self.models:
            if row.model == model:
                return row
        raise unknown("click model", model, [row.model for row in self.models])

    def to_dict(self) -> dict[str, Any]:
        plain = ("impressions", "test_impressions", "queries", "pairs", "positions", "judged_on", "prior", "scope")
        return {
            **self.reading.to_dict(),
            **{name: getattr(self, name) for name in plain},
            "best": self.best,
            "best_log_likelihood": self.best,
            "best_perplexity": self.best_perplexity,
            "models": [asdict(row) for row in self.models],
            "curve": [asdict(point) for point in self.curve],
            "notes": self.notes,
        }

    def summary(self) -> str:
        return (
            f"{len(self.models)} click models fitted to {self.impressions:,} impressions of {self.queries:,} queries, "
            f"judged on {self.test_impressions:,} ({self.judged_on})"
        )

    def cells(self) -> tuple[list[str], list[list[str]]]:
        header = ["model", "log-likelihood", "behind ± se", "perplexity", "behind ± se"]
        return header, [
            [
                row.model,
                plain_zero(f"{row.log_likelihood:.4f}"),
                _behind(row.log_likelihood_behind, row.log_likelihood_behind_stderr),
                f"{row.perplexity:.4f}",
                _behind(row.perplexity_behind, row.perplexity_behind_stderr),
            ]
            for row in self.models
        ]

    def curve_cells(self) -> tuple[list[str], list[list[str]]]:
        """The position curve as a table with a picture, beside the best model's perplexity at each position."""
        best = self.row(self.best).perplexity_by_position
        body = []
        for point, perplexity in zip(self.curve, best, strict=True):
            numbers = (perplexity, point.click_rate, point.examination, point.harvested)
            shown = ["–" if x is None else f"{x:.3f}" for x in numbers]
            body.append([str(point.position), f"{point.impressions:,}", *shown, bar(point.examination or 0.0)])
        return ["position", "shown", "perplexity", "click rate", "examined", "harvested", "examined"], body

    def _ahead(self) -> str:
        """By how much the best one is ahead of the next that can be told from it."""
        for row in self.models:
            if row.model != self.best and _told_apart(row):
                apart = row.log_likelihood_behind / max(row.log_likelihood_behind_stderr, 1e-300)
                errors = f"{apart:,.0f} standard errors" if apart < 1e6 else "without doubt"
                return f", by {row.log_likelihood_behind:.4f} a position over {row.model} ({errors})"
        return "" if len(self.models) < 2 else ", though no other can be told from it"

    def remarks(self) -> list[str]:
        best = self.row(self.best)
        said = [f"{self.best} predicts best{self._ahead()}: {best.assumption[0].lower()}{best.assumption[1:]}"]
        close = [row.model for row in self.models if row.model != self.best and not _told_apart(row)]
        if close:
            said.append(f"not to be told from {self.best}, within two standard errors: {', '.join(close)}")
        if best.perplexity_behind > 2 * best.perplexity_behind_stderr:
            said.append(
                f"{self.best_perplexity} predicts best where the clicks above are not known (perplexity): the chance "
                "of a click at each position, whatever else is clicked"
            )
        said += [f"{row.model}: {note}" for row in self.models for note in row.notes]
        return [*said, *self.notes, self.reading.line()]


def _told_apart(row: ModelRow) -> bool:
    """Whether a model is behind the best beyond noise."""
    return row.log_likelihood_behind > 2 * row.log_likelihood_behind_stderr


def _behind(difference: float, error: float) -> str:
    return "–" if difference == 0 else f"{abs(difference):.4f} ± {error:.4f}"


def bar(share: float) -> str:
    """A bar as long as the share, to an eighth of a sign."""
    eighths = round(max(0.0, min(share, 1.0)) * WIDTH * 8)
    rest = EIGHTHS[eighths % 8]
    return "█" * (eighths // 8) + (rest if eighths % 8 else "")
