"""Item-position: a click depends on the item and on where it stands."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterrank.estimate.base import Blocks, LinearEstimate, Vector
from counterrank.estimate.by_clicks import ByClicks, Weights
from counterrank.estimate.own_propensities import Own, OwnSums, balance, between, chances_of, largest, own_sums, unseen
from counterrank.setting.evidence import Evidence, ratios
from counterrank.statistics.pairs import Table


class ItemPosition(ByClicks):
    """V = 1/n Σᵢ Σₖ θₖ·clickᵢₖ·min(h(aₖ,k|q)/π(aₖ,k|q), M).

    Unbiased if the chance of a click depends only on the query, the item and its position, wherever the target's
    (item, position) pairs were logged and nothing was clipped. Where impressions carry the propensities of their items,
    each has its own π, and the logging policy may change from one to the next. Reference: li2018, section 3.2 and
    table 2.
    """

    name: ClassVar[str] = "ip"
    assumption: ClassVar[str] = "a click depends on the item and its position, not on the other items shown"
    assumes: ClassVar[int] = 1

    def knows(self, evidence: Evidence) -> bool:
        return evidence.by_item or super().knows(evidence)

    def by_item(self, evidence: Evidence) -> bool:
        return evidence.by_item

    def by_query(self, evidence: Evidence) -> Vector:
        if not _own(evidence):
            return super().by_query(evidence)
        every = evidence.counts.part(0, len(evidence.counts.impressions))
        return self.per_query(evidence, every, *_cells(evidence, own_sums(evidence)))

    def largest_weight(self, evidence: Evidence) -> float:
        return largest(evidence) if _own(evidence) else super().largest_weight(evidence)

    def estimate(self, evidence: Evidence) -> LinearEstimate:
        return self._by_own(evidence) if _own(evidence) else super().estimate(evidence)

    def _blocks(self, evidence: Evidence, own: Weights, scale: Vector) -> Blocks | None:
        if not evidence.by_item:
            return super()._blocks(evidence, own, scale)
        starts = evidence.counts.pairs.starts
        return lambda first, last: np.ones((int(starts[last] - starts[first]), 1)) * scale  # the logging policy's own

    def _by_own(self, evidence: Evidence) -> LinearEstimate:
        """With weights by each impression's own propensities, which are known: none moves with the log's shares."""
        counts, place, theta = evidence.counts, evidence.cells.positions, self.theta(evidence)
        sums, nothing = own_sums(evidence), np.zeros(len(evidence.cells))
        credit, weight = _cells(evidence, sums)
        top, bottom = (evidence.cells.by_position(each) for each in (credit, weight * counts.shown))
        gain, centre, undefined = self.norm(evidence, top, bottom)
        at = gain[place] if isinstance(gain, np.ndarray) else gain
        middle = centre[place] if isinstance(centre, np.ndarray) else np.full(len(place), centre)
        value = None if undefined else float((at * credit).sum() / counts.total)
        lost = unseen(evidence)
        return LinearEstimate(
            value=value,
            per_query=self.per_query(evidence, counts.part(0, len(counts.impressions)), credit, weight),
            counts=counts,
            weighed=lambda part: (nothing[part.cells], -middle[part.cells]),
            scale=gain * theta,
            constant=np.full(len(counts.impressions), -(value or 0.0)),
            thin=None,
            clipped=float(sums.clipped.sum() / max(counts.shown.sum(), 1)),
            unsupported=lost,
            unseen=np.full(len(counts.impressions), lost) if lost else None,
            warnings=undefined,
            expected_weight=balance(evidence)[1],
            bounded=not self.self_normalised,
            own=(self._divided(evidence, sums, gain * theta, at * middle),),
        )

    def _divided(self, evidence: Evidence, sums: OwnSums, scale: Vector, shift: Vector) -> Own:
        """What an impression's own propensities divide: the target's chances, and what is taken from each reward."""
        target, least = evidence.shown_by_target, float(chances_of(evidence).least.min(initial=1.0))

        def table(first: int, last: int) -> Table:
            return np.asarray(evidence.target.part(first, last) * scale)

        cap = evidence.clip * np.abs(scale) if np.isfinite(evidence.clip) else np.inf
        return Own(
            weight=target, offset=target * shift, floor=sums.floor, table=table, reach=between(table, least, cap),
            least=least,
        )  # fmt: skip


def _own(evidence: Evidence) -> bool:
    """Whether weights go by the propensities of impressions; the logging policy's own are 1."""
    return evidence.by_item and not evidence.same


def _cells(evidence: Evidence, sums: OwnSums) -> tuple[Vector, Vector]:
    """(C,) Σ w·θ·click, and the mean w."""
    return sums.clicked * evidence.weights[evidence.cells.positions], ratios(
        sums.weight, evidence.counts.shown.astype(np.float64)
    )
