"""A backtest as a table, as JSON and in a notebook, and what it recommends."""

from __future__ import annotations

import math
from dataclasses import asdict, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.backtesting.calibration import Calibration
from counterrank.backtesting.days import QueryDays, Vector
from counterrank.backtesting.errors import Column, Errors
from counterrank.backtesting.rows import (
    Difference,
    ErrorRow,
    Recommendation,
    cell,
    difference,
    intervals,
    lowest,
    recommend,
    relative,
)
from counterrank.errors import InputError, unknown
from counterrank.estimate import ESTIMATORS, LOG_MEAN
from counterrank.log import Reading
from counterrank.records import dataclass
from counterrank.result.answer import Answer
from counterrank.words import number

LIKE_THE_LOG = (
    "this is for policies like the log's own: for another target, what stands best goes by that target's own weights: "
    "`estimators='best'` of evaluate"
)


@dataclass(frozen=True, repr=False, kw_only=True)
class Backtest(Answer):
    """Errors of estimators and clips on a log's own days; prints and renders as a table."""

    listed = "errors"
    impressions: int
    queries: int
    days: int
    query_days: int
    skipped: int
    positions: int
    problems: list[str]
    noise_floor: dict[str, float]
    rows: list[ErrorRow]
    recommendations: list[Recommendation]
    examination: list[float]
    confidence: float
    resampled: str
    notes: list[str]
    reading: Reading
    columns: list[Column] = field(repr=False)
    draws: NDArray[np.float64] | None = field(repr=False)  # (replicates, problems, columns)
    calibration: Calibration | None = None  # of one estimator, where it was asked for

    def row(self, problem: str, estimator: str, clip: float | None = None) -> ErrorRow:
        """One error; what is not clipped, such as `rctr`, has no clip."""
        if problem not in self.problems:
            raise unknown("problem", problem, self.problems)
        limit = None if clip is None or math.isinf(clip) or not _clips(estimator) else float(clip)
        for row in self.rows:
            if (row.problem, row.estimator, row.clip) == (problem, estimator, limit):
                return row
        raise InputError(f"{estimator!r} with clip {clip} was not tested: see .rows for what was")

    def rmse(self, problem: str, estimator: str, clip: float | None = None) -> float:
        return self.row(problem, estimator, clip).rmse

    def best(self, problem: str | None = None, *, baseline: bool = True) -> tuple[str, float | None]:
        """The estimator and clip with the lowest error; without `baseline`, the best besides the log's mean."""
        row = self._best(self._only(problem), baseline)
        return row.estimator, row.clip

    def advice(self, problem: str | None = None) -> str:
        """The recommendation in words."""
        name = self._only(problem)
        return next(r.text for r in self.recommendations if r.problem == name)

    def difference(
        self, problem: str, estimator: str, other: str, clip: float | None = None, other_clip: float | None = None
    ) -> Difference:
        """How much lower (negative) or higher the error of `estimator` is than that of `other`, relatively."""
        a, b = self.row(problem, estimator, clip), self.row(problem, other, other_clip)
        places = [self.columns.index((r.estimator, np.inf if r.clip is None else r.clip)) for r in (a, b)]
        draws = self.draws[:, self.problems.index(problem), places] if self.draws is not None else None
        return difference(a.rmse, b.rmse, draws, self.confidence)

    def best_rows(self, problem: str) -> list[ErrorRow]:
        """Each estimator with its best clip."""
        names = dict.fromkeys(row.estimator for row in self.rows)
        return [lowest([r for r in self.rows if (r.problem, r.estimator) == (problem, name)]) for name in names]

    def to_dict(self) -> dict[str, Any]:
        plain = ("impressions", "queries", "days", "query_days", "skipped", "positions", "confidence", "resampled")
        return {
            **self.reading.to_dict(),
            **{name: getattr(self, name) for name in plain},
            "problems": self.problems,
            "noise_floor": self.noise_floor,
            "recommendations": [asdict(r) for r in self.recommendations],
            "errors": [asdict(row) for row in self.rows],
            "examination": self.examination,
            "notes": self.notes,
        }

    def summary(self) -> str:
        skipped = f", {self.skipped:,} without other days left out" if self.skipped else ""
        return f"RMSE over {self.query_days:,} query-days of {self.queries:,} queries, {self.days:,} days{skipped}"

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The table for people: each estimator at its best clip M."""
        best = [self.best_rows(problem) for problem in self.problems]
        names = [row.estimator for row in best[0]]
        body = [[name, *(cell(rows[i]) for rows in best)] for i, name in enumerate(names)]
        floor = ["noise floor", *(number(self.noise_floor[problem]) for problem in self.problems)]
        return ["estimator", *self.problems], [*body, floor]

    def remarks(self) -> list[str]:
        said = [*(r.text for r in self.recommendations), LIKE_THE_LOG]
        worst = max(self.rows, key=lambda row: row.undefined)
        if worst.undefined:
            most = f"undefined on up to {worst.undefined:,} query-days ({worst.estimator})"
            said.append(f"{most}: the mean of the other days stood in")
        return [*said, *self.notes, self.reading.line()]

    def _only(self, problem: str | None) -> str:
        if problem is None and len(self.problems) > 1:
            raise InputError(f"several problems were tested: name one of {', '.join(self.problems)}")
        if problem is not None and problem not in self.problems:
            raise unknown("problem", problem, self.problems)
        return self.problems[0] if problem is None else problem

    def _best(self, problem: str, baseline: bool) -> ErrorRow:
        rows = [row for row in self.rows if row.problem == problem]
        others = [row for row in rows if baseline or not ESTIMATORS[row.estimator].log_mean]
        return lowest(others or rows)


def _clips(name: str) -> bool:
    return name not in ESTIMATORS or ESTIMATORS[name].clips


def summarise(
    days: QueryDays, errors: Errors, problems: list[str], curve: Vector, alone: bool, confidence: float, *, count: int,
    seed: int, notes: list[str], reading: Reading,
) -> Backtest:  # fmt: skip
    """The errors as a result: intervals by resampling, and a recommendation for each problem."""
    draws = errors.replicates(seed, count) if len(errors.tested) > 1 else None
    rmse, floor, undefined = errors.rmse(), errors.floor(), errors.undefined
    mean = errors.columns.index((LOG_MEAN, np.inf))
    rows = []
    for i, problem in enumerate(problems):
        drawn = None if draws is None else draws[:, i]
        bounds = None if drawn is None else intervals(drawn, confidence)
        ratios = None if drawn is None or not drawn[:, mean].all() else drawn / drawn[:, [mean]] - 1
        against = None if ratios is None else intervals(ratios, confidence)
        for at, (name, clip) in enumerate(errors.columns):
            row = ErrorRow(
                problem=problem,
                estimator=name,
                clip=None if math.isinf(clip) else clip,
                rmse=float(rmse[i, at]),
                lower=None if bounds is None else float(bounds[0, at]),
                upper=None if bounds is None else float(bounds[1, at]),
                undefined=int(undefined[i, at]),
                against_rctr=relative(
                    float(rmse[i, at]), float(rmse[i, mean]), None if against is None else against[:, at]
                ),
            )
            rows.append(row)
    floors = {problem: float(floor[i]) for i, problem in enumerate(problems)}
    return Backtest(
        impressions=int(days.impressions.sum()),
        queries=int(np.count_nonzero(np.bincount(days.query, days.others > 0))),
        days=len(np.unique(days.day)),
        query_days=int(errors.tested.sum()),
        skipped=int(len(days.query) - errors.tested.sum()),
        positions=days.positions,
        problems=problems,
        noise_floor=floors,
        rows=rows,
        recommendations=[recommend([r for r in rows if r.problem == p], floors[p]) for p in problems],
        examination=curve.tolist(),
        confidence=confidence,
        resampled="days" if alone else "queries",
        notes=notes,
        reading=reading,
        columns=errors.columns,
        draws=draws,
    )
