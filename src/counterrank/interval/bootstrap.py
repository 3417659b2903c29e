"""The bootstrap: logs drawn again from this one, by the spread of its influences and not row by row."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from counterrank.interval.base import NoInterval, Spread

REPLICATES = 10_000
AT_A_TIME = 2_000_000  # numbers drawn at a time
TINY = 1e-6
ROUNDING = 1e-9  # relative: influences and replicates that are smaller are 0 but for rounding


def bootstrap(spread: Spread, confidence: float, replicates: int = REPLICATES) -> tuple[float, float]:
    """BCa: quantiles of the replicates, corrected for bias and skewness.

    In a replicate each impression comes as often as a Poisson number of mean 1 says; impressions whose influences are
    within about a tenth of each other are drawn together. Replicates are scaled to the standard error, which also knows
    of rates estimated from few impressions. Seeded: the same log gives the same interval.
    Reference: Efron 1987; Chamandy et al. 2012.
    """
    if spread.influence is None:
        raise NoInterval("it needs the spread of influences, which this estimator does not give: use normal or t")
    if spread.influence.total < 2:
        raise NoInterval("it needs two impressions or more")
    counts, means = spread.influence.counts, spread.influence.means
    second, third = counts @ means**2, counts @ means**3
    if second <= 0 or spread.stderr <= 0:
        return spread.value, spread.value
    moved = _replicates(counts, means, replicates) * (spread.stderr / np.sqrt(second))
    moved[np.abs(moved) <= ROUNDING * spread.stderr] = 0.0
    below = np.clip((moved < 0).mean() + (moved == 0).mean() / 2, TINY, 1 - TINY)
    unit = NormalDist()
    bias, skew = unit.inv_cdf(float(below)), float(third / (6 * second**1.5))
    ends = []
    for share in ((1 - confidence) / 2, (1 + confidence) / 2):
        z = bias + unit.inv_cdf(share)
        corrected = unit.cdf(bias + z / max(1 - skew * z, TINY))
        ends.append(spread.value + float(np.quantile(moved, corrected)))
    return ends[0], ends[1]


def _replicates(counts: np.ndarray, means: np.ndarray, number: int) -> np.ndarray:
    """Σψ of each replicate; buckets with equal influences, such as 0, are left out."""
    rng = np.random.default_rng(0)
    used = np.abs(means) > ROUNDING * np.abs(means).max()
    counts, means = counts[used], means[used]
    expected = float(counts @ means)
    out = np.empty(number)
    step = max(AT_A_TIME // max(len(counts), 1), 1)
    for start in range(0, number, step):
        size = min(step, number - start)
        out[start : start + size] = rng.poisson(counts, (size, len(counts))) @ means - expected
    return out
