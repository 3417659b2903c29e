"""What the estimators that weigh single clicks have in common: a member says what its weights are."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate.base import CurveError, LinearEstimate, Thin, Vector
from counterrank.estimate.estimator import Estimator, Weighs
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need
from counterrank.statistics.counts import Counts
from counterrank.statistics.pairs import Table

Flags = NDArray[np.bool_]


class ByClicks(Estimator):
    """V = 1/n Σᵢ Σₖ θₖ·clickᵢₖ·w(aₖ, k), with w = min(target/logging, M) of `chances`.

    Weights and clicks may come from the same rows: where shares of the log stand for the logging policy, an impression
    moves its own weights, and what it moves them by is taken out of its influence (`expected`).
    """

    needs: ClassVar[frozenset[Need]] = frozenset({Need.CLICKS, Need.MARGINALS})
    weighs: ClassVar[Weighs] = Weighs.POSITIONS
    clips: ClassVar[bool] = True

    def theta(self, evidence: Evidence) -> Vector:
        """(K,) what a click at each position is worth."""
        return evidence.weights

    def weights(self, evidence: Evidence) -> tuple[Table, Flags]:
        """w, (P, K) or, the same wherever the item stands, (P, 1); and which were clipped."""
        return evidence.ratio(*self.chances(evidence), evidence.counts.shown > 0)

    def whole(self, evidence: Evidence) -> float:
        """All that a target can show, in the measure of `chances`."""
        return evidence.positions

    def expected(self, evidence: Evidence) -> Table:
        """(P, K) what an impression that shows the pair brings by the log's own rates; a table that may be changed."""
        return evidence.weights * click_rates(evidence.counts.shown, evidence.counts.clicked)

    def variances(self, evidence: Evidence) -> Table:
        """(P, K) the variance of these rates, or (P, 1) where there is one for all positions."""
        variance = _variances(evidence.counts)
        variance *= evidence.weights**2
        return variance

    def moves(self, evidence: Evidence, clipped: Flags) -> Flags | np.bool_:
        """Where a weight moves with the log's own shares: it was estimated, and is not held by the clip."""
        return ~clipped if evidence.shares and not evidence.same else np.False_

    def curve_error(self, evidence: Evidence, clipped: Flags) -> CurveError | None:
        """What the error of the curve does to the value; None where weights go by none that was fitted."""
        return None

    def norm(
        self, evidence: Evidence, credit: Table, weight: Table
    ) -> tuple[Vector | float, Vector | float, list[str]]:
        """By position: what the weights are multiplied by, what is taken from each reward, and why V is undefined."""
        return 1.0, 0.0, []

    def per_query(self, evidence: Evidence, credit: Table, weight: Table) -> Vector:
        """(Q,) from Σ w·θ·click and w of each pair and position."""
        return evidence.per_query(credit) / evidence.counts.impressions

    def by_query(self, evidence: Evidence) -> Vector:
        weight, _ = self.weights(evidence)
        credit = weight * self.theta(evidence) * evidence.counts.clicked
        return self.per_query(evidence, credit, weight)

    def estimate(self, evidence: Evidence) -> LinearEstimate:
        counts, theta = evidence.counts, self.theta(evidence)
        weight, clipped = self.weights(evidence)
        credit = weight * theta
        credit *= counts.clicked
        gain, centre, undefined = self.norm(evidence, credit, weight)
        plain = isinstance(gain, float) and gain == 1.0
        value = None if undefined else float((credit if plain else gain * credit).sum() / counts.total)
        per_query = self.per_query(evidence, credit, weight)
        del credit  # lists of thousands make large tables: each goes when it has had its say
        free = self.moves(evidence, clipped)

        def thin() -> tuple[Table, Table]:
            return np.where(free, gain * weight, 0.0), self.variances(evidence)

        lacking = Thin.of(thin)
        removed = _removed(free, gain, weight, self.expected(evidence), centre)
        put_back = evidence.per_query(removed * counts.shown) / counts.impressions
        if np.any(centre):
            removed += gain * weight * centre
            removed -= centre
        full = np.broadcast_to(weight, counts.shown.shape)
        lost = None if evidence.same else self.unseen(evidence)
        return LinearEstimate(
            value=value,
            per_query=per_query,
            weight=full,
            scale=gain * theta,
            offset=removed,
            constant=put_back - (value or 0.0),
            thin=lacking,
            clipped=_share_of(clipped, counts.shown),
            unsupported=_share(lost, self.whole(evidence), evidence),
            unseen=None if lost is None else ratios(lost, evidence.per_query(self.chances(evidence)[0])),
            warnings=undefined,
            expected_weight=_expected(evidence, full),
            bounded=not self.self_normalised,
            curve=self.curve_error(evidence, clipped),
        )

    def largest_weight(self, evidence: Evidence) -> float:
        if evidence.same:
            return 0.0
        weight = np.broadcast_to(self.weights(evidence)[0], evidence.counts.shown.shape)
        return float(weight[evidence.counts.shown > 0].max(initial=0.0))

    def unseen(self, evidence: Evidence) -> Vector:
        """(Q,) the target's mass where the logging policy has none, in the measure of `chances`."""
        target, logging = self.chances(evidence)
        return evidence.per_query(np.where(logging > 0, 0.0, target))


def _removed(
    free: Flags | np.bool_, gain: Vector | float, weight: Table, expected: Table, centre: Vector | float
) -> Table:
    """gain·weight·(expected − centre) where a weight is free, else 0; written over `expected`."""
    expected -= centre
    expected *= gain * weight
    np.copyto(expected, 0.0, where=~free)
    return expected


def click_rates(shown: NDArray[np.int64], clicked: NDArray[np.int64]) -> Table:
    return np.divide(clicked, shown, out=np.zeros(shown.shape), where=shown > 0)


def ratios(top: Vector, bottom: Vector) -> Vector:
    """0 where there is nothing to divide by."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def _variances(counts: Counts) -> Table:
    """Of each click-through rate, as Σψ² misses it where that was estimated from few impressions.

    A rate from N impressions takes up one of their N degrees of freedom; one impression says nothing of its own
    variance, so the position's overall click rate stands in.
    """
    shown, clicked = counts.shown, counts.clicked
    rate = click_rates(shown, clicked)
    variance = shown * rate
    variance *= np.subtract(1, rate, out=rate)
    np.divide(variance, shown - 1, out=variance, where=shown > 1)
    overall = click_rates(shown.sum(axis=0), clicked.sum(axis=0))
    np.copyto(variance, overall * (1 - overall), where=shown == 1)
    return variance


def _expected(evidence: Evidence, weight: Table) -> float:
    """The mean weight of an impression's positions under the logging policy."""
    shown = evidence.shown_by_logging
    return evidence.mean(ratios(evidence.per_query(weight * shown), evidence.per_query(shown)))


def _share(lost: Vector | None, whole: float, evidence: Evidence) -> float:
    """What is lost of each query, as a share of all that a target can show."""
    return evidence.mean(lost) / whole if lost is not None and whole else 0.0


def _share_of(marked: Flags, shown: NDArray[np.int64]) -> float:
    """The share of shown (impression, position) weights that are marked."""
    total = float(shown.sum())
    return float((marked * shown).sum() / total) if total else 0.0
