"""One bound on the difference of two policies, beside a bound on each (genspec2021, section 4.3 and appendix B)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.interval import empirical_bernstein, terms_needed
from counterrank.setting.evidence import Evidence
from counterrank.statistics.pairs import sum_by

Vector = NDArray[np.float64]
ROUNDING = 1e-12  # relative: what is smaller is 0 but for rounding
MOST = 2**63 - 1
FEWEST = 2  # clicks that a bound needs


@dataclass(frozen=True)
class Bounds:
    """A mean per group of impressions (a query, or the whole log), and how far it may be off."""

    impressions: Codes  # (G,)
    clicks: Codes  # (G,)
    value: Vector  # (G,)
    spread: Vector  # (G,) Σ(K·R − value)² over the N·K terms
    largest: Vector  # (G,) b
    positions: int

    def half(self, confidence: float) -> Vector:
        """Half the width of the bound; NaN where there are too few clicks for one."""
        terms = self.impressions.astype(np.float64) * self.positions
        half = empirical_bernstein(self.spread, terms, self.positions * self.largest, confidence)
        return np.where((self.clicks >= FEWEST) & np.isfinite(half), half, np.nan)

    def by_largest(self, confidence: float) -> Vector:
        """The share of the width that comes from b, the worst case, and not from what was seen."""
        terms = self.impressions.astype(np.float64) * self.positions
        still = empirical_bernstein(np.zeros_like(self.spread), terms, self.positions * self.largest, confidence)
        return np.asarray(still / self.half(confidence))

    def verdict(self, confidence: float) -> NDArray[np.int64]:
        """1: above 0, −1: below 0, 0: undecided."""
        half = np.nan_to_num(self.half(confidence), nan=np.inf)
        return np.sign(self.value).astype(np.int64) * (np.abs(self.value) > half)

    def needed(self, confidence: float) -> list[int | None]:
        """Further impressions at this rate until the bound decides; 0 where it does, None where the value is 0."""
        terms = self.impressions.astype(np.float64) * self.positions
        found = terms_needed(self.value, self.spread, terms, self.positions * self.largest, confidence)
        total = np.floor(found / self.positions) + 1
        return [
            0 if decided else None if not np.isfinite(n) else min(max(int(n) - int(now), 1), MOST)
            for decided, n, now in zip(self.verdict(confidence) != 0, total, self.impressions, strict=True)
        ]


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

    @property
    def _shown(self) -> Vector:
        """(P,) ρ of the pairs that the log shows, infinite for others."""
        shown = (np.diff(self.evidence.cells.starts) > 0) & (self.propensity > 0)
        return np.where(shown, self.propensity, np.inf)

    def rarest(self) -> tuple[str, str, float]:
        """Query and item with the smallest propensity, and that."""
        pairs, at = self.evidence.counts.pairs, int(np.argmin(self._shown))
        query, item = pairs.query_ids.texts[int(pairs.queries[at])], pairs.item_ids.texts[int(pairs.items[at])]
        return query.as_py(), item.as_py(), float(self.propensity[at])

    def bounds(self, weight: Vector, per_query: bool) -> Bounds:
        """Of click/ρ·weight, over the whole log or query by query."""
        counts, positions = self.evidence.counts, self.evidence.positions
        worth = np.divide(weight, self.propensity, out=np.zeros_like(weight), where=self.propensity > 0)
        least = self._shown
        if per_query:
            group, n = counts.pairs.queries, counts.impressions
            smallest = np.minimum.reduceat(least, counts.pairs.starts[:-1])
        else:
            group, n = np.zeros(len(weight), dtype=np.int64), np.array([counts.total])
            smallest = np.array([least.min()])
        clicks = sum_by(group, self.clicks.astype(np.float64), len(n))
        total = sum_by(group, self.clicks * worth, len(n))
        total[np.abs(total) <= ROUNDING * sum_by(group, self.clicks * np.abs(worth), len(n))] = 0.0
        value = total / n
        spread = sum_by(group, self.clicks * (positions * worth - value[group]) ** 2, len(n))
        spread += (n * positions - clicks) * value**2  # the terms without a click, of positions without an item too
        largest = np.where(np.isfinite(smallest), self.most / smallest, np.inf)
        return Bounds(n, clicks.astype(np.int64), value, spread, largest, positions)


def rank_weights(evidence: Evidence) -> Vector:
    """(P,) Σₖ λₖ·P(item at k) under the policy that is judged."""
    return evidence.target.exposure(evidence.weights)


def contrast(target: Evidence, baseline: Evidence) -> Vector:
    """(P,) how much more rank weight the target gives to an item than the baseline does."""
    difference = rank_weights(target) - rank_weights(baseline)
    return np.where(np.abs(difference) > ROUNDING * float(target.weights.max()), difference, 0.0)


def never_seen(evidence: Evidence, propensity: Vector) -> float:
    """The policy's rank weight on items without propensity, as a share of all."""
    lost = np.where(propensity > 0, 0.0, rank_weights(evidence))
    whole = float(evidence.weights.sum()) + evidence.looks_below[1]
    return evidence.mean(evidence.per_query(lost)) / whole
