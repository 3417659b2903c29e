"""Doubly robust: the direct method's word, put right by the weighted rewards that it leaves unexplained."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

from counterrank.estimate import _page
from counterrank.estimate._direct import Direct, fitted
from counterrank.estimate._groups import paged, spreads
from counterrank.estimate._influence import Influence
from counterrank.estimate.base import Estimate, Evidence, Page, Vector
from counterrank.estimate.list import ListSums, known_rankings, weigh
from counterrank.statistics.rankings import Rankings


class DoublyRobust:
    """V = 1/n Σᵢ E_target[r̂(qᵢ, ·)] + wᵢ·(rewardᵢ − r̂(qᵢ, Aᵢ)), with the weights of `pi` and the r̂ of `dm`.

    Right if either is: the regression, or `pi`'s assumption. What the log cannot tell is the model's word alone.
    Reference: swaminathan2017, section 5, names it.
    """

    name: ClassVar[str] = "dr"
    assumption: ClassVar[str] = "what the regression leaves unexplained is a sum over (item, position) pairs"
    needs_clicks: ClassVar[bool] = False
    needs_rankings: ClassVar[bool] = False
    needs_pairs: ClassVar[bool] = True
    needs_features: ClassVar[bool] = True
    clips: ClassVar[bool] = False

    def estimate(self, evidence: Evidence) -> Estimate:
        direct = fitted(evidence)
        left = direct.residuals(evidence)
        found = _page.weigh(left)
        expected = 1.0 if found.sums.unsupported == 0 else None
        return _combined(
            evidence, direct, found.sums, 1.0, found.drawn, expected, lambda value: found.influence(left, 0.0, value),
            paged, found.page,
        )  # fmt: skip


class DoublyRobustList:
    """V = 1/n Σᵢ E_target[r̂(qᵢ, ·)] + wᵢ·(rewardᵢ − r̂(qᵢ, Aᵢ)), with the weights of `list` and the r̂ of `dm`.

    Unbiased wherever the target's rankings were logged and nothing was clipped, whatever the regression says; a good
    regression makes it less noisy than `list`. Reference: Dudík, Langford and Li (2011).
    """

    name: ClassVar[str] = "dr-list"
    assumption: ClassVar[str] = "none where the target's rankings were logged; elsewhere the regression is right"
    needs_clicks: ClassVar[bool] = False
    needs_rankings: ClassVar[bool] = True
    needs_pairs: ClassVar[bool] = False
    needs_features: ClassVar[bool] = True
    clips: ClassVar[bool] = True

    def estimate(self, evidence: Evidence) -> Estimate:
        direct = fitted(evidence)
        left = direct.residuals(evidence)
        sums = weigh(left)
        return _combined(
            evidence, direct, sums, min(1.0, evidence.clip), 0.0, 1 - sums.unsupported,
            lambda value: sums.influence(left, 0.0, value, 1.0), lambda evidence: known_rankings([evidence]),
        )  # fmt: skip


def _combined(
    evidence: Evidence, direct: Direct, sums: ListSums, same: float, drawn: float, expected: float | None,
    base: Callable[[Vector], Influence], chunks: Callable[[Evidence], Iterator[Rankings]], page: Page | None = None,
) -> Estimate:  # fmt: skip
    """The model's word and the weighted residuals, `sums`. `same`: every weight, where target and logging are one.

    `base`: the influence on the residuals' part, less a value per query.
    """
    counts, n = evidence.counts, evidence.counts.total
    per_query = direct.expected + sums.credit / counts.impressions
    mean = evidence.mean(per_query)  # from the origin of the rewards
    if evidence.same:
        second = direct.second_moment_alike(evidence, same, mean)
    else:
        second = sums.second_moment(evidence, 0.0, mean - direct.expected)
        second += (drawn + direct.drawn_of_mean(evidence)) * n * (n - 1)
    influence = direct.corrected(evidence, base(mean - direct.expected), same, mean)
    return Estimate(
        float(counts.origin + mean), counts.origin + per_query, second, sums.effective_sample_size(),
        sums.clipped / n, sums.unsupported, [*direct.said, *sums.warnings], float(sums.mass.sum() / n), expected, page,
        direct.model, influence=influence, sizes=sums.effective_sizes(),
        spreads=lambda: spreads(evidence, lambda: chunks(evidence), influence),
    )  # fmt: skip
