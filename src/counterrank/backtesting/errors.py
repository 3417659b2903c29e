"""Squared errors by query, and what resampling the queries says of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from counterrank.backtesting.days import Days, QueryDays, Vector, by_day, sums
from counterrank.backtesting.values import Weighing, day_values, means, truth
from counterrank.estimate import ESTIMATORS
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.counts import Counts

Column = tuple[str, float]  # an estimator and its clip
BLOCK = 1 << 22  # numbers drawn at a time by the bootstrap
THREADS = 2
PATTERNS = 1 << 18  # that a thread looks at in one go, or those of one query


@dataclass(frozen=True)
class Errors:
    """Sums over the tested query-days of each unit that has some: a query, or, to look at one query, each of its days.

    They add, so any set of units can be taken out and averaged anew.
    """

    columns: list[Column]
    tested: Vector  # (U,) query-days
    squared: NDArray[np.float64]  # (U, problems, columns) Σ (V̂ − V)²
    noise: NDArray[np.float64]  # (U, problems) Σ s²/n: the variance of the days' own means
    undefined: NDArray[np.int64]  # (problems, columns) query-days where the log's mean stood in

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
        units, shape = len(self.tested), self.squared.shape[1:]
        flat = self.squared.reshape(units, -1)
        rng = np.random.default_rng(seed)
        out = np.empty((count, flat.shape[1]))
        step = max(1, BLOCK // units)
        for start in range(0, count, step):
            stop = min(start + step, count)
            times = rng.multinomial(units, np.full(units, 1 / units), size=stop - start).astype(np.float64)
            out[start:stop] = (times @ flat) / (times @ self.tested)[:, None]
        return np.asarray(np.sqrt(out).reshape(count, *shape))


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is tested, and how."""

    problems: Sequence[Weighing]
    names: Sequence[str]
    clips: Sequence[float]
    min_impressions: int = 1
    unit: Literal["query", "day"] = "query"
    calibrated: Column | None = None  # whose predictions on the first problem are kept

    @property
    def columns(self) -> list[Column]:
        return [(n, c) for n in self.names for c in (self.clips if ESTIMATORS[n].clips else [np.inf])]

    def tested(self, days: QueryDays) -> NDArray[np.bool_]:
        """(C,) whether both the day and the query's other days have enough impressions."""
        return (days.others >= max(self.min_impressions, 1)) & (days.impressions >= self.min_impressions)

    def units(self, days: QueryDays) -> tuple[Codes, Codes]:
        """The cells that are tested, and the unit of each, rising, as numbers from 0 on."""
        cells = np.flatnonzero(self.tested(days))
        if self.unit == "day":
            return cells, np.arange(len(cells))
        return cells, np.unique(days.query[cells], return_inverse=True)[1]


@dataclass(frozen=True, kw_only=True)
class Part:
    """What the days of some queries say."""

    days: QueryDays
    truth: NDArray[np.float64]  # (C, problems) the mean reward of each day
    squares: NDArray[np.float64]  # (C, problems) Σ reward² of each day
    squared: NDArray[np.float64]  # (U, problems, columns)
    undefined: NDArray[np.int64]  # (problems, columns)
    predicted: Vector | None  # (C,) by the estimator that is calibrated


@dataclass(frozen=True)
class Measured:
    """The errors on all days, and what calibration needs besides."""

    days: QueryDays
    errors: Errors
    truth: NDArray[np.float64]  # (C, problems)
    squares: NDArray[np.float64]  # (C, problems)
    predicted: Vector | None  # (C,)


def measure(counts: Counts, wanted: NDArray[np.bool_], asked: Asked) -> Measured:
    """The errors of every estimator and clip on the days of the wanted queries, (Q,).

    Queries have nothing to do with each other, so that a few of them are looked at at a time.
    """

    def look(queries: Codes) -> Part:
        return _part(Days.of(counts, queries), asked)

    parts = _by_twos(look, _blocks(counts, np.flatnonzero(wanted)))
    days = QueryDays.joined([part.days for part in parts])
    truths, squares = (np.concatenate(each) for each in zip(*((p.truth, p.squares) for p in parts), strict=True))
    predicted = [part.predicted for part in parts if part.predicted is not None]
    cells, of = asked.units(days)
    tested = np.bincount(of).astype(np.float64)
    noise = np.zeros((len(tested), len(asked.problems)))
    for i in range(len(asked.problems)):
        variance = variance_within(days, truths[:, i], squares[:, i])
        noise[:, i] = sums(of, (variance / days.impressions)[cells], len(tested))
    undefined = np.sum([part.undefined for part in parts], axis=0)
    errors = Errors(asked.columns, tested, np.concatenate([p.squared for p in parts]), noise, undefined)
    return Measured(days, errors, truths, squares, np.concatenate(predicted) if predicted else None)


def _blocks(counts: Counts, queries: Codes) -> list[Codes]:
    """The queries in groups of about as many patterns; a day of an item counts a little as well."""
    patterns, pairs = by_day(counts), counts.pairs
    first, last = (np.searchsorted(patterns.queries, queries, side=side) for side in ("left", "right"))
    day_count = np.ptp(patterns.day) + 1 if len(patterns) else 1
    filled = np.cumsum(last - first + pairs.sizes[queries] * min(day_count, 1 << 10) // 16) // PATTERNS
    edges = np.flatnonzero(np.r_[True, np.diff(filled) > 0, True])
    return [queries[begin:end] for begin, end in pairwise(edges.tolist())]


def _by_twos(look: Callable[[Codes], Part], blocks: Sequence[Codes]) -> list[Part]:
    """What is found in each block, two of them side by side under the same settings of NumPy's warnings."""
    if len(blocks) == 1:
        return [look(blocks[0])]
    with ThreadPoolExecutor(THREADS) as pool:
        return [found.result() for found in [pool.submit(copy_context().run, look, block) for block in blocks]]


def _part(days: Days, asked: Asked) -> Part:
    """The squared errors on some days.

    Where an estimate is undefined the mean of the other days stands in, so that all estimators are judged on the same
    query-days.
    """
    cells, of = asked.units(days)
    problems, columns, size = asked.problems, asked.columns, int(of.max(initial=-1)) + 1
    where = {column: at for at, column in enumerate(columns)}
    squared = np.zeros((size, len(problems), len(columns)))
    undefined = np.zeros(squared.shape[1:], dtype=np.int64)
    truths = [truth(days, problem.weights) for problem in problems]
    fallback = [means(days, problem.weights)[cells] for problem in problems]
    for i, name, clip, value in day_values(days, problems, asked.names, asked.clips):
        at, value = where[name, clip], value[cells]
        lost = np.isnan(value)
        error = np.where(lost, fallback[i], value) - truths[i][cells]
        squared[:, i, at] = sums(of, error**2, size)
        undefined[i, at] = np.count_nonzero(lost)
    predicted = None
    if asked.calibrated is not None:
        name, clip = asked.calibrated
        nothing = np.full(len(days.query), np.nan)
        predicted = next((value for _, _, _, value in day_values(days, problems[:1], [name], [clip])), nothing)
    return Part(
        days=days.cells,
        truth=np.stack(truths, axis=1),
        squares=days.squares(np.stack([problem.weights for problem in problems])),
        squared=squared,
        undefined=undefined,
        predicted=predicted,
    )


def variance_within(days: QueryDays, mean: Vector, squares: Vector) -> Vector:
    """(C,) the reward's variance within each day, unbiased.

    A day of one impression says nothing of its own: the query's other days stand in, or, if none has two, the log.
    """
    spread = np.maximum(squares - days.impressions * mean**2, 0.0)
    freedom = days.impressions - 1
    top, bottom = (sums(days.query, v, len(days.names)) for v in (spread, freedom))
    overall = top.sum() / bottom.sum() if bottom.sum() else 0.0
    pooled = np.divide(top, bottom, out=np.full(len(top), overall), where=bottom > 0)
    return np.asarray(np.divide(spread, freedom, out=pooled[days.query], where=freedom > 0))
