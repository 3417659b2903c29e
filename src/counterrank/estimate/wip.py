"""Item-position with self-normalised weights, per position."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterrank.estimate.base import Evidence, Linear, share_of
from counterrank.estimate.ip import (
    click_rates,
    estimated_freely,
    expected_weight,
    position_weights,
    ratios,
    thin_strata,
    unsupported_pairs,
)


class WeightedItemPosition:
    """V = Σₖ sₖ·(Σᵢ wᵢₖ·θₖ·clickᵢₖ)/(Σᵢ wᵢₖ), with sₖ the share of impressions that have position k.

    Trades a small bias for less variance; what was never logged is taken to be like what was. Undefined where the
    weights of a position sum to 0. Reference: swaminathan2017's semi-bandit baseline; li2018 for the weights.
    """

    name: ClassVar[str] = "wip"
    assumption: ClassVar[str] = "as ip; and what the log never shows is clicked like what it shows"
    needs_clicks: ClassVar[bool] = True
    needs_rankings: ClassVar[bool] = False
    needs_pairs: ClassVar[bool] = False
    needs_features: ClassVar[bool] = False
    clips: ClassVar[bool] = True

    def estimate(self, evidence: Evidence) -> Linear:
        counts, theta = evidence.counts, evidence.weights
        weight, clipped = position_weights(evidence)
        credit = weight * theta * counts.clicked
        mass = weight * counts.shown
        share = counts.shown.sum(axis=0) / counts.total
        bottom = mass.sum(axis=0)
        rate = ratios(credit.sum(axis=0), bottom)
        lost = np.flatnonzero((bottom == 0) & (theta > 0) & (share > 0))
        value = None if len(lost) else float((share * rate).sum())
        why = [f"undefined: {_reason(evidence, k)} at position {k + 1}" for k in lost[:1]]
        gain = np.where(theta > 0, share * ratios(np.full_like(bottom, counts.total), bottom), 0.0)
        free = estimated_freely(evidence, clipped)
        removed = np.where(free, gain * weight * (theta * click_rates(counts.shown, counts.clicked) - rate), 0.0)
        offset = gain * weight * rate + removed - rate
        back = evidence.per_query(removed * counts.shown) / counts.impressions
        return Linear(
            value,
            self._per_query(evidence, credit, mass),
            weight,
            gain * theta,
            offset,
            back - (value or 0.0),
            thin_strata(np.where(free, gain * weight * theta, 0.0), counts.shown, counts.clicked),
            share_of(clipped, counts.shown),
            unsupported_pairs(evidence),
            why,
            expected_weight(evidence, weight),
            bounded=False,
        )

    def _per_query(self, evidence: Evidence, credit: np.ndarray, mass: np.ndarray) -> np.ndarray:
        starts = evidence.counts.pairs.starts[:-1]
        top, bottom, shown = (np.add.reduceat(t, starts, axis=0) for t in (credit, mass, evidence.counts.shown))
        share = shown / evidence.counts.impressions[:, None]
        lost = ((bottom == 0) & (shown > 0) & (evidence.weights > 0)).any(axis=1)
        return np.where(lost, np.nan, (share * ratios(top, bottom)).sum(axis=1))


def _reason(evidence: Evidence, position: int) -> str:
    if evidence.shown_by_target[:, position].any():
        return "the log never shows what the target shows"
    return "the target shows nothing"
