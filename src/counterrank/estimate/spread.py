"""How influences of groups of impressions are spread, of which only numbers and sums of rewards are known."""

from __future__ import annotations

import numpy as np

from counterrank.setting.evidence import Evidence
from counterrank.statistics.histogram import BUCKETS, Histogram, Spreads, add_groups

NOTHING = Histogram.of([])


def of_all(evidence: Evidence, value: float) -> Spreads:
    """Every impression weighs 1."""
    counts, one = evidence.counts, np.ones(len(evidence.counts.impressions))
    out = np.zeros((3, BUCKETS, 2))
    add_groups(
        counts.impressions.astype(np.float64), counts.reward, counts.reward2, evidence.of_clicks, one,
        one * (counts.origin - value), one * counts.origin, one, out,
    )  # fmt: skip
    return Spreads.dense(out[None, None])[0]


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
