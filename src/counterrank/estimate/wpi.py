"""Pseudoinverse with self-normalised weights."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterrank.estimate._few import NONE
from counterrank.estimate._groups import paged, spreads
from counterrank.estimate._page import weigh
from counterrank.estimate.base import Estimate, Evidence


class WeightedPseudoinverse:
    """V = Σᵢ wᵢ·rewardᵢ / Σᵢ wᵢ, with the weights of `pi`.

    Trades a small bias for less variance; does not change when a constant is added to all rewards. Undefined where the
    weights sum to 0. Reference: swaminathan2017, section 4, normalises IPS so.
    """

    name: ClassVar[str] = "wpi"
    assumption: ClassVar[str] = "as pi; and what the log cannot tell is worth what it can"
    needs_clicks: ClassVar[bool] = False
    needs_rankings: ClassVar[bool] = False
    needs_pairs: ClassVar[bool] = True
    needs_features: ClassVar[bool] = False
    clips: ClassVar[bool] = False

    def estimate(self, evidence: Evidence) -> Estimate:
        n = evidence.counts.total
        found = weigh(evidence)
        sums, mass = found.sums, float(found.sums.mass.sum())
        known = np.abs(sums.mass) > NONE * evidence.counts.impressions
        per_query = np.divide(sums.credit, sums.mass, out=np.full(len(sums.mass), np.nan), where=known)
        per_query += evidence.counts.origin
        said = list(sums.warnings)
        if abs(mass) <= NONE * n:
            said.append("undefined: the weights sum to 0")
            return Estimate(None, per_query, None, None, 0.0, sums.unsupported, said, page=found.page)
        mean = float(sums.credit.sum() / mass)  # from the origin of the rewards
        value = evidence.counts.origin + mean
        second = (sums.second_moment(evidence, mean, 0.0) + found.drawn * n * (n - 1)) / (mass / n) ** 2
        influence = found.influence(evidence, mean, 0.0, n / mass)
        size = sums.effective_sample_size()
        return Estimate(
            value,
            per_query,
            second,
            size,
            0.0,
            sums.unsupported,
            said,
            mass / n,
            1.0 if sums.unsupported == 0 else None,
            found.page,
            spreads=lambda: spreads(evidence, lambda: paged(evidence), influence),
            influence=influence,
        )
