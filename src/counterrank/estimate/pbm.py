"""Position-based: a click is examination of the position times attraction of the item."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterrank.estimate.base import CurveError, Vector
from counterrank.estimate.by_clicks import ByClicks, Flags, ratios
from counterrank.estimate.estimator import Weighs
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need
from counterrank.statistics.pairs import Table


class PositionBased(ByClicks):
    """V = 1/n Σᵢ Σₖ θₖ·clickᵢₖ·min(⟨θ∘p, h(aₖ,·|q)⟩ / ⟨θ∘p, π(aₖ,·|q)⟩, M).

    Unbiased if an item's chance of a click is its attraction times the position's examination p, and p is right. An
    item helps to judge every position, so it needs fewer logged pairs than `ip`. Reference: li2018, section 3.5.
    """

    name: ClassVar[str] = "pbm"
    assumption: ClassVar[str] = "a click is the examination of the position times the attraction of the item"
    needs: ClassVar[frozenset[Need]] = ByClicks.needs | {Need.EXAMINATION}
    weighs: ClassVar[Weighs] = Weighs.ITEMS
    assumes: ClassVar[int] = 5
    misfits: ClassVar[tuple[str, str] | None] = (
        "the examination curve does not fit the clicks", "clicks are not examination times attraction"
    )  # fmt: skip

    def curve(self, evidence: Evidence) -> Vector:
        return evidence.examination

    def looks_below(self, evidence: Evidence) -> float:
        """Σ θ∘p of positions that no list reaches."""
        return evidence.looks_below[0]

    def theta(self, evidence: Evidence) -> Vector:
        return evidence.weights if evidence.same else np.where(self.curve(evidence) > 0, evidence.weights, 0.0)

    def looks(self, evidence: Evidence) -> Vector:
        return self.theta(evidence) * self.curve(evidence)

    def whole(self, evidence: Evidence) -> float:
        return float(self.looks(evidence).sum()) + self.looks_below(evidence)

    def chances(self, evidence: Evidence) -> tuple[Vector, Vector]:
        looks = self.looks(evidence)
        return _summed(evidence.shown_by_target, looks), _summed(evidence.shown_by_logging, looks)

    def weights(self, evidence: Evidence) -> tuple[Table, Flags]:
        weight, clipped = evidence.ratio(*self.chances(evidence), np.asarray(evidence.counts.shown.any(axis=1)))
        return weight[:, None], clipped[:, None]

    def curve_error(self, evidence: Evidence, clipped: Flags) -> CurveError | None:
        """∂V/∂pₖ = θₖ/n Σ clicks·(h(a,k)/⟨θ∘p, π⟩ − π(a,k)·⟨θ∘p, h⟩/⟨θ∘p, π⟩²), where the weight is not clipped."""
        spread = evidence.examination_spread
        if spread is None or evidence.same or self.curve(evidence) is not evidence.examination:
            return None
        target, logging = self.chances(evidence)
        theta = self.theta(evidence)
        clicks = np.where(clipped[:, 0], 0.0, evidence.counts.clicked @ theta)
        once = ratios(clicks, logging)
        slope = once @ evidence.shown_by_target - ratios(once * target, logging) @ evidence.shown_by_logging
        return CurveError(theta * slope / evidence.counts.total, spread)

    def expected(self, evidence: Evidence) -> Table:
        """One attraction per pair, times what each position's looks are worth."""
        return self._attraction(evidence)[:, None] * self.looks(evidence)

    def variances(self, evidence: Evidence) -> Table:
        """An attraction from N impressions takes up one of their degrees of freedom."""
        counts, theta, looks = evidence.counts, self.theta(evidence), self.looks(evidence)
        attraction = self._attraction(evidence)
        within = counts.clicked @ theta**2 - 2 * attraction * (counts.clicked @ (theta * looks))
        within += attraction**2 * (counts.shown @ looks**2)
        seen = counts.shown.sum(axis=1)
        freedom = np.maximum(seen - 1, 0)
        pooled = within.sum() / freedom.sum() if freedom.sum() else 0.0
        return np.where(seen == 1, pooled, ratios(within, freedom.astype(float)))[:, None]

    def _attraction(self, evidence: Evidence) -> Vector:
        """(P,) clicks for each look."""
        counts = evidence.counts
        clicks = np.asarray(counts.clicked @ self.theta(evidence), dtype=np.float64)
        return ratios(clicks, counts.shown @ self.looks(evidence))


def _summed(table: Table, looks: Vector) -> Vector:
    return table[:, 0] * looks[0] if table.shape[1] == 1 else table @ looks
