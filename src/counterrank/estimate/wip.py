"""Item-position with self-normalised weights, per position."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterrank.estimate.base import Vector
from counterrank.estimate.by_clicks import ratios
from counterrank.estimate.ip import ItemPosition
from counterrank.setting.evidence import Evidence
from counterrank.statistics.pairs import Table


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
        self, evidence: Evidence, credit: Table, weight: Table
    ) -> tuple[Vector | float, Vector | float, list[str]]:
        counts, counted = evidence.counts, evidence.weights > 0
        share, bottom = counts.shown.sum(axis=0) / counts.total, (weight * counts.shown).sum(axis=0)
        lost = np.flatnonzero((bottom == 0) & counted & (share > 0))
        gain = np.where(counted, share * ratios(np.full_like(bottom, counts.total), bottom), 0.0)
        why = [f"undefined: {_reason(evidence, k)} at position {k + 1}" for k in lost[:1]]
        return gain, ratios(credit.sum(axis=0), bottom), why

    def per_query(self, evidence: Evidence, credit: Table, weight: Table) -> Vector:
        counts = evidence.counts
        top, bottom = evidence.by_position(credit), evidence.by_position(weight * counts.shown)
        shown = evidence.by_position(counts.shown)
        share = shown / evidence.counts.impressions[:, None]
        lost = ((bottom == 0) & (shown > 0) & (evidence.weights > 0)).any(axis=1)
        return np.where(lost, np.nan, (share * ratios(top, bottom)).sum(axis=1))


def _reason(evidence: Evidence, position: int) -> str:
    if evidence.shown_by_target[:, position].any():
        return "the log never shows what the target shows"
    return "the target shows nothing"
