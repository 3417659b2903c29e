"""Reward-interaction: a click depends on its item and on all that stands above it."""

from __future__ import annotations

from typing import ClassVar

from counterrank.estimate.cascade.by_prefixes import ByPrefixes


class RewardInteraction(ByPrefixes):
    """V = 1/n Σᵢ Σₖ θₖ·clickᵢₖ·min(h(a₁…aₖ|q)/π(a₁…aₖ|q), M).

    Unbiased if users read from the top, so that what stands below an item does not move its click, wherever the
    target's beginnings of rankings were logged and nothing was clipped. Reference: McInerney, Brost, Chandar, Mehrotra
    and Carterette, Counterfactual Evaluation of Slate Recommendations with Sequential Reward Interactions, KDD 2020.
    """

    name: ClassVar[str] = "rips"
    assumption: ClassVar[str] = "a click depends on the item and on what stands above it, not on what stands below"
    assumes: ClassVar[int] = 1
