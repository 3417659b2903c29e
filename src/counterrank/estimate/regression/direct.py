"""What a regression says of a policy: the mean of r̂ over its rankings, and the rewards that r̂ leaves unexplained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterrank.estimate.base import Model, Vector
from counterrank.estimate.influence import Influence, Moved
from counterrank.estimate.regression.fit_error import influence_of_fit
from counterrank.estimate.regression.regression import Regression, less, regression
from counterrank.records import dataclass
from counterrank.setting.cache import shared
from counterrank.setting.evidence import Evidence, LogEvidence
from counterrank.statistics.counts import Counts
from counterrank.statistics.rankings import Changed, Rankings


@dataclass(frozen=True)
class Direct:
    """The fitted model on this evidence. Rewards are counted from the log's origin, in `expected` too."""

    regression: Regression
    expected: Vector  # (Q,) E_target[r̂]
    drawn: Vector  # (Q,) its variance from drawn rankings
    missing: float  # share of what the target shows that has no features
    said: list[str]

    @property
    def model(self) -> Model:
        return self.regression.model

    def drawn_of_mean(self, evidence: Evidence) -> float:
        """The variance of the mean of `expected` over impressions, from drawn rankings."""
        share = evidence.counts.impressions / evidence.counts.total
        return float((share**2 * self.drawn).sum())

    def second_moment_alike(self, evidence: Evidence, w: float, mean: float) -> float:
        """Σψ² where every impression has the weight w: ψ = w·r + (1 − w)·r̂ − mean."""
        left, whole = float(self.regression.reward2.sum()), float(evidence.counts.reward2.sum())
        squares = w**2 * left + w * (whole - left - self.regression.predicted2) + self.regression.predicted2
        return max(squares - evidence.counts.total * mean**2, 0.0)

    def influence(self, evidence: Evidence, mean: float) -> Influence:
        """On the mean of `expected`: the noise of a linear regression; of others only how queries differ."""
        if self.regression.linear:
            return influence_of_fit(evidence, self.regression, self.expected)
        worth, origin = self.expected - mean, evidence.counts.origin

        def moved(chunk: Rankings) -> Moved:
            none = np.zeros(len(chunk))
            level = worth[chunk.queries]
            return Moved(none, level, none, none + 1, none > 0, level + mean + origin)

        return moved

    def corrected(self, evidence: Evidence, base: Influence, w: float, mean: float) -> Influence:
        """With what weighted residuals add, `base` being that on residuals; w: every weight of the logging policy."""
        word, origin = self.expected, evidence.counts.origin

        def moved(chunk: Rankings) -> Moved:
            guess = self.regression.of(chunk)
            if evidence.same:
                none = np.zeros(len(chunk))
                term = (1 - w) * guess
                return Moved(none + w, term - mean, none, none + w, none > 0, term + origin)
            found = base(less(chunk, guess))
            term = word[chunk.queries] - found.slope * guess + origin
            return replace(found, level=found.level - found.slope * guess, term=term)

        return moved


def residuals(evidence: Evidence) -> Evidence:
    """The same evidence, with r − r̂ for rewards."""
    return replace(evidence, counts=_unexplained(evidence))


@shared(target=False, clip=False)
def _unexplained(evidence: LogEvidence) -> Counts:
    fit = regression(evidence)

    def left(chunk: Rankings) -> Rankings:
        return less(chunk, fit.prediction.of(chunk.queries, chunk.rows))

    rankings, pages = (
        Changed(groups, left) if groups is not None else None
        for groups in (evidence.counts.rankings, evidence.counts.pages)
    )
    return replace(evidence.counts, rankings=rankings, pages=pages, reward=fit.reward, reward2=fit.reward2, origin=0.0)


@shared(target=True, clip=False)
def fitted(evidence: Evidence) -> Direct:
    """The model of this evidence; the estimators that need one share it."""
    fit = regression(evidence)
    if evidence.same:  # the logging policy is what the log shows
        expected, drawn, said = fit.predicted / evidence.counts.impressions, np.zeros(len(fit.predicted)), list[str]()
    else:
        expected, drawn, said = fit.prediction.expected(evidence)
    missing, lacking = fit.page.without(evidence)
    return Direct(fit, expected, drawn, missing, [*fit.said, *lacking, *said])
