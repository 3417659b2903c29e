"""Cascade doubly robust: click rates say what clicks are expected, weighted clicks put them right."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate.cascade.by_prefixes import ByPrefixes, Guess
from counterrank.estimate.cascade.chances import prefix_chances
from counterrank.estimate.cascade.next_item import add_next
from counterrank.estimate.cascade.prefixes import Prefixes
from counterrank.setting.evidence import Evidence, ratios

Vector = NDArray[np.float64]
MOST_CELLS = 1 << 22  # pairs × positions that are held at once
STRENGTH = 10.0  # impressions that a position's overall click rate counts for in an item's own


class CascadeDoublyRobust(ByPrefixes):
    """V = 1/n Σᵢ V̂₁ + Σₖ w(a₁…aₖ)·(θₖ·clickᵢₖ + V̂ₖ₊₁ − Q̂ₖ), with the weights of `rips`.

    Q̂ₖ is what click rates say of the item at k and of all that the target shows below, given whether there was a click
    above; V̂ₖ is its mean over what the target shows at k after the items above. Right if `rips` is or the rates are,
    and less noisy than `rips` where the logging policy is known. For what the log never shows the rates stand alone.
    Reference: Kiyohara, Saito, Matsuhiro, Narita, Shimizu and Yamamoto, Doubly Robust Off-Policy Evaluation for Ranking
    Policies under the Cascade Behavior Model, WSDM 2022.
    """

    name: ClassVar[str] = "cdr"
    assumption: ClassVar[str] = "as rips; and what the log never shows is clicked as click rates say"
    assumes: ClassVar[int] = 2
    clip_bias: ClassVar[str] = " towards the click rates' word"
    modelled: ClassVar[str] = "click rates of items"

    def guess(self, evidence: Evidence, found: Prefixes) -> Guess:
        """From the last position up, so that nothing but what stands at one position is held for all items."""
        pairs, there, target = evidence.counts.pairs, found.there, prefix_chances(evidence).target
        above = (np.cumsum(found.clicks, axis=1) > 0).astype(np.int64)
        before = np.pad(above, ((0, 0), (1, 0)))[:, :-1]
        shows, mine, ahead = _shown_at(evidence), np.zeros(there.shape), np.zeros((len(found), 2))
        below = np.zeros((len(evidence.counts.impressions), 2))  # what the target's items from here on bring
        for k in range(there.shape[1] - 1, -1, -1):
            p, later = _rates(found, k, before[:, k], len(pairs)), below[pairs.queries]
            worth = evidence.weights[k] * p + p * later[:, 1:] + (1 - p) * later  # (P, 2) Q̂
            below = np.stack([evidence.per_query(shows(k) * worth[:, z]) for z in (0, 1)], axis=1)
            mine[:, k] = worth[np.where(there[:, k], found.rankings[:, k], 0), before[:, k]]
            if k:
                add_next(evidence, k, worth, ahead)
        ahead = np.divide(ahead, target[:, None], out=np.zeros_like(ahead), where=target[:, None] > 0)
        follows = np.vstack([ahead, np.zeros((1, 2))])[found.at, above]  # beyond the end nothing does
        return Guess(np.where(there, mine - follows, 0.0), below[found.patterns.queries, 0])


def _shown_at(evidence: Evidence) -> Callable[[int], Vector]:
    """(P,) the target's chances of showing each pair at a position, from one table where that is not too large."""
    pairs, target = evidence.counts.pairs, evidence.target
    if len(pairs) * pairs.positions <= MOST_CELLS:
        table = target.marginals()
        return lambda k: table[:, k]
    rows = np.arange(len(pairs))
    return lambda k: target.at(rows, np.full(len(rows), k))


def _rates(found: Prefixes, k: int, before: NDArray[np.int64], pairs: int) -> Vector:
    """(P, 2) click rates of pairs at a position without and with a click above, drawn towards the position's."""
    there = found.there[:, k]
    cell, n = found.rankings[there, k] * 2 + before[there], found.impressions[there]
    shown, clicked = (np.bincount(cell, each, pairs * 2).reshape(pairs, 2) for each in (n, n * found.clicks[there, k]))
    overall = ratios(clicked.sum(axis=0), shown.sum(axis=0))
    return np.asarray((clicked + STRENGTH * overall) / (shown + STRENGTH))
