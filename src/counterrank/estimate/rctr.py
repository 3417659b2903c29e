"""Rank-based click-through rate: the log's mean, whatever the target."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterrank.estimate._influence import alike
from counterrank.estimate._spread import of_all, width_of_products
from counterrank.estimate.base import Estimate, Evidence


class RankClickThrough:
    """V = 1/n Σᵢ rewardᵢ.

    Right if clicks depend on the position alone, or if nothing changes; the baseline to beat. Reference: li2018,
    section 3.4.
    """

    name: ClassVar[str] = "rctr"
    assumption: ClassVar[str] = "a click depends on the position alone: every ranking is worth the same"
    needs_clicks: ClassVar[bool] = False
    needs_rankings: ClassVar[bool] = False
    needs_pairs: ClassVar[bool] = False
    needs_features: ClassVar[bool] = False
    clips: ClassVar[bool] = False

    def estimate(self, evidence: Evidence) -> Estimate:
        counts, n = evidence.counts, float(evidence.counts.total)
        mean = counts.reward.sum() / n  # from the origin of the rewards
        second = max(float(counts.reward2.sum() - n * mean**2), 0.0)
        per_query = counts.origin + counts.reward / counts.impressions
        value = float(counts.origin + mean)
        return Estimate(
            value,
            per_query,
            second,
            n,
            0.0,
            0.0,
            spreads=lambda: of_all(evidence, value),
            width=width_of_products((1.0, 1.0), evidence),
            reach=(1.0, 1.0),
            influence=lambda chunk: alike(len(chunk), 1.0, counts.origin - value, 1.0, counts.origin),
            sizes=counts.impressions.astype(np.float64),
        )
