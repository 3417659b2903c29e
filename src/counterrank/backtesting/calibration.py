"""Were days that an estimator predicted high really high? Predictions beside what came of them."""

from __future__ import annotations

import numpy as np

from counterrank.backtesting.days import Days, Vector
from counterrank.backtesting.errors import variance_within
from counterrank.backtesting.values import Weighing, day_values, truth
from counterrank.records import dataclass

GROUPS = 8


@dataclass(frozen=True)
class Calibration:
    """Query-days in groups of about equally many impressions, from the lowest prediction to the highest."""

    estimator: str
    predicted: list[float]  # mean prediction over the group's impressions
    observed: list[float]  # what the group got
    stderr: list[float]  # of what it got


def calibrate(
    days: Days, problem: Weighing, squares: Vector, estimator: str, clip: float, groups: int = GROUPS
) -> Calibration | None:
    """The calibration of one estimator; None where it predicts nothing. `squares` is (C,): Σ reward² of each day."""
    value = next(v for _, _, _, v in day_values(days, [problem], [estimator], [clip]))
    known = np.flatnonzero(np.isfinite(value) & (days.others > 0))
    if not len(known):
        return None
    order = known[np.argsort(value[known], kind="stable")]
    n = days.impressions[order]
    middle = (np.cumsum(n) - n / 2) / n.sum()
    group = np.minimum((middle * groups).astype(np.int64), groups - 1)
    _, group = np.unique(group, return_inverse=True)
    observed = truth(days, problem.weights)
    noise = variance_within(days, observed, squares)[order]
    size = np.bincount(group, n)
    return Calibration(
        estimator,
        (np.bincount(group, n * value[order]) / size).tolist(),
        (np.bincount(group, n * observed[order]) / size).tolist(),
        (np.sqrt(np.bincount(group, n * noise)) / size).tolist(),
    )
