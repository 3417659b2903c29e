"""What the estimators that weigh single clicks have in common: a member says what its weights are."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate import click_sums
from counterrank.estimate.base import Blocks, CurveError, LinearEstimate, Thin, Vector
from counterrank.estimate.estimator import Estimator, Weighs
from counterrank.setting.evidence import ROUNDING, Evidence, ratios
from counterrank.setting.need import Need
from counterrank.statistics.counts import Counts
from counterrank.statistics.pairs import Table

Flags = NDArray[np.bool_]


class ByClicks(Estimator):
    """V = 1/n Σᵢ Σₖ θₖ·clickᵢₖ·w(aₖ, k), with w = min(target/logging, M) of `chances`.

    Weights and clicks may come from the same rows: where shares of the log stand for the logging policy, an impression
    moves its own weights, and what it moves them by is taken out of its influence (`expected`).

    Arrays are of the *units* that it weighs: the cells of the log, (C,), or, if `weighs` is ITEMS, its pairs, (P,).
    """

    needs: ClassVar[frozenset[Need]] = frozenset({Need.CLICKS, Need.MARGINALS})
    weighs: ClassVar[Weighs] = Weighs.POSITIONS
    clips: ClassVar[bool] = True

    def theta(self, evidence: Evidence) -> Vector:
        """(K,) what a click at each position is worth."""
        return evidence.weights

    def weights(self, evidence: Evidence, target: Vector, logging: Vector) -> tuple[Vector, Flags]:
        """w where the policies have these chances, and which were clipped."""
        return evidence.ratio(target, logging)

    def whole(self, evidence: Evidence) -> float:
        """All that a target can show, in the measure of `chances`."""
        return evidence.positions

    def expected(self, evidence: Evidence) -> Vector:
        """(C,) what an impression that shows the pair brings by the log's own rates; an array that may be changed."""
        counts, out = evidence.counts, np.empty(len(evidence.cells))
        click_sums.rates(evidence.cells.positions, counts.shown, counts.clicked, evidence.weights, out)
        return out

    def variances(self, evidence: Evidence) -> Vector:
        """The variance of these rates, of each unit."""
        return _variances(evidence.counts, evidence.weights**2)

    def moves(self, evidence: Evidence, clipped: Flags) -> Flags | np.bool_:
        """Where a weight moves with the log's own shares: it was estimated, and is not held by the clip."""
        return ~clipped if evidence.shares and not evidence.same else np.False_

    def curve_error(self, evidence: Evidence, clipped: Flags) -> CurveError | None:
        """What the error of the curve does to the value; None where weights go by none that was fitted."""
        return None

    def norm(
        self, evidence: Evidence, credit: Vector, weight: Vector
    ) -> tuple[Vector | float, Vector | float, list[str]]:
        """By position: what the weights are multiplied by, what is taken from each reward, and why V is undefined.

        From Σ w·θ·click and w of each cell. One that weighs items has one number for all positions.
        """
        return 1.0, 0.0, []

    def per_query(self, evidence: Evidence, credit: Vector, weight: Vector) -> Vector:
        """(Q,) from Σ w·θ·click and w of each cell."""
        return evidence.cells_per_query(credit) / evidence.counts.impressions

    def by_query(self, evidence: Evidence) -> Vector:
        weight = self._at_cells(evidence, self.weights(evidence, *self.chances(evidence))[0])
        return self.per_query(evidence, self._credit(evidence, weight), weight)

    def estimate(self, evidence: Evidence) -> LinearEstimate:
        counts, theta, place = evidence.counts, self.theta(evidence), evidence.cells.positions
        chances = self.chances(evidence)
        own, over = self.weights(evidence, *chances)
        weight, clipped = (self._at_cells(evidence, each) for each in (own, over))
        credit = self._credit(evidence, weight)
        gain, centre, undefined = self.norm(evidence, credit, weight)
        value = None if undefined else float((gain * evidence.cells.by_position(credit)).sum() / counts.total)
        per_query = self.per_query(evidence, credit, weight)
        del credit  # logs of millions of cells make large arrays: each goes when it has had its say
        loose = self.moves(evidence, over)

        def thin() -> tuple[Vector, Vector]:
            return np.where(loose, (gain if self._items else _at(gain, place)) * own, 0.0), self.variances(evidence)

        removed, put_back = self.expected(evidence), np.zeros(len(counts.impressions))
        click_sums.removed(
            evidence.cells.starts[counts.pairs.starts], place, counts.shown, weight,
            np.atleast_1d(self.moves(evidence, clipped)), gain + np.zeros(len(theta)), centre + np.zeros(len(theta)),
            removed, put_back,
        )  # fmt: skip
        lost, mass = (None, None) if evidence.same else self._lost(evidence, *chances)
        return LinearEstimate(
            value=value,
            per_query=per_query,
            pairs=counts.pairs,
            cells=evidence.cells,
            weight=weight,
            scale=gain * theta,
            offset=removed,
            constant=put_back / counts.impressions - (value or 0.0),
            thin=Thin.of(thin, counts.pairs.queries if self._items else counts.cell_queries, len(counts.impressions)),
            clipped=_share_of(clipped, counts.shown),
            unsupported=_share(lost, self.whole(evidence), evidence),
            unseen=None if lost is None or mass is None else ratios(lost, mass),
            warnings=undefined,
            expected_weight=self._expected(evidence, own),
            bounded=not self.self_normalised,
            blocks=self._blocks(evidence, own, gain * theta),
            ends=_ends(own, gain * theta, counts) if self._items else None,
            curve=self.curve_error(evidence, over),
        )

    def largest_weight(self, evidence: Evidence) -> float:
        if evidence.same:
            return 0.0
        weight = self._at_cells(evidence, self.weights(evidence, *self.chances(evidence))[0])
        return float(weight[evidence.counts.shown > 0].max(initial=0.0))

    @property
    def _items(self) -> bool:
        return self.weighs is Weighs.ITEMS

    def _at_cells(self, evidence: Evidence, values: NDArray[Any]) -> NDArray[Any]:
        """What is of units, of each cell."""
        return values[evidence.cells.rows] if self._items else values

    def _credit(self, evidence: Evidence, weight: Vector) -> Vector:
        credit = np.empty(len(evidence.cells))
        click_sums.worth(evidence.cells.positions, evidence.counts.clicked, weight, self.theta(evidence), credit)
        return credit

    def unseen(self, evidence: Evidence) -> Vector:
        """(Q,) the target's mass where the logging policy has none, in the measure of `chances`."""
        return self._lost(evidence, *self.chances(evidence))[0]

    def _lost(self, evidence: Evidence, target: Vector, logging: Vector) -> tuple[Vector, Vector]:
        """(Q,) that mass, and all of the target's."""
        if self._items:
            return evidence.per_query(np.where(logging > 0, 0.0, target)), evidence.per_query(target)
        mass = evidence.per_query(evidence.target.exposure(np.ones(evidence.cells.depth)))
        if evidence.shares:
            lost = mass - evidence.cells_per_query(np.where(logging > 0, target, 0.0))
            return np.where(lost > ROUNDING * mass, lost, 0.0), mass
        each = np.zeros(len(evidence.counts.pairs))
        for mine, shown, logged in evidence.tables():
            each[mine] = np.where(logged > 0, 0.0, shown).sum(axis=1)
        return evidence.per_query(each), mass

    def _expected(self, evidence: Evidence, own: Vector) -> float:
        """The mean weight of an impression's positions under the logging policy."""
        mass = evidence.logging.exposure(np.ones(evidence.cells.depth))
        if self._items:
            seen = np.diff(evidence.cells.starts) > 0 if evidence.same else True
            weighed = evidence.per_query(own * mass * seen)
        elif evidence.shares or evidence.same:
            weighed = evidence.cells_per_query(own * evidence.shown_by_logging)
        else:
            each = np.zeros(len(mass))
            for mine, target, logging in evidence.tables():
                each[mine] = (self.weights(evidence, target, logging)[0] * logging).sum(axis=1)
            weighed = evidence.per_query(each)
        return evidence.mean(ratios(weighed, evidence.per_query(mass)))

    def _blocks(self, evidence: Evidence, own: Vector, scale: Vector) -> Blocks | None:
        """What a click is worth wherever it may come; None where it is worth nothing but in the cells of the log."""
        pairs = evidence.counts.pairs

        def block(first: int, last: int) -> Table:
            if self._items:
                return np.multiply.outer(own[pairs.starts[first] : pairs.starts[last]], scale)
            chances = evidence.target.part(first, last), evidence.logging.part(first, last)
            return np.asarray(self.weights(evidence, *chances)[0] * scale)

        return block if self._items or not evidence.shares else None


def _at(by_position: Vector | float, positions: NDArray[np.int64]) -> Any:
    """Of each cell."""
    return by_position[positions] if isinstance(by_position, np.ndarray) else by_position


def click_rates(shown: NDArray[np.int64], clicked: NDArray[np.int64]) -> Vector:
    return np.divide(clicked, shown, out=np.zeros(shown.shape), where=shown > 0)


def _variances(counts: Counts, squares: Vector) -> Vector:
    """Of each click-through rate, times θ², as Σψ² misses it where that was estimated from few impressions.

    A rate from N impressions takes up one of their N degrees of freedom; one impression says nothing of its own
    variance, so the position's overall click rate stands in.
    """
    shown, clicked, cells = counts.shown, counts.clicked, counts.cells
    overall = click_rates(cells.by_position(shown), cells.by_position(clicked))
    variance = np.empty(len(cells))
    click_sums.variances(cells.positions, shown, clicked, overall * (1 - overall), squares, variance)
    return variance


def _ends(own: Vector, scale: Vector, counts: Counts) -> tuple[Vector, Vector]:
    """(Q,) the least and the largest term where a pair weighs the same at every position, but for its scale."""
    starts = counts.pairs.starts[:-1]
    each = [np.multiply.outer(end.reduceat(own, starts), scale) for end in (np.minimum, np.maximum)]
    return np.minimum(np.minimum(*each), 0.0).sum(axis=1), np.maximum(np.maximum(*each), 0.0).sum(axis=1)


def _share(lost: Vector | None, whole: float, evidence: Evidence) -> float:
    """What is lost of each query, as a share of all that a target can show."""
    return evidence.mean(lost) / whole if lost is not None and whole else 0.0


def _share_of(marked: Flags, shown: NDArray[np.int64]) -> float:
    """The share of shown (impression, position) weights that are marked."""
    total = float(shown.sum())
    return float(shown[marked].sum() / total) if total and marked.any() else 0.0
