"""Pseudoinverse: the reward of a page is a sum over its (item, position) pairs, which nobody observes."""

from __future__ import annotations

from typing import ClassVar

from counterrank.estimate.by_rewards import ByRewards, Weighed
from counterrank.estimate.estimator import Weighs
from counterrank.estimate.groups import paged
from counterrank.estimate.pseudoinverse.few import NONE
from counterrank.estimate.pseudoinverse.page import weigh
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need


class Pseudoinverse(ByRewards):
    """V = 1/n Σᵢ rewardᵢ·qᵀΓ†1_A, with q = E_target[1_A] and Γ = E_logging[1_A 1_Aᵀ] of the impression's query.

    1_A marks the (item, position) pairs of a ranking. Unbiased if a page's reward is a sum over its pairs, which need
    not be observed, and the target's q lies in Γ's range. Reference: swaminathan2017, section 3.
    """

    name: ClassVar[str] = "pi"
    assumption: ClassVar[str] = "a page's reward is a sum over its (item, position) pairs, observed or not"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.PAGES, Need.MARGINALS})
    weighs: ClassVar[Weighs] = Weighs.PAGES
    assumes: ClassVar[int] = 2
    has_deviation: ClassVar[bool] = True
    nothing: ClassVar[float] = NONE

    def weighed(self, evidence: Evidence) -> Weighed:
        return weighed_pages(evidence)


def weighed_pages(evidence: Evidence) -> Weighed:
    """The sums with the weights of `pi`."""
    found = weigh(evidence)
    return Weighed(
        sums=found.sums,
        influence=lambda shift, value, gain: found.influence(evidence, shift, value, gain),
        chunks=lambda: paged(evidence),
        reach=found.reach(),
        limits=found.limits or found.reach(),
        expected=1.0 if found.sums.unsupported == 0 else None,
        undefined="the weights sum to 0",
        drawn=found.drawn,
        distance=found.distance,
    )
