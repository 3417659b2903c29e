"""Pseudoinverse: the reward of a page is a sum over its (item, position) pairs, which nobody observes."""

from __future__ import annotations

from typing import ClassVar

from counterrank.estimate._groups import paged, spreads
from counterrank.estimate._page import weigh
from counterrank.estimate._spread import width_of_products
from counterrank.estimate.base import Estimate, Evidence


class Pseudoinverse:
    """V = 1/n Σᵢ rewardᵢ·qᵀΓ†1_A, with q = E_target[1_A] and Γ = E_logging[1_A 1_Aᵀ] of the impression's query.

    1_A marks the (item, position) pairs of a ranking. Unbiased if a page's reward is a sum over its pairs, which need
    not be observed, and the target's q lies in Γ's range. Reference: swaminathan2017, section 3.
    """

    name: ClassVar[str] = "pi"
    assumption: ClassVar[str] = "a page's reward is a sum over its (item, position) pairs, observed or not"
    needs_clicks: ClassVar[bool] = False
    needs_rankings: ClassVar[bool] = False
    needs_pairs: ClassVar[bool] = True
    needs_features: ClassVar[bool] = False
    clips: ClassVar[bool] = False

    def estimate(self, evidence: Evidence) -> Estimate:
        n, origin = evidence.counts.total, evidence.counts.origin
        found = weigh(evidence)
        credit = found.sums.credit + origin * found.sums.mass
        value = float(credit.sum() / n)
        second = found.sums.second_moment(evidence, -origin, value) + found.drawn * n * (n - 1)
        influence = found.influence(evidence, -origin, value)
        supported = found.sums.unsupported == 0
        return Estimate(
            value,
            credit / evidence.counts.impressions,
            second,
            found.sums.effective_sample_size(),
            0.0,
            found.sums.unsupported,
            found.sums.warnings,
            float(found.sums.mass.sum() / n),
            1.0 if supported else None,
            found.page,
            spreads=lambda: spreads(evidence, lambda: paged(evidence), influence),
            width=width_of_products(found.reach(), evidence),
            reach=found.reach(),
            influence=influence,
            sizes=found.sums.effective_sizes(),
        )
