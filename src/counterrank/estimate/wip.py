"""Item-position with self-normalised weights, per position."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterrank.estimate.base import Vector
from counterrank.estimate.ip import ItemPosition
from counterrank.setting.evidence import Evidence, ratios
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
        self, evidence: Evidence, credit: Vector, weight: Vector
    ) -> tuple[Vector | float, Vector | float, list[str]]:
        counts, cells, counted = evidence.counts, evidence.cells, evidence.weights > 0
        share, bottom = cells.by_position(counts.shown) / counts.total, cells.by_position(weight * counts.shown)
        lost = np.flatnonzero((bottom == 0) & counted & (share > 0))
        gain = np.where(counted, share * ratios(np.full_like(bottom, counts.total), bottom), 0.0)
        why = [f"undefined: {_reason(evidence, k)} at position {k + 1}" for k in lost[:1]]
        return gain, ratios(cells.by_position(credit), bottom), why

    def per_query(self, evidence: Evidence, credit: Vector, weight: Vector) -> Vector:
        counts, out = evidence.counts, np.empty(len(evidence.counts.impressions))
        for part in counts.parts():
            places, mine, n = counts.places_of(part), part.cells, counts.impressions[part.first : part.last]
            logged, size = counts.shown[mine], len(n)
            top, bottom, shown = (places.sums(each) for each in (credit[mine], weight[mine] * logged, logged))
            counted = places.sums(evidence.weights[evidence.cells.positions[mine]] > 0) > 0
            lost = sum_by(places.queries, (bottom == 0) & (shown > 0) & counted, size) > 0
            rate = sum_by(places.queries, shown * ratios(top, bottom), size) / n
            out[part.first : part.last] = np.where(lost, np.nan, rate)
        return out


def _reason(evidence: Evidence, position: int) -> str:
    if evidence.target.exposure(np.eye(evidence.cells.depth)[position]).any():
        return "the log never shows what the target shows"
    return "the target shows nothing"
