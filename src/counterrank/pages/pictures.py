"""Results as charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterrank.estimate import ESTIMATORS
from counterrank.report import Picture, Reference, Series, Whisker, histogram, lines, whiskers
from counterrank.words import level

if TYPE_CHECKING:
    from counterrank.backtesting.calibration import Calibration
    from counterrank.backtesting.result import Backtest
    from counterrank.comparing.comparison import Comparison
    from counterrank.findings.diagnosis import Tail
    from counterrank.judging.evaluation import Evaluation

LEAST = 1e-3  # weights below are next to nothing
FEW, LOST = 100, 0.05  # an estimate with less evidence, or with more of the target unsupported, speaks for nobody


def lead_of(result: Evaluation) -> str | None:
    """The estimator that speaks for an evaluation: the one the verdict is about, else the first with evidence."""
    named = result.diagnosis.estimator if result.diagnosis is not None else None
    known = [row for row in result.rows if row.value is not None]
    if named in [row.estimator for row in known]:
        return named
    firm = [
        row
        for row in known
        if not ESTIMATORS[row.estimator].log_mean and (row.effective_sample_size or 0) >= FEW and row.unsupported < LOST
    ]
    return (firm or known)[0].estimator if known else None


def plot_evaluation(result: Evaluation) -> Picture:
    """Every estimate with its interval, beside the log's own mean."""
    lead = lead_of(result)
    rows = [
        Whisker(row.estimator, row.value, row.lower, row.upper, row.estimator == lead)
        for row in result.rows
        if not ESTIMATORS[row.estimator].log_mean
    ]
    sure = level(result.rows[0].confidence, " %") if result.rows else ""
    mean = Reference("the log itself", result.asked.mean)
    return whiskers(f"Value of the target by estimator, with {sure} intervals", rows, mean, result.unit)


def plot_comparison(result: Comparison) -> Picture:
    """The difference and its bound, beside 0."""
    rows = [Whisker("difference", result.difference, result.lower, result.upper, lead=True)]
    title = f"Target less baseline, with its {level(result.confidence, ' %')} bound"
    return whiskers(title, rows, Reference("no difference", 0.0), result.unit)


def plot_separate(result: Comparison) -> Picture:
    """Each policy with a bound of its own."""
    rows = [Whisker(name, bound.value, bound.lower, bound.upper) for name, bound in result.separate.items()]
    return whiskers("Each policy by itself, with a bound of its own", rows, None, result.unit)


def plot_weights(result: Evaluation) -> list[tuple[str, Picture]]:
    """How an estimator's weights are spread, all on the same axes."""
    tails = {n: tail for n, tail in (result.tails or {}).items() if tail.counts and not ESTIMATORS[n].log_mean}
    if not tails:
        return []
    shown = {name: _kept(tail) for name, tail in tails.items()}
    edges = [edge for each, _, _ in shown.values() for edge in each]
    span = min([*edges, 0.5]), max([*edges, 2.0])
    most = max(max([*counts, zero]) for _, counts, zero in shown.values())
    return [
        (name, histogram(f"Weights of {name}", edges, counts, zero, span, most))
        for name, (edges, counts, zero) in shown.items()
    ]


def _kept(tail: Tail) -> tuple[list[float], list[float], float]:
    """A tail whose weights next to 0 (some are only rounding) count as 0."""
    kept = [i for i, edge in enumerate(tail.edges[1:]) if edge > LEAST]
    low = kept[0] if kept else len(tail.counts)
    return tail.edges[low:], tail.counts[low:], tail.zero + sum(tail.counts[:low])


def plot_days(result: Evaluation) -> Picture | None:
    """What the log itself got, day by day."""
    if result.days is None or result.days.num_rows < 2:
        return None
    days, _, mean, stderr = (column.to_pylist() for column in result.days.columns[:4])
    half = [1.96 * s if s is not None else None for s in stderr]
    return lines(
        "The log's own mean, day by day",
        [str(d) for d in days],
        [Series("mean ± 95 %", mean, half)],
        "day",
        joined=False,
    )


def plot_curve(result: Evaluation) -> Picture | None:
    """How clicks and looks fall with the position, both relative to the first."""
    if result.curve is None or result.curve.num_rows < 2:
        return None
    positions, _, rate, looks = (column.to_pylist() for column in result.curve.columns[:4])
    series = [Series("click rate", _relative(rate))]
    if any(look is not None for look in looks):
        series.append(Series("examination", _relative(looks)))
    return lines("By position, relative to position 1", [str(p) for p in positions], series, "position", zero=True)


def _relative(values: list[float | None]) -> list[float | None]:
    first = values[0]
    return [v / first if v is not None and first else None for v in values]


def plot_calibration(found: Calibration) -> Picture:
    """What days got, beside what was predicted of them."""
    places = [str(i) for i in range(1, len(found.predicted) + 1)]
    half = [1.96 * s for s in found.stderr]
    series = [Series("observed ± 95 %", found.observed, half), Series("predicted", found.predicted)]
    return lines("Predicted and observed", places, series, "group of query-days, lowest prediction first")


def plot_backtest(result: Backtest, problem: str, clip: float, lead: str | None) -> Picture:
    """Errors on the log's own days beside the noise floor."""
    limit = None if np.isinf(clip) else clip
    rows = [
        Whisker(row.estimator, row.rmse, row.lower, row.upper, row.estimator == lead)
        for row in result.rows
        if row.problem == problem and (row.clip == limit or not ESTIMATORS[row.estimator].clips)
    ]
    floor = Reference("noise floor", result.noise_floor[problem])
    return whiskers("Error on the log's own days", rows, floor, "root mean squared error of a query's day", zero=True)
