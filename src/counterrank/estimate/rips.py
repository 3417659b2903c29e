"""Reward-interaction: a click depends on its item and on all that stands above it."""

from __future__ import annotations

from typing import ClassVar

from counterrank.estimate.cascade.by_prefixes import ByPrefixes
from counterrank.estimate.cascade.chances import largest_sum
from counterrank.estimate.cascade.prefixes import prefixes
from counterrank.setting.evidence import Evidence


class RewardInteraction(ByPrefixes):
    """V = 1/n Σᵢ Σₖ θₖ·clickᵢₖ·min(h(a₁…aₖ|q)/π(a₁…aₖ|q), M).

    Unbiased if users read from the top, so that what stands below an item does not move its click, wherever the
    target's beginnings of rankings were logged and nothing was clipped. Reference: McInerney, Brost, Chandar, Mehrotra
    and Carterette, Counterfactual Evaluation of Slate Recommendations with Sequential Reward Interactions, KDD 2020.
    """

    name: ClassVar[str] = "rips"
    assumption: ClassVar[str] = "a click depends on the item and on what stands above it, not on what stands below"
    assumes: ClassVar[int] = 1

    def limits(self, evidence: Evidence) -> tuple[float, float]:
        """All clicked: the weights along a ranking, of the logged ones or of all that the target shows."""
        found, theta = prefixes(evidence), evidence.weights
        if evidence.same:
            return 0.0, float(theta.sum()) * min(1.0, evidence.clip)
        weight, _ = self.weights(evidence)
        most = float((found.of(weight) * theta).sum(axis=1).max(initial=0.0))
        return 0.0, most if evidence.shares else max(most, largest_sum(evidence, theta))
