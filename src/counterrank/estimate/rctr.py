"""Rank-based click-through rate: the log's mean, whatever the target."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterrank.estimate.base import Estimate, Vector
from counterrank.estimate.estimator import Estimator
from counterrank.estimate.group_terms import NO_RANGE, group_terms
from counterrank.estimate.groups import whole_queries
from counterrank.estimate.influence import Moved, alike
from counterrank.estimate.spread import of_all, width_of_products
from counterrank.setting.evidence import Evidence
from counterrank.statistics.rankings import Rankings


class RankClickThrough(Estimator):
    """V = 1/n Σᵢ rewardᵢ.

    Right if clicks depend on the position alone, or if nothing changes; the baseline to beat. Reference: li2018,
    section 3.4.
    """

    name: ClassVar[str] = "rctr"
    assumption: ClassVar[str] = "a click depends on the position alone: every ranking is worth the same"
    assumes: ClassVar[int] = 7
    blind: ClassVar[str] = "it is the log's mean, whatever the target"
    log_mean: ClassVar[bool] = True
    of_difference: ClassVar[str] = "rctr gives every policy the mean of the log, so its difference is always 0"

    def by_query(self, evidence: Evidence) -> Vector:
        counts = evidence.counts
        return counts.origin + counts.reward / counts.impressions

    def estimate(self, evidence: Evidence) -> Estimate:
        counts, n = evidence.counts, float(evidence.counts.total)
        mean = counts.reward.sum() / n  # from the origin of the rewards
        second = max(float(counts.reward2.sum() - n * mean**2), 0.0)
        value = float(counts.origin + mean)

        def influence(chunk: Rankings) -> Moved:
            return alike(len(chunk), 1.0, counts.origin - value, 1.0, counts.origin)

        terms = group_terms(evidence, lambda: whole_queries(evidence), influence, (1.0, 1.0))
        return Estimate(
            value=value,
            per_query=self.by_query(evidence),
            second_moment=second,
            effective_sample_size=n,
            clipped=0.0,
            unsupported=0.0,
            spreads=lambda: of_all(evidence, value),
            width=width_of_products((1.0, 1.0), evidence),
            reach=(1.0, 1.0),
            influence=influence,
            sizes=counts.impressions.astype(np.float64),
            limits=(1.0, 1.0),
            terms=terms.whole if terms is not None else None,
            query_terms=terms.by_query if terms is not None else None,
            no_terms=NO_RANGE,
        )
