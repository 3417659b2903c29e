"""List: nothing is assumed; only impressions of the target's own rankings count."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterrank.estimate.base import Vector
from counterrank.estimate.by_rewards import ByRewards, Weighed
from counterrank.estimate.estimator import Weighs
from counterrank.estimate.groups import ranked
from counterrank.estimate.influence import Influence
from counterrank.estimate.list_sums import weigh
from counterrank.estimate.list_weights import ranking_weights
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need
from counterrank.statistics.pairs import sum_by


class List(ByRewards):
    """V = 1/n Σᵢ rewardᵢ·min(h(Aᵢ|q)/π(Aᵢ|q), M).

    Unbiased wherever the target's rankings were logged and nothing was clipped, whatever users do; its variance grows
    with the number of rankings. Reference: li2018, section 3.1.
    """

    name: ClassVar[str] = "list"
    assumption: ClassVar[str] = "none on clicks: only impressions of the very rankings that the target shows count"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RANKINGS})
    weighs: ClassVar[Weighs] = Weighs.RANKINGS
    clips: ClassVar[bool] = True
    assumes: ClassVar[int] = 0

    def weighed(self, evidence: Evidence) -> Weighed:
        return weighed_rankings(evidence)

    def by_query(self, evidence: Evidence) -> Vector:
        if evidence.same or evidence.counts.rankings is None:
            return super().by_query(evidence)
        credit, mass = np.zeros((2, len(evidence.counts.impressions)))
        for chunk in evidence.counts.rankings.chunks():
            _, _, w, _ = ranking_weights(evidence, chunk)
            credit += sum_by(chunk.queries, w * chunk.reward, len(credit))
            mass += sum_by(chunk.queries, w * chunk.impressions, len(credit))
        return self.per_query(evidence, credit, mass)

    def largest_weight(self, evidence: Evidence) -> float:
        return largest_weight(evidence)


class WeightedList(List):
    """V = Σᵢ wᵢ·rewardᵢ / Σᵢ wᵢ, with the weights of `list`.

    Trades a small bias for less variance; what was never logged is taken to be like what was. Undefined where no
    ranking of the target was logged.
    """

    name: ClassVar[str] = "wlist"
    assumption: ClassVar[str] = "none on clicks; what the log never shows is worth what it shows"
    self_normalised: ClassVar[bool] = True
    clip_bias: ClassVar[str] = ""


def weighed_rankings(evidence: Evidence) -> Weighed:
    """The sums with the weights of `list`."""
    sums = weigh(evidence)

    def own() -> Influence:
        known = np.where(sums.mass > 0, sums.mass, 1.0)
        gain = np.where(sums.mass > 0, evidence.counts.impressions / known, 0.0)
        return sums.influence(evidence, sums.credit / known, 0.0, gain)

    return Weighed(
        sums=sums,
        influence=lambda shift, value, gain: sums.influence(evidence, shift, value, gain),
        chunks=lambda: ranked(evidence, sums.groups),
        reach=sums.reach(evidence),
        limits=sums.limits(evidence),
        expected=1 - sums.unsupported,
        undefined="the log shows none of the target's rankings",
        own=own,
        same=min(1.0, evidence.clip),
    )


def largest_weight(evidence: Evidence) -> float:
    """Of all logged rankings."""
    if evidence.same or evidence.counts.rankings is None:
        return 0.0
    chunks = evidence.counts.rankings.chunks()
    return max((float(ranking_weights(evidence, chunk)[2].max(initial=0.0)) for chunk in chunks), default=0.0)
