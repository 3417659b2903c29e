"""Do days differ by more than chance?"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from counterrank.findings.diagnosis import Finding
from counterrank.statistics.chi_square import upper_tail
from counterrank.statistics.counts import Counts
from counterrank.words import number, percent

CHANCE = 0.01  # below which a difference is not by chance
LARGE = 0.1  # of the mean: how much days must differ beyond chance to matter


def day_table(counts: Counts) -> pa.Table | None:
    """The log's mean reward on each day, with its standard error (none for a day of one impression)."""
    if counts.days is None:
        return None
    days, n = counts.days, counts.days.impressions.astype(np.float64)
    mean = days.reward / n
    square = np.maximum(days.reward2 - n * mean**2, 0.0)
    stderr = np.sqrt(np.divide(square, n * (n - 1), out=np.full(len(n), np.nan), where=n > 1))
    return pa.table(
        {
            "day": pa.array(days.days),
            "impressions": pa.array(days.impressions),
            "mean": pa.array(counts.origin + mean),
            "stderr": pa.array(stderr, mask=np.isnan(stderr)),
        }
    )


def drift(counts: Counts) -> list[Finding]:
    """One-way analysis of variance of rewards by day: is the spread of the daily means more than chance, and how much?

    Σ n·(mean of the day − mean)² / variance within days has a chi-square of days − 1 degrees of freedom. What exceeds
    that is how days themselves differ: its standard deviation, beside the mean.
    """
    days = counts.days
    if days is None or len(days.days) < 2:
        return []
    n = days.impressions.astype(np.float64)
    total = float(n.sum())
    freedom, spare = len(n) - 1, total - len(n)
    mean = float(days.reward.sum()) / total
    between = float((n * (days.reward / n - mean) ** 2).sum())
    within = max(float((days.reward2 - days.reward**2 / n).sum()), 0.0)
    if spare < 1 or within <= 1e-12 * max(float(days.reward2.sum()), 1e-300):
        return []
    variance = within / spare
    chance = upper_tail(between / variance, freedom)
    spread = max(between - freedom * variance, 0.0) / (total - float((n**2).sum()) / total)
    overall = counts.origin + mean
    beside = spread**0.5 / abs(overall) if overall else float("inf")
    numbers = {
        "days": len(n), "statistic": between / variance, "freedom": freedom, "chance": chance, "sd": spread**0.5,
        "relative": beside if np.isfinite(beside) else None,
    }  # fmt: skip
    if chance >= CHANCE:
        words = f"{len(n):,} days are alike but for chance"
        return [Finding("drift", "trust", words, [], numbers)]
    words = f"days differ by more than chance: their means by {number(spread**0.5, 2)} (one standard deviation)"
    if overall:
        words += f", {percent(beside)} of the mean"
    if beside < LARGE:
        return [Finding("drift", "trust", words, [], numbers)]
    return [Finding("drift", "caution", words + ", so that other days may be worth more or less", [], numbers)]
