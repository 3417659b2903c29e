"""What the estimators for users who read from the top have in common: each click weighed with all above its item."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate.base import Estimate, Vector
from counterrank.estimate.cascade.chances import logged_chances, prefix_chances
from counterrank.estimate.cascade.influence import PatternInfluence
from counterrank.estimate.cascade.prefixes import Prefixes, prefixes
from counterrank.estimate.estimator import Estimator, Weighs
from counterrank.records import dataclass
from counterrank.setting.evidence import Evidence, ratios
from counterrank.setting.need import Need
from counterrank.statistics.pairs import sum_by


@dataclass(frozen=True)
class Guess:
    """What a model says: of each click of the patterns, (G, K), and of the target as a whole, (G,)."""

    clicks: Vector | float = 0.0
    target: Vector | float = 0.0


class ByPrefixes(Estimator):
    """V = 1/n Σᵢ ĝᵢ + Σₖ w(a₁…aₖ)·(θₖ·clickᵢₖ − ĝᵢₖ), with w = min(h/π, M) of the items down to k.

    Without a model (`guess`) all ĝ are 0. Weights and clicks may come from the same rows: see `ByClicks`.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({Need.CLICKS, Need.MARGINALS, Need.PATTERNS})
    weighs: ClassVar[Weighs] = Weighs.PREFIXES
    clips: ClassVar[bool] = True
    asked_for: ClassVar[bool] = True

    def guess(self, evidence: Evidence, found: Prefixes) -> Guess:
        """What is taken from each click, and what is put in its place."""
        return Guess()

    def weights(self, evidence: Evidence) -> tuple[Vector, NDArray[np.bool_]]:
        """(V,) of the prefixes, and which were clipped."""
        chance = prefix_chances(evidence)
        return evidence.ratio(chance.target, chance.logging)

    def largest_weight(self, evidence: Evidence) -> float:
        return 0.0 if evidence.same else float(self.weights(evidence)[0].max(initial=0.0))

    def estimate(self, evidence: Evidence) -> Estimate:
        counts, found = evidence.counts, prefixes(evidence)
        weight, clipped = self.weights(evidence)
        guess = Guess() if evidence.same else self.guess(evidence, found)
        gain = np.where(found.there, evidence.weights * found.clicks - guess.clicks, 0.0)
        term = (found.of(weight) * gain).sum(axis=1) + guess.target  # (G,)
        per_query = sum_by(found.patterns.queries, term * found.impressions, len(counts.impressions))
        value = float(per_query.sum() / counts.total)
        free = np.zeros(len(found)) if evidence.same or not evidence.shares else np.where(clipped, 0.0, weight)
        centre = found.summed(gain) / found.shown
        removed, back = free * centre, sum_by(found.query, free * centre * found.shown, len(counts.impressions))
        influence = term - found.of(removed).sum(axis=1) + (back / counts.impressions)[found.patterns.queries]
        unseen = prefix_chances(evidence).unseen
        moved = PatternInfluence(
            found=found,
            influence=influence - value,
            term=term,
            weight=_mean_weights(found, weight),
            left=np.where(found.there, found.of(free) * (gain - found.of(centre)), 0.0),
            limits=self.limits(evidence),
            alone=free * _spread(found, gain),
        )
        return Estimate(
            value=value,
            per_query=per_query / counts.impressions,
            second_moment=moved.second_moment(),
            effective_sample_size=moved.effective_sample_size(),
            clipped=float((clipped * found.shown).sum() / found.shown.sum()),
            unsupported=evidence.mean(unseen) / max(evidence.positions, 1),
            unseen=ratios(unseen, evidence.target.by_query().sum(axis=1)),
            warnings=list(prefix_chances(evidence).said),
            mean_weight=float(moved.weight @ found.impressions / counts.total),
            expected_weight=_expected(evidence, found, weight),
            spreads=moved.spreads,
            width=self._width(evidence, found, weight, guess),
            sizes=moved.sizes(len(counts.impressions)),
            within=moved.within(counts.impressions.astype(np.float64)),
            by_pattern=moved,
            terms=moved.terms(),
            no_terms="nobody can tell how far the model's word may be off for one impression",
        )

    def limits(self, evidence: Evidence) -> tuple[float, float] | None:
        """Between what numbers a term can lie, whatever is shown and clicked; infinite where nobody can tell."""
        return None

    def _width(self, evidence: Evidence, found: Prefixes, weight: Vector, guess: Guess) -> float | None:
        """How far apart two impressions' terms can lie: all positions clicked, or none."""
        worth = found.of(weight) * np.where(found.there, evidence.weights, 0.0)
        base = np.asarray(guess.target) - (found.of(weight) * np.where(found.there, guess.clicks, 0.0)).sum(axis=1)
        return float((worth.sum(axis=1) + base).max(initial=0.0) - np.min(base, initial=0.0))


def _mean_weights(found: Prefixes, weight: Vector) -> Vector:
    """(G,) of an impression's positions."""
    return np.asarray(found.of(weight).sum(axis=1) / found.there.sum(axis=1))


def _expected(evidence: Evidence, found: Prefixes, weight: Vector) -> float:
    """The mean weight under the logging policy, of the prefixes that were logged."""
    logging = logged_chances(evidence)
    size = len(evidence.counts.impressions)
    return evidence.mean(ratios(sum_by(found.query, weight * logging, size), sum_by(found.query, logging, size)))


def _spread(found: Prefixes, gain: Vector) -> Vector:
    """(V,) how much what a click brings varies at the prefix's position, over all impressions."""
    total, squares, n = found.summed(gain), found.summed(gain**2), found.shown
    sums = [sum_by(found.depth, each, int(found.depth.max()) + 1) for each in (n, total, squares)]
    variance = np.maximum(sums[2] / sums[0] - (sums[1] / sums[0]) ** 2, 0.0)
    return np.asarray(np.sqrt(variance)[found.depth])
