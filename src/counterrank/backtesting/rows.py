"""The errors of a backtest, row by row, what they say of each other, and what follows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterrank.backtesting.days import Vector
from counterrank.estimate import ESTIMATORS
from counterrank.records import dataclass
from counterrank.words import change, number

TIE = 1e-9  # errors closer than this, relatively, are the same: the larger clip is preferred


@dataclass(frozen=True)
class Difference:
    """One error against another: −0.1 is 10 % lower; None where the other is 0. No bounds: nothing to resample."""

    value: float | None
    lower: float | None
    upper: float | None

    def __str__(self) -> str:
        if self.value is None:
            return "–"
        if self.lower is None or self.upper is None:
            return change(self.value)
        return f"{change(self.value)} [{change(self.lower)}, {change(self.upper)}]"


@dataclass(frozen=True, kw_only=True)
class ErrorRow:
    """The error of one estimator with one clip (None: none) on one problem."""

    problem: str
    estimator: str
    clip: float | None
    rmse: float
    lower: float | None
    upper: float | None
    undefined: int  # query-days where the mean of the other days stood in
    against_rctr: Difference


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """What to use for a problem, and whether it is better than the log's mean (`yes`, `no`, or `undecided`)."""

    problem: str
    estimator: str
    clip: float | None
    rmse: float
    noise_floor: float
    beats_rctr: str
    against_rctr: Difference
    text: str


def recommend(rows: list[ErrorRow], floor: float) -> Recommendation:
    problem, best = rows[0].problem, lowest(rows)
    others = [row for row in rows if not ESTIMATORS[row.estimator].log_mean]
    against = best.against_rctr
    at = f"noise floor {number(floor)}"
    if ESTIMATORS[best.estimator].log_mean and others:
        beats, near = "no", lowest(others)
        text = (
            f"{problem}: no estimator beats the log's mean on this log ({best.estimator}, RMSE {number(best.rmse)}, "
            f"{at}); nearest: {named(near)}, {near.against_rctr}"
        )
    elif against.upper is not None and against.upper < 0:
        beats = "yes"
        text = f"{problem}: use {named(best)}: RMSE {number(best.rmse)} ({at}), {against} against the log's mean"
    else:
        beats = "undecided"
        text = (
            f"{problem}: {named(best)} has the lowest RMSE, {number(best.rmse)} ({at}), but does not reliably beat "
            f"the log's mean: {against}"
        )
    return Recommendation(
        problem=problem, estimator=best.estimator, clip=best.clip, rmse=best.rmse, noise_floor=floor, beats_rctr=beats,
        against_rctr=against, text=text,
    )  # fmt: skip


def named(row: ErrorRow) -> str:
    """An estimator with its clip, in words."""
    if not ESTIMATORS[row.estimator].clips:
        return row.estimator
    return f"{row.estimator} without clip" if row.clip is None else f"{row.estimator} with clip {row.clip:g}"


def lowest(rows: list[ErrorRow]) -> ErrorRow:
    least = min(row.rmse for row in rows)
    return [row for row in rows if row.rmse <= least * (1 + TIE) + 1e-15][-1]


def cell(row: ErrorRow) -> str:
    if not ESTIMATORS[row.estimator].clips:
        return number(row.rmse)
    return f"{number(row.rmse)} (M {'∞' if row.clip is None else f'{row.clip:g}'})"


def difference(value: float, other: float, draws: NDArray[np.float64] | None, confidence: float) -> Difference:
    if draws is None or not draws[:, 1].all():
        return relative(value, other, None)
    return relative(value, other, intervals(draws[:, 0] / draws[:, 1] - 1, confidence))


def relative(value: float, other: float, bounds: NDArray[np.float64] | None) -> Difference:
    """How much larger than the other, as a share of it, with the bounds of that share."""
    if other == 0:
        return Difference(0.0 if value == 0 else None, None, None)
    if bounds is None:
        return Difference(value / other - 1, None, None)
    return Difference(value / other - 1, float(bounds[0]), float(bounds[1]))


def interval(draws: Vector, confidence: float) -> tuple[float, float]:
    lower, upper = intervals(draws, confidence)
    return float(lower), float(upper)


def intervals(draws: NDArray[np.float64], confidence: float) -> NDArray[np.float64]:
    """(2, …): the lower and upper end of each column of draws."""
    return np.asarray(np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0))
