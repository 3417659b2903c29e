"""Rank-based click-through rate: the log's mean, whatever the target."""

from __future__ import annotations

from typing import ClassVar

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
    clips: ClassVar[bool] = False

    def estimate(self, evidence: Evidence) -> Estimate:
        counts = evidence.counts
        value = float(counts.reward.sum() / counts.total)
        second = float(counts.reward2.sum() - counts.total * value**2)
        return Estimate(value, counts.reward / counts.impressions, max(second, 0.0), float(counts.total), 0.0, 0.0)
