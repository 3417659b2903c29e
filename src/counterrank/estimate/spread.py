"""How influences of groups of impressions are spread, of which only numbers and sums of rewards are known."""

from __future__ import annotations

import numpy as np

from counterrank.estimate.base import Vector
from counterrank.setting.evidence import ROUNDING, Evidence
from counterrank.statistics.histogram import Histogram, Spreads

NOTHING = Histogram.of([])


def two_points(n: Vector, f: Vector, f2: Vector, from_zero: bool) -> tuple[Vector, Vector]:
    """Two rewards a group, (2, G), and how often each came, with the group's sum f and sum of squares f2.

    Clicks: 0 and f2/f, which is what happened where a page has one click or none. Else the mean, more and less.
    """
    if from_zero:
        high = np.divide(f2, f, out=np.zeros_like(f), where=f > 0)
        count = np.divide(f, high, out=np.zeros_like(f), where=high > 0)
        count = np.minimum(count, n)
        return np.stack([np.zeros_like(high), high]), np.stack([n - count, count])
    mean, square = f / n, f2 / n
    variance = square - mean**2
    sd = np.sqrt(np.where(variance > ROUNDING * square, variance, 0.0))  # equal rewards do not differ by rounding
    return np.stack([mean - sd, mean + sd]), np.stack([n / 2, n / 2])


def of_all(evidence: Evidence, value: float) -> Spreads:
    """Every impression weighs 1."""
    counts = evidence.counts
    n = counts.impressions.astype(np.float64)
    reward, count = two_points(n, counts.reward, counts.reward2, evidence.of_clicks)
    flat, often = (reward + counts.origin).ravel(), count.ravel()
    return Spreads(Histogram.of(flat - value, often), Histogram.of(flat, often), Histogram.of(np.ones(1), [n.sum()]))


def largest_reward(evidence: Evidence) -> tuple[float, float] | None:
    """The least and the largest reward an impression can have."""
    if evidence.of_clicks:
        return 0.0, float(evidence.weights.sum())
    return evidence.limits or evidence.counts.extremes


def width_of_products(weights: tuple[float, float], evidence: Evidence) -> float | None:
    """How far apart weight × reward of two impressions can lie."""
    rewards = largest_reward(evidence)
    if rewards is None:
        return None
    products = [w * r for w in weights for r in rewards]
    return float(max(products) - min(products))
