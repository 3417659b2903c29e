"""Cascade doubly robust: click rates say what clicks are expected, weighted clicks put them right."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate.cascade.by_prefixes import ByPrefixes, Guess
from counterrank.estimate.cascade.next_item import expected_next
from counterrank.estimate.cascade.prefixes import Prefixes
from counterrank.setting.evidence import Evidence, ratios

Vector = NDArray[np.float64]
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
        clicked_above = (np.cumsum(found.clicks, axis=1) > 0).astype(np.int64)
        before = np.pad(clicked_above, ((0, 0), (1, 0)))[:, :-1]
        worth = _worth(evidence, _rates(evidence, found, before))
        ahead = np.vstack([expected_next(evidence, worth), np.zeros((1, 2))])  # beyond the end nothing follows
        position = np.arange(found.rankings.shape[1])
        mine = worth[np.where(found.there, found.rankings, 0), position, before]
        clicks = np.where(found.there, mine - ahead[found.at, clicked_above], 0.0)
        rows = np.arange(len(evidence.counts.pairs))
        first = evidence.per_query(evidence.target.at(rows, np.zeros_like(rows)) * worth[:, 0, 0])
        return Guess(clicks, first[found.patterns.queries])


def _rates(evidence: Evidence, found: Prefixes, before: NDArray[np.int64]) -> Vector:
    """(P, K, 2) click rates of pairs at positions without and with a click above, drawn towards the position's."""
    size, depth = len(evidence.counts.pairs), found.rankings.shape[1]
    there, n = found.there, np.broadcast_to(found.impressions[:, None], found.at.shape)
    cell = (found.rankings * depth + np.arange(depth)) * 2 + before
    shown, clicked = (
        np.bincount(cell[there], each[there], size * depth * 2).reshape(size, depth, 2)
        for each in (n, n * found.clicks)
    )
    overall = ratios(clicked.sum(axis=0), shown.sum(axis=0))
    return np.asarray((clicked + STRENGTH * overall) / (shown + STRENGTH))


def _worth(evidence: Evidence, rate: Vector) -> Vector:
    """(P, K, 2) Q̂: an item's click, and what the target's items below bring after it, by their own marginals."""
    worth, queries = np.empty_like(rate), evidence.counts.pairs.queries
    below, target = np.zeros((len(evidence.counts.impressions), 2)), evidence.target.marginals()
    for k in range(rate.shape[1] - 1, -1, -1):
        p, later = rate[:, k], below[queries]
        worth[:, k] = evidence.weights[k] * p + p * later[:, 1:] + (1 - p) * later
        below = np.stack([evidence.per_query(target[:, k] * worth[:, k, z]) for z in (0, 1)], axis=1)
    return worth
