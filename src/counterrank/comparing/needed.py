"""How many further impressions would decide, and the shortest way to an answer where the log does not have one."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from counterrank.estimate import Estimate
from counterrank.interval.betting import lower_bound
from counterrank.records import dataclass
from counterrank.statistics.counts import Counts
from counterrank.statistics.terms import Units

RUNS = 15  # simulated logs of each size
MOST = 10**7  # times as long as the log: what takes more is not told
SURE = 1e15  # as many as nobody can draw, nor need: chance moves them by less than 1e-7
SMALL = 0.05  # of the log's mean: the difference that is asked for where none was found
POWER = 2.8  # z of 97.5 % and of 80 %: how many standard errors decide four times of five


@dataclass(frozen=True)
class Needed:
    """Further impressions at this rate; None, with the reason, where it cannot be told."""

    impressions: int | None
    reason: str = ""


def needed(found: Estimate, value: float | None, stderr: float | None, n: int, confidence: float, kind: str) -> Needed:
    """`found`: the end that would decide (`low` where the value is above 0, else `high`).

    Logs of growing size are drawn from the histogram of the log's own terms, until half of them decide. The difference
    is first drawn towards 0 by what chance adds to one that was looked at because it is large.
    """
    if value is None or stderr is None or not value:
        return Needed(None, "the log shows no difference")
    if found.value is None or found.value * value <= 0:
        return Needed(None, "what the log never shows could turn the answer, however long the log gets")
    if abs(value) < stderr:
        return Needed(None, "the difference is smaller than its own standard error, so that nobody can tell its size")
    shrunk = 1 - min((stderr / value) ** 2, 0.9)
    if kind != "betting" or found.terms is None or found.second_moment is None:
        z = {"normal": 1.0}.get(kind, 1.5) * NormalDist().inv_cdf((1 + confidence) / 2)
        total = (z * stderr / (abs(found.value) * shrunk)) ** 2 * n
        return Needed(max(math.ceil(total) - n, 1)) if total < MOST * n else Needed(None, "it would take too long")
    terms = found.terms()
    units, least = (terms.for_lower, terms.least) if value > 0 else (terms.for_upper.mirrored(), -terms.most)
    step = abs(found.value) * (1 - shrunk)
    moved = Units(units.counts, units.sums - units.counts * units.sizes * step, units.low - units.sizes * step,
                  units.high - units.sizes * step, units.sizes)  # fmt: skip
    return _grown(moved, least - step, n, (1 - confidence) / 2)


def _grown(units: Units, least: float, n: int, delta: float) -> Needed:
    rng = np.random.default_rng(0)

    def decides(times: float) -> bool:
        """Whether half of the logs that are so many times as long do."""
        won = 0
        for _ in range(RUNS):
            expected = units.counts * times
            counts = np.where(expected < SURE, rng.poisson(np.minimum(expected, SURE)), expected)
            some = counts > 0
            each = units.sums / units.counts
            drawn = Units(counts[some], (each * counts)[some], units.low[some], units.high[some], units.sizes[some])
            won += lower_bound(drawn, least, delta) > 0
        return won * 2 > RUNS

    low, high = 1.0, 2.0
    while not decides(high):
        low, high = high, high * 2
        if high > MOST:
            return Needed(None, "it would take more than ten million times as many impressions")
    for _ in range(4):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if decides(middle) else (middle, high)
    return Needed(max(math.ceil(high * n) - n, 1))


@dataclass(frozen=True)
class Way:
    """A test that would tell: so much of the traffic shown one of the two policies by the toss of a coin."""

    share: float
    impressions: int  # of all traffic, until the test ends
    difference: float  # which it finds four times of five

    def words(self, unit: str) -> str:
        from counterrank.words import number, percent

        return (
            f"the shortest way to an answer: let a coin choose between the two for {percent(self.share)} of the "
            f"traffic; after {self.impressions:,} impressions a difference of {number(self.difference, 2)} {unit} "
            "shows four times of five"
        )


def shortest_way(counts: Counts, value: float | None, stderr: float | None, share: float = 0.1) -> Way | None:
    """A test with a coin: its standard error is 2σ/√n, with σ the log's own spread of rewards."""
    mean = counts.origin + counts.reward.sum() / counts.total
    variance = max(float(counts.reward2.sum() / counts.total - (mean - counts.origin) ** 2), 0.0)
    found = abs(value) if value is not None and stderr is not None and abs(value) > stderr else SMALL * abs(mean)
    if not found or not variance:
        return None
    tossed = 4 * variance * (POWER / found) ** 2
    return Way(share, math.ceil(tossed / share), float(found)) if math.isfinite(tossed) else None
