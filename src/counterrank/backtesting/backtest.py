"""`backtest`: which estimator and clip to trust on this log, by predicting each of its days from the others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.backtesting.calibration import calibrate
from counterrank.backtesting.days import Days, Vector, by_day, sums
from counterrank.backtesting.errors import Asked, Column, measure
from counterrank.backtesting.result import Backtest, summarise
from counterrank.backtesting.values import Weighing, can_test
from counterrank.click.curve import curve_of
from counterrank.engine import Engine, open_engine
from counterrank.errors import InputError, Unanswerable, unknown
from counterrank.estimate import ESTIMATORS, LOG_MEAN
from counterrank.estimate.choose import choose_estimators
from counterrank.ids import Ids
from counterrank.log import Log, Reading, read_log
from counterrank.policy.base import id_text
from counterrank.records import dataclass
from counterrank.setting.options import (
    check_clip,
    check_confidence,
    check_length,
    check_top,
    examination_curve,
    is_fitted,
    position_weights,
)
from counterrank.statistics.counts import Counts

CLIPS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, np.inf)
PROBLEMS = ("K=2", "K=3", "all", "dcg")


@dataclass(frozen=True)
class Problem:
    """What is predicted: the clicks down to position `top`, weighted.

    >>> Problem.named("dcg@5")
    Problem(name='dcg@5', top=5, weights='dcg')
    """

    name: str
    top: int | None = None
    weights: str | Sequence[float] = "clicks"

    @classmethod
    def named(cls, name: str) -> Problem:
        """`K=3`: clicks at the first 3 positions; `all`: at all of them; `dcg`, `dcg@3`: the same, discounted."""
        match = re.fullmatch(r"(?:K=([1-9]\d*)|all|(dcg)(?:@([1-9]\d*))?)", name)
        if match is None:
            raise unknown("problem", name, ["K=2", "K=3", "all", "dcg", "dcg@10"])
        top = match[1] or match[3]
        return cls(name, int(top) if top else None, "dcg" if match[2] else "clicks")

    @classmethod
    def of(cls, top: int | None, weights: str | Sequence[float]) -> Problem:
        """The problem that the options of `evaluate` name."""
        if isinstance(weights, str) and weights == "clicks":
            return cls("all" if top is None else f"K={top}", check_top(top))
        name = weights if isinstance(weights, str) else "weights " + ",".join(f"{w:g}" for w in weights)
        return cls(name if top is None else f"{name}@{top}", check_top(top), weights)


def backtest(
    log: Any,
    *,
    estimators: Sequence[str] | str | None = None,
    clips: Iterable[float | str | None] = CLIPS,
    problems: Sequence[str | Problem] | None = None,
    top: int | None = None,
    weights: str | Sequence[float] | None = None,
    examination: str | Sequence[float] = "auto",
    queries: int | slice | Sequence[str | int] | None = None,
    min_impressions: int = 1,
    confidence: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
    engine: str | Engine = "duckdb",
    calibrated: tuple[str, float] | None = None,
) -> Backtest:
    """How far each estimator and clip is from the truth on this log, with each day of each query as the truth in turn.

    A day's lists are the target, its mean reward V the truth, and the query's other days the log that V̂ comes from,
    with their shares as the logging policy; the error is √(mean of (V̂ − V)²) over all query-days. V itself is a mean of
    few impressions: its own noise, √(mean of s²/n), is the floor (an estimator can come below only as far as the draw
    of the day's lists is part of that noise). Intervals resample the queries (the days, where there is one query).
    Undefined estimates are replaced by the mean of the other days.

    Optimistic where days are not like the change that you plan: a new policy may differ more from the log than one day
    from the others. `problems`: K=2, K=3, all and dcg unless `top` or `weights` name one. `queries`: ids, or how many
    of the most frequent, or a slice of that order. A curve that is fitted is fitted once, to all days.
    `calibrated`: an estimator and its clip, whose predictions on the first problem are set beside what came of them.

    >>> rows = {"query": ["q"] * 4, "items": [["a"], ["b"], ["a"], ["b"]], "clicks": [[1], [0], [1], [0]]}
    >>> result = backtest(rows | {"day": [1, 2, 3, 4]}, estimators="ip", problems=["all"])
    >>> result.best(), round(result.rmse("all", "rctr"), 3)
    (('ip', None), 0.667)

    Reference: li2018, section 6.1.
    """
    log = read_log(log)
    if "clicks" not in log.columns:
        raise Unanswerable(f"{log.name}: backtest predicts clicks, but the log has no column 'clicks': add it")
    names = _names(estimators)
    limits = _limits(clips)
    asked = _problems(problems, top, weights)
    check_confidence(confidence)
    for what, number in {"min_impressions": min_impressions, "replicates": replicates}.items():
        if number < 1:
            raise InputError(f"{what} is {number}: expected 1 or more")
    log.need_days()
    counts, reading = _counted(log, open_engine(engine))
    curve, notes = _examination(examination, counts)
    wanted = _wanted(counts, queries)
    alone = np.count_nonzero(wanted) == 1
    question = Asked(
        problems=[_weighing(problem, counts.pairs.positions, curve) for problem in asked],
        names=names,
        clips=limits,
        min_impressions=min_impressions,
        unit="day" if alone else "query",
        calibrated=None if calibrated is None else _one(*calibrated),
    )
    measured = measure(counts, wanted, question)
    days, errors = measured.days, measured.errors
    if not len(errors.tested):
        raise Unanswerable(
            f"{log.name}: no query has {min_impressions} or more impressions both on a day and on its other days: "
            "give a longer log, or a smaller min_impressions"
        )
    said = [*reading.notes, *notes]
    names_of = [p.name for p in asked]
    result = summarise(
        days, errors, names_of, curve, alone, confidence, count=replicates, seed=seed, notes=said, reading=reading
    )
    return result if calibrated is None else replace(result, calibration=calibrate(measured, calibrated[0]))


def _counted(log: Log, engine: Engine) -> tuple[Counts, Reading]:
    """The counts of a log of two days or more. The rows behind them are let go."""
    run = engine.count(log, Days.plan())
    days = by_day(run.counts).day
    if days.min() == days.max():
        raise Unanswerable(
            f"{log.name}: all impressions are of day {days[0]}, but a backtest needs two days or more: "
            "give a longer log"
        )
    return run.counts, run.reading


def _one(name: str, clip: float) -> Column:
    """A single estimator that can be tested, and its clip."""
    _check_tested(name)
    return name, check_clip(clip) if ESTIMATORS[name].clips else np.inf


def tested() -> list[str]:
    """The estimators that a backtest tests where none is named."""
    return [name for name in ESTIMATORS.usual() if can_test(ESTIMATORS[name])]


def _check_tested(name: str) -> None:
    if name not in ESTIMATORS or not can_test(ESTIMATORS[name]):
        raise InputError(f"backtest cannot test {name!r} yet: choose from {', '.join(tested())}")


def _names(given: Sequence[str] | str | None) -> list[str]:
    """The estimators to test; the log's mean is always among them."""
    wanted, _ = choose_estimators(given if given is not None else tested(), "clicks")
    for name in wanted:
        _check_tested(name)
    return [name for name in ESTIMATORS if name in (*wanted, LOG_MEAN)]


def _limits(given: Iterable[float | str | None]) -> list[float]:
    expected = "positive numbers, or none"
    limits = sorted({check_clip(None if clip == "none" else clip, expected, "clips") for clip in given})
    if not limits:
        raise InputError("clips are empty: give at least one, e.g. 10,100,none")
    return limits


def _problems(
    given: Sequence[str | Problem] | None, top: int | None, weights: str | Sequence[float] | None
) -> list[Problem]:
    if top is not None or weights is not None:
        if given is not None:
            raise InputError("give problems, or top and weights, not both")
        return [Problem.of(top, weights if weights is not None else "clicks")]
    asked = [p if isinstance(p, Problem) else Problem.named(p) for p in (given if given is not None else PROBLEMS)]
    if not asked:
        raise InputError(f"problems are empty: give at least one of {', '.join(PROBLEMS)}")
    return list({problem.name: problem for problem in asked}.values())


def _weighing(problem: Problem, positions: int, curve: Vector) -> Weighing:
    cut = min(problem.top or positions, positions)
    check_length(problem.weights, cut, "weights")
    theta = np.zeros(positions)
    theta[:cut] = position_weights(problem.weights)(cut)
    return Weighing(problem.name, cut, theta, curve)


def _examination(given: str | Sequence[float], counts: Counts) -> tuple[Vector, list[str]]:
    if isinstance(given, str) and is_fitted(given):
        fit = curve_of(given, counts.tally)
        return fit.examination, [*([f"examination: {fit.told}"] if fit.told else []), *fit.notes]
    return examination_curve(given, counts.pairs.positions), []


def _wanted(counts: Counts, queries: int | slice | Sequence[str | int] | None) -> NDArray[np.bool_]:
    """Which queries are tested, (Q,)."""
    names, patterns = counts.pairs.query_ids.texts, by_day(counts)
    wanted = np.zeros(len(names), dtype=bool)
    if queries is None:
        return ~wanted
    if isinstance(queries, int | slice):
        often = sums(patterns.queries, patterns.impressions, len(wanted))
        order = sorted(range(len(wanted)), key=lambda q: (-often[q], names[q].as_py()))
        chosen = np.array(order[:queries] if isinstance(queries, int) else order[queries], dtype=np.int64)
    else:
        texts = pa.array([id_text(query) for query in queries], pa.string())
        chosen = Ids(names).codes(texts)
        if (chosen < 0).any():
            missing = texts[int(np.argmin(chosen))].as_py()
            raise InputError(f"the log has no query {missing!r}: test queries that it has")
    if not len(chosen):
        raise Unanswerable(f"no query is left to test: the log has {len(wanted)} queries")
    wanted[chosen] = True
    return wanted


__all__ = ["CLIPS", "PROBLEMS", "Backtest", "Log", "Problem", "backtest"]
