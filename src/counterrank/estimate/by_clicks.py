"""What the estimators that weigh single clicks have in common: a member says what its weights are."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate import click_sums
from counterrank.estimate.base import Blocks, CurveError, LinearEstimate, Thin, Vector
from counterrank.estimate.estimator import Estimator, Weighs
from counterrank.records import dataclass
from counterrank.setting.evidence import ROUNDING, Evidence, ratios
from counterrank.setting.need import Need
from counterrank.statistics.counts import SHORT, Part
from counterrank.statistics.pairs import Table, sum_runs

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

    def alone(self, evidence: Evidence) -> Vector | float:
        """The variance of a rate that was estimated from one impression, which says nothing of its own: by position the
        overall click rate stands in."""
        cells, counts = evidence.cells, evidence.counts
        overall = click_rates(cells.by_position(counts.shown), cells.by_position(counts.clicked))
        return overall * (1 - overall)

    def variances(self, evidence: Evidence, part: Part, alone: Vector | float) -> Vector:
        """The variance of these rates times θ², of each unit of some queries, as Σψ² misses it where they come
        from few impressions: a rate from N of them takes up one of their N degrees of freedom."""
        counts, mine = evidence.counts, part.cells
        out, place = np.empty(mine.stop - mine.start), evidence.cells.positions[mine]
        click_sums.variances(place, counts.shown[mine], counts.clicked[mine], alone, evidence.weights**2, out)
        return out

    def moves(self, evidence: Evidence, clipped: Flags) -> Flags | np.bool_:
        """Where a weight moves with the log's own shares: it was estimated, and is not held by the clip."""
        return ~clipped if evidence.shares and not evidence.same else np.False_

    def curve_error(self, evidence: Evidence, own: Weights) -> CurveError | None:
        """What the error of the curve does to the value; None where weights go by none that was fitted."""
        return None

    def norm(
        self, evidence: Evidence, credit: Vector, mass: Vector
    ) -> tuple[Vector | float, Vector | float, list[str]]:
        """By position: what the weights are multiplied by, what is taken from each reward, and why V is undefined.

        From Σ w·θ·click and Σ w of each position. One that weighs items has one number for all positions.
        """
        return 1.0, 0.0, []

    def per_query(self, evidence: Evidence, part: Part, credit: Vector, weight: Vector) -> Vector:
        """The values of some queries, from Σ w·θ·click and w of each of their cells."""
        counts = evidence.counts
        return sum_runs(counts.runs(part), credit) / counts.impressions[part.first : part.last]

    def by_query(self, evidence: Evidence) -> Vector:
        return self._weights(evidence).sums().per_query

    def estimate(self, evidence: Evidence) -> LinearEstimate:
        counts, theta, own = evidence.counts, self.theta(evidence), self._weights(evidence)
        sums = own.sums()
        gain, centre, undefined = self.norm(evidence, sums.credit, sums.mass)
        value = None if undefined else float((gain * sums.credit).sum() / counts.total)
        lost, mass = (None, None) if evidence.same else self._lost(evidence, *self.chances(evidence))
        nothing = np.zeros(len(theta))
        linear = Linear(own=own, gain=gain + nothing, centre=centre + nothing)
        return LinearEstimate(
            value=value,
            per_query=sums.per_query,
            counts=counts,
            weighed=linear.weighed,
            scale=gain * theta,
            constant=linear.put_back() / counts.impressions - (value or 0.0),
            thin=Thin.of(linear.rates, counts, self._items),
            clipped=sums.clipped / max(float(counts.shown.sum()), 1.0),
            unsupported=_share(lost, self.whole(evidence), evidence),
            unseen=None if lost is None or mass is None else ratios(lost, mass),
            warnings=undefined,
            expected_weight=self._expected(evidence, own),
            bounded=not self.self_normalised,
            blocks=self._blocks(evidence, own, gain * theta),
            ends=_ends(own, gain * theta) if self._items else None,
            curve=self.curve_error(evidence, own),
        )

    def chances_of(self, evidence: Evidence, part: Part) -> tuple[Vector, Vector]:
        """The chances of the units of some queries."""
        target, logging = self.chances(evidence)
        some = part.pairs if self._items else part.cells
        return target[some], logging[some]

    def _weights(self, evidence: Evidence) -> Weights:
        """Kept of a log with few cells, and where chances of some queries alone take as long as those of all."""
        few = len(evidence.cells) <= SHORT
        few = few or (self._items and not (evidence.target.quick and evidence.logging.quick))
        return Weights(self, evidence, self.weights(evidence, *self.chances(evidence)) if few else None)

    def largest_weight(self, evidence: Evidence) -> float:
        if evidence.same:
            return 0.0
        own, shown = self._weights(evidence), evidence.counts.shown
        parts = evidence.counts.parts()
        return max((float(own.of(part)[0][shown[part.cells] > 0].max(initial=0.0)) for part in parts), default=0.0)

    @property
    def _items(self) -> bool:
        return self.weighs is Weighs.ITEMS

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

    def _expected(self, evidence: Evidence, own: Weights) -> float:
        """The mean weight of an impression's positions under the logging policy."""
        mass = evidence.logging.exposure(np.ones(evidence.cells.depth))
        if self._items:
            weighed = np.empty(len(evidence.counts.impressions))
            for part in evidence.counts.parts():
                seen = np.diff(evidence.cells.starts[part.pairs.start : part.pairs.stop + 1]) > 0
                each = own.units(part)[0] * mass[part.pairs] * (seen if evidence.same else True)
                weighed[part.first : part.last] = sum_runs(evidence.counts.runs(part, True), each)
        elif evidence.shares or evidence.same:
            weighed = np.empty(len(evidence.counts.impressions))
            for part in evidence.counts.parts():
                each = own.of(part)[0] * evidence.shown_by_logging[part.cells]
                weighed[part.first : part.last] = sum_runs(evidence.counts.runs(part), each)
        else:
            each = np.zeros(len(mass))
            for mine, target, logging in evidence.tables():
                each[mine] = (self.weights(evidence, target, logging)[0] * logging).sum(axis=1)
            weighed = evidence.per_query(each)
        return evidence.mean(ratios(weighed, evidence.per_query(mass)))

    def _blocks(self, evidence: Evidence, own: Weights, scale: Vector) -> Blocks | None:
        """What a click is worth wherever it may come; None where it is worth nothing but in the cells of the log."""

        def block(first: int, last: int) -> Table:
            if self._items:
                return np.multiply.outer(own.units(evidence.counts.part(first, last))[0], scale)
            chances = evidence.target.part(first, last), evidence.logging.part(first, last)
            return np.asarray(self.weights(evidence, *chances)[0] * scale)

        return block if self._items or not evidence.shares else None


class WeightSums(NamedTuple):
    """What the weights bring."""

    credit: Vector  # (K,) Σ w·θ·click of each position
    mass: Vector  # (K,) Σ w of each position
    per_query: Vector  # (Q,) values
    clipped: float  # shown items whose weight was clipped


@dataclass(frozen=True)
class Weights:
    """The weights of an estimator, of some queries at a time: `kept`, with which were clipped, or made anew."""

    by: ByClicks
    evidence: Evidence
    kept: tuple[Vector, Flags] | None  # of all units

    def units(self, part: Part) -> tuple[Vector, Flags]:
        """Of the units of some queries, and which were clipped."""
        some = part.pairs if self.by.weighs is Weighs.ITEMS else part.cells
        if self.kept is not None:
            return self.kept[0][some], self.kept[1][some]
        return self.by.weights(self.evidence, *self.by.chances_of(self.evidence, part))

    def of(self, part: Part) -> tuple[Vector, Flags]:
        """The same of their cells."""
        weight, clipped = self.units(part)
        if self.by.weighs is Weighs.ITEMS:
            starts = self.evidence.cells.starts[part.pairs.start : part.pairs.stop + 1]
            found: tuple[Vector, Flags] = click_sums.spread_out(starts, weight, clipped)
            return found
        return weight, clipped

    def sums(self) -> WeightSums:
        evidence, theta = self.evidence, self.by.theta(self.evidence)
        counts, cells = evidence.counts, evidence.cells
        top, bottom, clipped = np.zeros(cells.depth), np.zeros(cells.depth), 0.0
        values = np.empty(len(counts.impressions))
        for part in counts.parts():
            mine, (weight, over) = part.cells, self.of(part)
            place, shown, credit = cells.positions[mine], counts.shown[mine], np.empty(len(weight))
            clipped += click_sums.worth(place, shown, counts.clicked[mine], weight, over, theta, credit, top, bottom)
            values[part.first : part.last] = self.by.per_query(evidence, part, credit, weight)
        return WeightSums(top, bottom, values, clipped)


@dataclass(frozen=True, kw_only=True)
class Linear:
    """Weights, and what is taken out of influences where the log's own shares made the weights, part by part."""

    own: Weights
    gain: Vector  # (K,)
    centre: Vector  # (K,)
    done: list[tuple[Vector, Vector, Vector]] = field(default_factory=list)  # of a short log, which is one part

    def rates(self, part: Part) -> tuple[Vector, Vector]:
        """What each rate weighs in the value, where its weight moves, and its variance."""
        by, evidence = self.own.by, self.own.evidence
        weight, clipped = self.own.units(part)
        items = by.weighs is Weighs.ITEMS  # which have one gain for all positions
        weight = weight * (self.gain[0] if items else self.gain[evidence.cells.positions[part.cells]])
        return np.where(by.moves(evidence, clipped), weight, 0.0), by.variances(evidence, part, self._alone)

    @cached_property
    def _alone(self) -> Vector | float:
        return self.own.by.alone(self.own.evidence)

    def weighed(self, part: Part) -> tuple[Vector, Vector]:
        """The weight and the offset of each cell."""
        return self._made(part)[:2]

    def put_back(self) -> Vector:
        """(Q,) the sum of what is taken out."""
        return np.concatenate([self._made(part)[2] for part in self.own.evidence.counts.parts()])

    def _made(self, part: Part) -> tuple[Vector, Vector, Vector]:
        """Weights, offsets, and the sum of what is taken out of each query."""
        by, evidence, mine = self.own.by, self.own.evidence, part.cells
        counts, cells = evidence.counts, evidence.cells
        short = mine.stop - mine.start == len(cells) <= SHORT
        if short and self.done:
            return self.done[0]
        weight, clipped = self.own.of(part)
        offset, put_back = by.expected(evidence, part), np.zeros(part.last - part.first)
        click_sums.removed(
            counts.runs(part), cells.positions[mine], counts.shown[mine], weight,
            np.atleast_1d(by.moves(evidence, clipped)), self.gain, self.centre, offset, put_back,
        )  # fmt: skip
        if short:
            self.done.append((weight, offset, put_back))
        return weight, offset, put_back


def click_rates(shown: NDArray[np.int64], clicked: NDArray[np.int64]) -> Vector:
    return np.divide(clicked, shown, out=np.zeros(shown.shape), where=shown > 0)


def _ends(own: Weights, scale: Vector) -> tuple[Vector, Vector]:
    """(Q,) the least and the largest term where a pair weighs the same at every position, but for its scale."""
    counts = own.evidence.counts
    least, most = np.empty((2, len(counts.impressions)))
    for part in counts.parts():
        (weight, _), starts, mine = own.units(part), counts.runs(part, True)[:-1], slice(part.first, part.last)
        each = [np.multiply.outer(end.reduceat(weight, starts), scale) for end in (np.minimum, np.maximum)]
        least[mine] = np.minimum(np.minimum(*each), 0.0).sum(axis=1)
        most[mine] = np.maximum(np.maximum(*each), 0.0).sum(axis=1)
    return least, most


def _share(lost: Vector | None, whole: float, evidence: Evidence) -> float:
    """What is lost of each query, as a share of all that a target can show."""
    return evidence.mean(lost) / whole if lost is not None and whole else 0.0
