"""Position-based: a click is examination of the position times attraction of the item."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from counterrank.estimate import click_sums
from counterrank.estimate.base import CurveError, Vector
from counterrank.estimate.by_clicks import ByClicks, Weights
from counterrank.estimate.estimator import Weighs
from counterrank.records import dataclass
from counterrank.setting.cache import Same
from counterrank.setting.evidence import Evidence, ratios
from counterrank.setting.need import Need
from counterrank.statistics.counts import SHORT, Part


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
        return evidence.target.exposure(looks), evidence.logging.exposure(looks)

    def chances_of(self, evidence: Evidence, part: Part) -> tuple[Vector, Vector]:
        looks, of = self.looks(evidence), (part.first, part.last)
        return evidence.target.exposure_of(looks, *of), evidence.logging.exposure_of(looks, *of)

    def curve_error(self, evidence: Evidence, own: Weights) -> CurveError | None:
        """∂V/∂pₖ = θₖ/n Σ clicks·(h(a,k)/⟨θ∘p, π⟩ − π(a,k)·⟨θ∘p, h⟩/⟨θ∘p, π⟩²), where the weight is not clipped."""
        spread, counts = evidence.examination_spread, evidence.counts
        if spread is None or evidence.same or self.curve(evidence) is not evidence.examination:
            return None
        theta, slope = self.theta(evidence), np.zeros(evidence.cells.depth)
        for part in counts.parts():
            target, logging = self.chances_of(evidence, part)
            clicks = self._sums(evidence, part).clicks
            once = ratios(np.where(own.units(part)[1], 0.0, clicks), logging)
            slope += once @ evidence.target.part(part.first, part.last)
            slope -= ratios(once * target, logging) @ evidence.logging.part(part.first, part.last)
        return CurveError(theta * slope / counts.total, spread)

    def expected(self, evidence: Evidence, part: Part) -> Vector:
        """One attraction per pair, times what each position's looks are worth."""
        cells, mine, pairs = evidence.cells, part.cells, part.pairs
        starts, out = cells.starts[pairs.start : pairs.stop + 1], np.empty(mine.stop - mine.start)
        attraction = self._sums(evidence, part).attraction
        click_sums.looked(starts, cells.positions[mine], attraction, self.looks(evidence), out)
        return out

    def alone(self, evidence: Evidence) -> float:
        """Pooled over all pairs: an attraction from N impressions takes up one of their degrees of freedom."""
        squares = freedom = 0.0
        for part in evidence.counts.parts():
            sums = self._sums(evidence, part)
            squares += float(sums.within.sum())
            freedom += float(np.maximum(sums.seen - 1, 0).sum())
        return squares / freedom if freedom else 0.0

    def variances(self, evidence: Evidence, part: Part, alone: Vector | float) -> Vector:
        sums = self._sums(evidence, part)
        return np.where(sums.seen == 1, alone, ratios(sums.within, np.maximum(sums.seen - 1.0, 0.0)))

    def _sums(self, evidence: Evidence, part: Part) -> PairSums:
        """Of the pairs of some queries; those of a short log, which is one part, are kept."""

        def made() -> PairSums:
            return PairSums.of(evidence, part, self.theta(evidence), self.looks(evidence))

        if part.cells.stop - part.cells.start < len(evidence.cells) or len(evidence.cells) > SHORT:
            return made()
        of = map(Same, (evidence.counts, evidence.examination, evidence.weights))
        return evidence.cache.get((PairSums, self.name, evidence.same, *of), made)


@dataclass(frozen=True)
class PairSums:
    """What the impressions of each pair add up to, with θ and what each position's looks are worth, θ∘p."""

    seen: Vector  # Σ shown
    looked: Vector  # Σ shown·looks
    looked2: Vector  # Σ shown·looks²
    clicks: Vector  # Σ clicked·θ
    looked_clicks: Vector  # Σ clicked·θ·looks
    clicks2: Vector  # Σ clicked·θ²

    @classmethod
    def of(cls, evidence: Evidence, part: Part, theta: Vector, looks: Vector) -> PairSums:
        counts, cells, pairs = evidence.counts, evidence.cells, part.pairs
        out = np.zeros((6, pairs.stop - pairs.start))
        click_sums.by_pair(
            cells.starts[pairs.start : pairs.stop + 1], cells.positions, counts.shown, counts.clicked, theta, looks, out
        )
        return cls(*out)

    @cached_property
    def attraction(self) -> Vector:
        """Clicks for each look."""
        return ratios(self.clicks, self.looked)

    @cached_property
    def within(self) -> Vector:
        """How clicks vary about what the attraction promises."""
        return self.clicks2 - 2 * self.attraction * self.looked_clicks + self.attraction**2 * self.looked2
