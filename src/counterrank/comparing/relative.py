"""genspec2021's bound on evidence: clicks per pair, what the two policies give them, and what the log never shows."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.learning.gate import Bounds, PairClicks
from counterrank.learning.gate import contrast as gap
from counterrank.records import dataclass
from counterrank.setting.evidence import Evidence

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Clicks:
    """Clicks per (query, item) pair, each worth 1/ρ, with ρ the chance that the log shows the item and it is looked at.

    R of a shown item is click/ρ times what the policies give the item: Σₖ λₖ·P(item at k), ties and all.
    """

    evidence: Evidence  # of any side: what they share
    clicks: Codes  # (P,)
    propensity: Vector  # (P,) ρ, eq. 8
    most: float  # the largest position weight

    @classmethod
    def of(cls, evidence: Evidence, most: float) -> Clicks:
        propensity = evidence.logging.exposure(evidence.examination)
        return cls(evidence, evidence.cells.by_pair(evidence.counts.clicked), propensity, most)

    @property
    def lost(self) -> int:
        """Clicks on items that, as the options have it, nobody can have looked at."""
        return int(self.clicks[self.propensity <= 0].sum())

    @cached_property
    def counted(self) -> PairClicks:
        counts = self.evidence.counts
        return PairClicks(
            starts=counts.pairs.starts,
            impressions=counts.impressions,
            clicks=self.clicks,
            propensity=self.propensity,
            positions=self.evidence.positions,
            most=self.most,
            shown=np.diff(self.evidence.cells.starts) > 0,
        )

    def rarest(self) -> tuple[str, str, float]:
        """Query and item with the smallest propensity, and that."""
        pairs = self.evidence.counts.pairs
        at = int(np.argmin(np.where(self.counted.known, self.propensity, np.inf)))
        query, item = pairs.query_ids.texts[int(pairs.queries[at])], pairs.item_ids.texts[int(pairs.items[at])]
        return query.as_py(), item.as_py(), float(self.propensity[at])

    def bounds(self, weight: Vector, per_query: bool) -> Bounds:
        """Of click/ρ·weight, over the whole log or query by query."""
        return self.counted.bounds(weight, whole=not per_query)


def rank_weights(evidence: Evidence) -> Vector:
    """(P,) Σₖ λₖ·P(item at k) under the policy that is judged."""
    return evidence.target.exposure(evidence.weights)


def contrast(target: Evidence, baseline: Evidence) -> Vector:
    """(P,) how much more rank weight the target gives to an item than the baseline does."""
    return gap(rank_weights(target), rank_weights(baseline), float(target.weights.max()))


def never_seen(evidence: Evidence, propensity: Vector) -> float:
    """The policy's rank weight on items without propensity, as a share of all."""
    lost = np.where(propensity > 0, 0.0, rank_weights(evidence))
    whole = float(evidence.weights.sum()) + evidence.looks_below[1]
    return evidence.mean(evidence.per_query(lost)) / whole
