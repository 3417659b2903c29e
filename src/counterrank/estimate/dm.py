"""Direct method: a regression says what each page is worth; the log's rewards are used for nothing else."""

from __future__ import annotations

from typing import ClassVar

from counterrank.estimate.base import Estimate
from counterrank.estimate.estimator import Estimator
from counterrank.estimate.groups import moments, paged, spreads
from counterrank.estimate.regression.direct import fitted
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need


class DirectMethod(Estimator):
    """V = 1/n Σᵢ Σ_A target(A|q)·r̂(q, A), with r̂ a regression of rewards on the features of all slots.

    As good as the regression, on rankings unlike those it learnt from too. Each query is predicted by a model that was
    fitted on others. Reference: swaminathan2017, section 4.
    """

    name: ClassVar[str] = "dm"
    assumption: ClassVar[str] = "the regression is right, for pages that the log never shows too"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.PAGES, Need.MARGINALS, Need.FEATURES})
    modelled: ClassVar[str] = "the regression"
    blind: ClassVar[str] = (
        "it is the regression's word alone, and the interval does not hold the regression's own error"
    )

    def estimate(self, evidence: Evidence) -> Estimate:
        counts, n = evidence.counts, evidence.counts.total
        direct = fitted(evidence)
        mean = evidence.mean(direct.expected)  # from the origin of the rewards
        influence = direct.influence(evidence, mean)
        squares = moments(evidence, lambda: paged(evidence), influence).squares
        second = float(squares.sum()) + direct.drawn_of_mean(evidence) * n * (n - 1)
        if direct.regression.linear:
            held = "the noise of the regression, not that it may be wrong"
        else:
            held = "how queries differ, not the model's own error, which may be larger"
        said = [*direct.said, f"the interval holds {held}"]
        value, per_query = float(counts.origin + mean), counts.origin + direct.expected
        return Estimate(
            value=value,
            per_query=per_query,
            second_moment=second,
            effective_sample_size=float(n),
            clipped=0.0,
            unsupported=direct.missing,
            warnings=said,
            model=direct.model,
            influence=influence,
            spreads=lambda: spreads(evidence, lambda: paged(evidence), influence),
        )
