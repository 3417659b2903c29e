"""What the estimators that weigh single clicks have in common: a member says what its weights are."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate import click_sums
from counterrank.estimate.base import Blocks, CurveError, LinearEstimate, Thin, Vector
from counterrank.estimate.estimator import Estimator, Weighs
from counterrank.records import dataclass
from counterrank.setting.evidence import ROUNDING, Evidence, ratios
from counterrank.setting.need import Need
from counterrank.statistics.counts import PART_CELLS, Counts, Part
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

    def expected(self, evidence: Evidence, part: Part) -> Vector:
        """What an impression that shows the pair brings by the log's own rates, of the cells of some queries; an array
        that may be changed."""
        counts, mine = evidence.counts, part.cells
        out = np.empty(mine.stop - mine.start)
        click_sums.rates(
            evidence.cells.positions[mine], counts.shown[mine], counts.clicked[mine], evidence.weights, out
        )
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
        """Logs of millions of cells make large arrays: each goes when it has had its say."""
        counts, theta = evidence.counts, self.theta(evidence)
        own, over = self.weights(evidence, *self.chances(evidence))
        weight = self._at_cells(evidence, own)
        credit = self._credit(evidence, weight)
        gain, centre, undefined = self.norm(evidence, credit, weight)
        value = None if undefined else float((gain * evidence.cells.by_position(credit)).sum() / counts.total)
        per_query = self.per_query(evidence, credit, weight)
        del credit, weight
        clipped = _share_of(self._at_cells(evidence, over), counts.shown) if over.any() else 0.0
        lost, mass = (None, None) if evidence.same else self._lost(evidence, *self.chances(evidence))
        expected, curve = self._expected(evidence, own), self.curve_error(evidence, over)
        blocks, ends = self._blocks(evidence, own, gain * theta), None
        if self._items:
            ends = _ends(own, gain * theta, counts)
        kept = (own, over) if self._items or len(evidence.cells) <= PART_CELLS else None
        by_position = gain + np.zeros(len(theta)), centre + np.zeros(len(theta))
        linear = Linear(by=self, evidence=evidence, gain=by_position[0], centre=by_position[1], kept=kept)
        del own, over
        starts = counts.pairs.starts if self._items else evidence.cells.starts[counts.pairs.starts]
        return LinearEstimate(
            value=value,
            per_query=per_query,
            counts=counts,
            weighed=linear.weighed,
            scale=gain * theta,
            constant=linear.put_back() / counts.impressions - (value or 0.0),
            thin=Thin.of(linear.thin, starts),
            clipped=clipped,
            unsupported=_share(lost, self.whole(evidence), evidence),
            unseen=None if lost is None or mass is None else ratios(lost, mass),
            warnings=undefined,
            expected_weight=expected,
            bounded=not self.self_normalised,
            blocks=blocks,
            ends=ends,
            curve=curve,
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


@dataclass(frozen=True, kw_only=True)
class Linear:
    """Weights, and what is taken out of influences where the log's own shares made the weights, part by part.

    `kept`: the weights of all units and which were clipped, where these are few; else they are made anew.
    """

    by: ByClicks
    evidence: Evidence
    gain: Vector  # (K,)
    centre: Vector  # (K,)
    kept: tuple[Vector, Flags] | None
    done: list[tuple[Vector, Vector, Vector]] = field(default_factory=list)  # of a short log, which is one part

    def units(self, some: slice) -> tuple[Vector, Flags]:
        """The weights of some units, and which were clipped."""
        if self.kept is not None:
            return self.kept[0][some], self.kept[1][some]
        target, logging = self.by.chances(self.evidence)
        return self.by.weights(self.evidence, target[some], logging[some])

    def thin(self) -> tuple[Vector, Vector]:
        """What each rate weighs in the value, where its weight moves, and its variance."""
        items, cells = self.by.weighs is Weighs.ITEMS, self.evidence.cells
        weight, clipped = self.units(slice(0, cells.pairs if items else len(cells)))
        weight = weight * (self.gain[0] if items else self.gain[cells.positions])  # of items, one for all positions
        return np.where(self.by.moves(self.evidence, clipped), weight, 0.0), self.by.variances(self.evidence)

    def weighed(self, part: Part) -> tuple[Vector, Vector]:
        """The weight and the offset of each cell."""
        return self._made(part)[:2]

    def put_back(self) -> Vector:
        """(Q,) the sum of what is taken out."""
        return np.concatenate([self._made(part)[2] for part in self.evidence.counts.parts()])

    def _made(self, part: Part) -> tuple[Vector, Vector, Vector]:
        """Weights, offsets, and the sum of what is taken out of each query."""
        counts, cells, mine = self.evidence.counts, self.evidence.cells, part.cells
        whole = mine.stop - mine.start == len(cells)
        if whole and self.done:
            return self.done[0]
        items = self.by.weighs is Weighs.ITEMS
        weight, clipped = self.units(part.pairs if items else mine)
        if items:
            of = cells.rows_of(part.pairs) - part.pairs.start
            weight, clipped = weight[of], clipped[of]
        offset, put_back = self.by.expected(self.evidence, part), np.zeros(part.last - part.first)
        click_sums.removed(
            cells.starts[counts.pairs.starts[part.first : part.last + 1]] - mine.start, cells.positions[mine],
            counts.shown[mine], weight, np.atleast_1d(self.by.moves(self.evidence, clipped)), self.gain, self.centre,
            offset, put_back,
        )  # fmt: skip
        if whole and len(cells) <= PART_CELLS:
            self.done.append((weight, offset, put_back))
        return weight, offset, put_back


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
