"""Position-based: a click is examination of the position times attraction of the item."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterrank.estimate.base import Evidence, Linear, Thin, Vector, constant, share_of
from counterrank.estimate.ip import estimated_freely, expected_weight, ratios


class PositionBased:
    """V = 1/n Σᵢ Σₖ θₖ·clickᵢₖ·min(⟨θ∘p, h(aₖ,·|q)⟩ / ⟨θ∘p, π(aₖ,·|q)⟩, M).

    Unbiased if an item's chance of a click is its attraction times the position's examination p, and p is right. An
    item helps to judge every position, so it needs fewer logged pairs than `ip`. Reference: li2018, section 3.5.
    """

    name: ClassVar[str] = "pbm"
    assumption: ClassVar[str] = "a click is the examination of the position times the attraction of the item"
    needs_clicks: ClassVar[bool] = True
    needs_rankings: ClassVar[bool] = False
    needs_pairs: ClassVar[bool] = False
    needs_features: ClassVar[bool] = False
    clips: ClassVar[bool] = True

    def examination(self, evidence: Evidence) -> Vector:
        return evidence.examination

    def looks_below(self, evidence: Evidence) -> float:
        return evidence.looks_below[0]

    def estimate(self, evidence: Evidence) -> Linear:
        counts, examination = evidence.counts, self.examination(evidence)
        theta = evidence.weights if evidence.same else np.where(examination > 0, evidence.weights, 0.0)
        looks = theta * examination
        target, logging = evidence.shown_by_target @ looks, evidence.shown_by_logging @ looks
        exposure = counts.shown @ looks
        weight, clipped = evidence.ratio(target, logging, np.asarray(counts.shown.any(axis=1)))
        clicks = np.asarray(counts.clicked @ theta, dtype=np.float64)
        credit = weight * clicks
        value = float(credit.sum() / counts.total)
        free = estimated_freely(evidence, clipped)
        attraction = ratios(clicks, exposure)
        offset = np.where(free, weight * attraction, 0.0)[:, None] * looks
        shape = counts.shown.shape
        never = np.zeros(len(target)) if evidence.same else np.where(logging > 0, 0.0, target)
        total = float(looks.sum()) + self.looks_below(evidence)
        return Linear(
            value,
            evidence.per_query(credit) / counts.impressions,
            np.broadcast_to(weight[:, None], shape),
            theta,
            offset,
            constant(evidence, offset, value),
            self._thin(evidence, np.where(free, weight, 0.0), attraction, theta, looks),
            share_of(clipped[:, None], counts.shown),
            evidence.mean(evidence.per_query(never)) / total if total else 0.0,
            expected_weight=expected_weight(evidence, np.broadcast_to(weight[:, None], shape)),
        )

    def _thin(self, evidence: Evidence, weight: Vector, attraction: Vector, theta: Vector, looks: Vector) -> Thin:
        """As `ip`'s: an attraction from N impressions takes up one of their degrees of freedom."""
        counts = evidence.counts
        expected = attraction[:, None] * looks
        squares = (theta**2 * counts.clicked - 2 * theta * expected * counts.clicked + expected**2 * counts.shown).sum(
            1
        )
        seen = counts.shown.sum(axis=1)
        freedom = np.maximum(seen - 1, 0)
        pooled = squares.sum() / freedom.sum() if freedom.sum() else 0.0
        return Thin(weight, np.where(seen == 1, pooled, ratios(squares, freedom.astype(float))))
