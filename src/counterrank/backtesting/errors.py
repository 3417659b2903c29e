"""Squared errors by query, and what resampling the queries says of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from counterrank.backtesting.days import Days, Vector, sums
from counterrank.backtesting.values import Weighing, day_values, means, truth
from counterrank.estimate import ESTIMATORS
from counterrank.records import dataclass

Column = tuple[str, float]  # an estimator and its clip
BLOCK = 1 << 22  # numbers drawn at a time by the bootstrap


@dataclass(frozen=True)
class Errors:
    """Sums over the tested query-days of each unit: a query, or, to look at one query, each of its days.

    They add, so any set of units can be taken out and averaged anew.
    """

    columns: list[Column]
    tested: Vector  # (U,) query-days
    squared: NDArray[np.float64]  # (U, problems, columns) Σ (V̂ − V)²
    noise: NDArray[np.float64]  # (U, problems) Σ s²/n: the variance of the days' own means
    undefined: NDArray[np.int64]  # (U, problems, columns) query-days where the log's mean stood in

    def take(self, units: NDArray[np.int64]) -> Errors:
        """The errors of these units."""
        return Errors(self.columns, self.tested[units], self.squared[units], self.noise[units], self.undefined[units])

    def rmse(self) -> NDArray[np.float64]:
        """(problems, columns)"""
        return np.asarray(np.sqrt(self.squared.sum(axis=0) / self.tested.sum()))

    def floor(self) -> Vector:
        """(problems,): the error of the days' own means, which a prediction that ignores the day's lists cannot beat.

        Where a day draws its lists at random, part of that noise is which lists were drawn. An estimator that sees the
        lists knows that part, and may come a little below.
        """
        return np.asarray(np.sqrt(self.noise.sum(axis=0) / self.tested.sum()))

    def replicates(self, seed: int, count: int) -> NDArray[np.float64]:
        """(count, problems, columns): the errors on `count` draws of as many units, with replacement."""
        used = np.flatnonzero(self.tested)
        units, shape = len(used), self.squared.shape[1:]
        flat = self.squared[used].reshape(units, -1)
        rng = np.random.default_rng(seed)
        out = np.empty((count, flat.shape[1]))
        step = max(1, BLOCK // units)
        for start in range(0, count, step):
            stop = min(start + step, count)
            times = rng.multinomial(units, np.full(units, 1 / units), size=stop - start).astype(np.float64)
            out[start:stop] = (times @ flat) / (times @ self.tested[used])[:, None]
        return np.asarray(np.sqrt(out).reshape(count, *shape))


def measure(
    days: Days,
    problems: Sequence[Weighing],
    squares: NDArray[np.float64],
    names: Sequence[str],
    clips: Sequence[float],
    min_impressions: int = 1,
    *,
    unit: Literal["query", "day"] = "query",
) -> Errors:
    """The errors of every estimator and clip. `squares` is (C, problems): Σ reward² of each day.

    A query-day is tested if both the day and the query's other days have `min_impressions`. Where an estimate is
    undefined the mean of the other days stands in, so that all estimators are judged on the same query-days.
    """
    tested = (days.others >= max(min_impressions, 1)) & (days.impressions >= min_impressions)
    of = days.query if unit == "query" else np.arange(len(days.query))
    size = len(days.names) if unit == "query" else len(of)
    columns: list[Column] = [(n, c) for n in names for c in (clips if ESTIMATORS[n].clips else [np.inf])]
    where = {column: at for at, column in enumerate(columns)}
    squared = np.zeros((size, len(problems), len(columns)))
    undefined = np.zeros(squared.shape, dtype=np.int64)
    truths = [truth(days, problem.weights) for problem in problems]
    fallback = [means(days, problem.weights) for problem in problems]
    for i, name, clip, value in day_values(days, problems, names, clips):
        lost = np.isnan(value)
        error = np.where(lost, fallback[i], value) - truths[i]
        at = where[name, clip]
        squared[:, i, at] = sums(of, np.where(tested, error**2, 0.0), size)
        undefined[:, i, at] = sums(of, lost & tested, size)
    noise = np.zeros(squared.shape[:2])
    for i, mean in enumerate(truths):
        variance = variance_within(days, mean, squares[:, i])
        noise[:, i] = sums(of, np.where(tested, variance / days.impressions, 0.0), size)
    return Errors(columns, sums(of, tested, size), squared, noise, undefined)


def variance_within(days: Days, mean: Vector, squares: Vector) -> Vector:
    """(C,) the reward's variance within each day, unbiased.

    A day of one impression says nothing of its own: the query's other days stand in, or, if none has two, the log.
    """
    spread = np.maximum(squares - days.impressions * mean**2, 0.0)
    freedom = days.impressions - 1
    top, bottom = (sums(days.query, v, len(days.names)) for v in (spread, freedom))
    overall = top.sum() / bottom.sum() if bottom.sum() else 0.0
    pooled = np.divide(top, bottom, out=np.full(len(top), overall), where=bottom > 0)
    return np.asarray(np.divide(spread, freedom, out=pooled[days.query], where=freedom > 0))
