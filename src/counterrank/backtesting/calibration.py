"""Were days that an estimator predicted high really high? Predictions beside what came of them."""

from __future__ import annotations

import numpy as np

from counterrank.backtesting.errors import Measured, variance_within
from counterrank.records import dataclass

GROUPS = 8


@dataclass(frozen=True)
class Calibration:
    """Query-days in groups of about equally many impressions, from the lowest prediction to the highest."""

    estimator: str
    predicted: list[float]  # mean prediction over the group's impressions
    observed: list[float]  # what the group got
    stderr: list[float]  # of what it got


def calibrate(measured: Measured, estimator: str, groups: int = GROUPS) -> Calibration | None:
    """The calibration on the first problem of the estimator whose predictions were kept; None where it has none."""
    days, value = measured.days, measured.predicted
    if value is None:
        return None
    known = np.flatnonzero(np.isfinite(value) & (days.others > 0))
    if not len(known):
        return None
    order = known[np.argsort(value[known], kind="stable")]
    n = days.impressions[order]
    middle = (np.cumsum(n) - n / 2) / n.sum()
    group = np.minimum((middle * groups).astype(np.int64), groups - 1)
    _, group = np.unique(group, return_inverse=True)
    observed = measured.truth[:, 0]
    noise = variance_within(days, observed, measured.squares[:, 0])[order]
    size = np.bincount(group, n)
    return Calibration(
        estimator,
        (np.bincount(group, n * value[order]) / size).tolist(),
        (np.bincount(group, n * observed[order]) / size).tolist(),
        (np.sqrt(np.bincount(group, n * noise)) / size).tolist(),
    )
