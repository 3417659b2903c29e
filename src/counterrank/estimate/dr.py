"""Doubly robust: the direct method's word, put right by the weighted rewards that it leaves unexplained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from counterrank.estimate.base import Estimate
from counterrank.estimate.by_rewards import Weighed
from counterrank.estimate.estimator import Estimator, Weighs
from counterrank.estimate.groups import paged, spreads
from counterrank.estimate.list import largest_weight, weighed_rankings
from counterrank.estimate.list_sums import known_rankings
from counterrank.estimate.pi import weighed_pages
from counterrank.estimate.regression.direct import fitted, residuals
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need
from counterrank.statistics.rankings import Rankings


class DoublyRobust(Estimator):
    """V = 1/n Σᵢ E_target[r̂(qᵢ, ·)] + wᵢ·(rewardᵢ − r̂(qᵢ, Aᵢ)), with the weights of `pi` and the r̂ of `dm`.

    Right if either is: the regression, or `pi`'s assumption. What the log cannot tell is the model's word alone.
    Reference: swaminathan2017, section 5, names it.
    """

    name: ClassVar[str] = "dr"
    assumption: ClassVar[str] = "what the regression leaves unexplained is a sum over (item, position) pairs"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.PAGES, Need.MARGINALS, Need.FEATURES})
    modelled: ClassVar[str] = "the regression"
    weighs: ClassVar[Weighs] = Weighs.PAGES
    assumes: ClassVar[int] = 4

    def weighed(self, left: Evidence) -> Weighed:
        """The sums of what the regression leaves."""
        return weighed_pages(left)

    def chunks(self, evidence: Evidence) -> Iterator[Rankings]:
        """The groups that impressions' influences go by."""
        return paged(evidence)

    def estimate(self, evidence: Evidence) -> Estimate:
        counts, n, direct = evidence.counts, evidence.counts.total, fitted(evidence)
        found = self.weighed(residuals(evidence))
        sums = found.sums
        per_query = direct.expected + sums.credit / counts.impressions
        mean = evidence.mean(per_query)  # from the origin of the rewards
        if evidence.same:
            second = direct.second_moment_alike(evidence, found.same, mean)
        else:
            second = sums.second_moment(evidence, 0.0, mean - direct.expected)
            second += (found.drawn + direct.drawn_of_mean(evidence)) * n * (n - 1)
        base = found.influence(0.0, mean - direct.expected, 1.0)
        influence = direct.corrected(evidence, base, found.same, mean)
        return Estimate(
            value=float(counts.origin + mean),
            per_query=counts.origin + per_query,
            second_moment=second,
            effective_sample_size=sums.effective_sample_size(),
            clipped=sums.clipped / n,
            unsupported=sums.unsupported,
            warnings=[*direct.said, *sums.warnings],
            mean_weight=float(sums.mass.sum() / n),
            expected_weight=found.expected,
            distance=found.distance,
            model=direct.model,
            influence=influence,
            sizes=sums.effective_sizes(),
            spreads=lambda: spreads(evidence, lambda: self.chunks(evidence), influence),
        )


class DoublyRobustList(DoublyRobust):
    """V = 1/n Σᵢ E_target[r̂(qᵢ, ·)] + wᵢ·(rewardᵢ − r̂(qᵢ, Aᵢ)), with the weights of `list` and the r̂ of `dm`.

    Unbiased wherever the target's rankings were logged and nothing was clipped, whatever the regression says; a good
    regression makes it less noisy than `list`. Reference: Dudík, Langford and Li (2011).
    """

    name: ClassVar[str] = "dr-list"
    assumption: ClassVar[str] = "none where the target's rankings were logged; elsewhere the regression is right"
    needs: ClassVar[frozenset[Need]] = DoublyRobust.needs | {Need.RANKINGS}
    weighs: ClassVar[Weighs] = Weighs.RANKINGS
    clips: ClassVar[bool] = True
    clip_bias: ClassVar[str] = " towards the model's word"
    assumes: ClassVar[int] = 3

    def weighed(self, left: Evidence) -> Weighed:
        return weighed_rankings(left)

    def chunks(self, evidence: Evidence) -> Iterator[Rankings]:
        return known_rankings([evidence])

    def largest_weight(self, evidence: Evidence) -> float:
        return largest_weight(evidence)
