"""Item-position with self-normalised weights, per position."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterrank.estimate.base import Vector
from counterrank.estimate.ip import ItemPosition
from counterrank.setting.evidence import Evidence, ratios
from counterrank.statistics.counts import Part
from counterrank.statistics.pairs import sum_by


class WeightedItemPosition(ItemPosition):
    """V = Σₖ sₖ·(Σᵢ wᵢₖ·θₖ·clickᵢₖ)/(Σᵢ wᵢₖ), with sₖ the share of impressions that have position k.

    Trades a small bias for less variance; what was never logged is taken to be like what was. Undefined where the
    weights of a position sum to 0. Reference: swaminathan2017's semi-bandit baseline; li2018 for the weights.
    """

    name: ClassVar[str] = "wip"
    assumption: ClassVar[str] = "as ip; and what the log never shows is clicked like what it shows"
    self_normalised: ClassVar[bool] = True
    clip_bias: ClassVar[str] = ""

    def norm(
        self, evidence: Evidence, credit: Vector, mass: Vector
    ) -> tuple[Vector | float, Vector | float, list[str]]:
        counts, cells, counted = evidence.counts, evidence.cells, evidence.weights > 0
        share = cells.by_position(counts.shown) / counts.total
        lost = np.flatnonzero((mass == 0) & counted & (share > 0))
        gain = np.where(counted, share * ratios(np.full_like(mass, counts.total), mass), 0.0)
        why = [f"undefined: {_reason(evidence, k)} at position {k + 1}" for k in lost[:1]]
        return gain, ratios(credit, mass), why

    def per_query(self, evidence: Evidence, part: Part, credit: Vector, weight: Vector) -> Vector:
        counts, places, mine = evidence.counts, evidence.counts.places_of(part), part.cells
        n, logged = counts.impressions[part.first : part.last], counts.shown[mine]
        top, bottom, shown = (places.sums(each) for each in (credit, weight * logged, logged))
        counted = places.sums(evidence.weights[evidence.cells.positions[mine]] > 0) > 0
        lost = sum_by(places.queries, (bottom == 0) & (shown > 0) & counted, len(n)) > 0
        rate = sum_by(places.queries, shown * ratios(top, bottom), len(n)) / n
        return np.where(lost, np.nan, rate)


def _reason(evidence: Evidence, position: int) -> str:
    if evidence.target.exposure(np.eye(evidence.cells.depth)[position]).any():
        return "the log never shows what the target shows"
    return "the target shows nothing"
