"""Item-position: a click depends on the item and on where it stands."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate.base import Evidence, Linear, Thin, Vector, constant, share_of
from counterrank.statistics.pairs import Table


class ItemPosition:
    """V = 1/n Σᵢ Σₖ θₖ·clickᵢₖ·min(h(aₖ,k|q)/π(aₖ,k|q), M).

    Unbiased if the chance of a click depends only on the query, the item and its position, wherever the target's
    (item, position) pairs were logged and nothing was clipped. Reference: li2018, section 3.2 and table 2.
    """

    name: ClassVar[str] = "ip"
    assumption: ClassVar[str] = "a click depends on the item and its position, not on the other items shown"
    needs_clicks: ClassVar[bool] = True
    needs_rankings: ClassVar[bool] = False
    needs_pairs: ClassVar[bool] = False
    needs_features: ClassVar[bool] = False
    clips: ClassVar[bool] = True

    def estimate(self, evidence: Evidence) -> Linear:
        counts, theta = evidence.counts, evidence.weights
        weight, clipped = position_weights(evidence)
        credit = weight * theta * counts.clicked
        value = float(credit.sum() / counts.total)
        free = estimated_freely(evidence, clipped)
        rate = click_rates(counts.shown, counts.clicked)
        offset = np.where(free, weight * theta * rate, 0.0)
        return Linear(
            value,
            evidence.per_query(credit) / counts.impressions,
            weight,
            theta,
            offset,
            constant(evidence, offset, value),
            thin_strata(np.where(free, weight * theta, 0.0), counts.shown, counts.clicked),
            share_of(clipped, counts.shown),
            unsupported_pairs(evidence),
            expected_weight=expected_weight(evidence, weight),
        )


def expected_weight(evidence: Evidence, weight: Table) -> float:
    """The mean weight of an impression's positions under the logging policy."""
    shown = evidence.shown_by_logging
    return evidence.mean(ratios(evidence.per_query(weight * shown), evidence.per_query(shown)))


def position_weights(evidence: Evidence) -> tuple[Table, NDArray[np.bool_]]:
    """min(h/π, M) per (pair, position), and which were clipped."""
    return evidence.ratio(evidence.shown_by_target, evidence.shown_by_logging, evidence.counts.shown > 0)


def estimated_freely(evidence: Evidence, clipped: NDArray[np.bool_]) -> NDArray[np.bool_] | np.bool_:
    """Where a weight moves with the log's own shares: it was estimated, and is not held by the clip."""
    return ~clipped if evidence.shares and not evidence.same else np.False_


def click_rates(shown: NDArray[np.int64], clicked: NDArray[np.int64]) -> Table:
    return np.divide(clicked, shown, out=np.zeros(shown.shape), where=shown > 0)


def thin_strata(weight: Table, shown: NDArray[np.int64], clicked: NDArray[np.int64]) -> Thin:
    """What Σψ² misses where a rate was estimated from few impressions.

    A rate from N impressions takes up one of their N degrees of freedom; one impression says nothing of its own
    variance, so the position's overall click rate stands in.
    """
    rate = click_rates(shown, clicked)
    several = np.divide(shown * rate * (1 - rate), shown - 1, out=np.zeros(shown.shape), where=shown > 1)
    overall = click_rates(shown.sum(axis=0), clicked.sum(axis=0))
    return Thin(weight, np.where(shown == 1, overall * (1 - overall), several))


def unsupported_pairs(evidence: Evidence) -> float:
    """The target's mass on (item, position) pairs that the logging policy never shows, as a share of K."""
    if evidence.same:
        return 0.0
    lost = np.where(evidence.shown_by_logging > 0, 0.0, evidence.shown_by_target)
    return evidence.mean(evidence.per_query(lost)) / evidence.positions


def ratios(top: Vector, bottom: Vector) -> Vector:
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
