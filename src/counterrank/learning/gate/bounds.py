"""How far a mean of weighted clicks may be off, from counts alone: one bound on a difference, or one on each side.

References: genspec2021, section 4.3 (the relative bound) and appendix B (SEA's two).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.interval import empirical_bernstein, terms_needed
from counterrank.records import dataclass
from counterrank.statistics.pairs import sum_by

Vector = NDArray[np.float64]
ROUNDING = 1e-12  # relative: what is smaller is 0 but for rounding
MOST = 2**63 - 1
FEWEST = 2  # clicks that a bound needs


@dataclass(frozen=True)
class Bounds:
    """A mean per group of impressions (a query, or all), and how far it may be off."""

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
class TwoBounds:
    """SEA's: a bound on each policy. One wins where its lower end is above the other's upper end (eqs. 41 to 44)."""

    first: Bounds
    second: Bounds

    @property
    def value(self) -> Vector:
        """(G,) the difference."""
        difference = self.first.value - self.second.value
        larger = np.maximum(np.abs(self.first.value), np.abs(self.second.value))
        return np.where(np.abs(difference) > ROUNDING * larger, difference, 0.0)

    def half(self, confidence: float) -> Vector:
        """What the difference must be above: both halves together."""
        return self.first.half(confidence) + self.second.half(confidence)


@dataclass(frozen=True, kw_only=True)
class PairClicks:
    """Clicks of a part of a log by (query, item) pair, pairs of query q being starts[q]:starts[q+1].

    A click is worth 1/ρ, with ρ the chance that the log shows the item and that it is looked at (eq. 8). Pairs without
    propensity are left out.
    """

    starts: Codes  # (Q+1,)
    impressions: Codes  # (Q,) of this part
    clicks: Codes  # (P,) of this part
    propensity: Vector  # (P,) from all impressions
    positions: int  # K
    most: float  # the largest position weight
    shown: NDArray[np.bool_] | None = None  # (P,) pairs that the log shows; None: all with a propensity

    @cached_property
    def queries(self) -> Codes:
        """(P,) the query of each pair."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @property
    def known(self) -> NDArray[np.bool_]:
        """(P,) the pairs that the log shows and somebody can have looked at."""
        some = self.propensity > 0
        return some if self.shown is None else some & self.shown

    @cached_property
    def per_query(self) -> Vector:
        """(Q,) clicks."""
        return sum_by(self.queries, self.clicks.astype(np.float64), len(self.impressions))

    @cached_property
    def largest(self) -> Vector:
        """(Q,) b: the largest position weight by the smallest propensity of the query; infinite where it has none."""
        least = np.append(np.where(self.known, self.propensity, np.inf), np.inf)
        smallest = np.minimum.reduceat(least, self.starts[:-1]) if len(self.impressions) else least[:0]
        smallest = np.where(np.diff(self.starts) > 0, smallest, np.inf)
        return np.where(np.isfinite(smallest), self.most / smallest, np.inf)

    def worth(self, weight: Vector) -> Vector:
        """(P,) R of a click."""
        return np.divide(weight, self.propensity, out=np.zeros(len(weight)), where=self.propensity > 0)

    def bounds(self, weight: Vector, *, whole: bool = False) -> Bounds:
        """Of click/ρ·weight, query by query or over the whole part. All N·K terms count, those without a click too."""
        n, clicked = self.impressions, self.clicks.astype(np.float64)
        worth, group, size = self.worth(weight), self.queries, len(n)
        largest, clicks = self.largest, self.per_query
        if whole:
            group, size, n = np.zeros(len(worth), dtype=np.int64), 1, np.array([n.sum()])
            known = largest[np.isfinite(largest)]
            largest, clicks = np.array([known.max() if len(known) else np.inf]), np.array([clicks.sum()])
        total = sum_by(group, clicked * worth, size)
        total[np.abs(total) <= ROUNDING * sum_by(group, clicked * np.abs(worth), size)] = 0.0
        value = total / np.maximum(n, 1)
        spread = sum_by(group, clicked * (self.positions * worth - value[group]) ** 2, size)
        spread += (n * float(self.positions) - clicks) * value**2
        return Bounds(n, clicks.astype(np.int64), value, spread, largest, self.positions)


def contrast(first: Vector, second: Vector, most: float) -> Vector:
    """(P,) how much more rank weight the first policy gives to an item than the second; 0 where only rounding does."""
    difference = first - second
    return np.where(np.abs(difference) > ROUNDING * most, difference, 0.0)


def relative_bounds(clicks: PairClicks, first: Vector, second: Vector, *, whole: bool = False) -> Bounds:
    """One bound on R(first) − R(second) (eqs. 20 to 26); rank weights are (P,), `whole`: one group, not one a query.

    Assumption: the N·K terms are independent. Where clicks of a page go together it is not the bound it says.

    >>> clicks = PairClicks(
    ...     starts=np.array([0, 2]), impressions=np.array([1000]), clicks=np.array([100, 300]),
    ...     propensity=np.array([1.0, 0.5]), positions=2, most=1.0,
    ... )
    >>> found = relative_bounds(clicks, np.array([0.63, 1.0]), np.array([1.0, 0.63]))
    >>> found.value.round(3).tolist(), found.half(0.95).round(3).tolist()
    ([0.185], [0.052])
    """
    return clicks.bounds(contrast(first, second, clicks.most), whole=whole)


def sea_bounds(clicks: PairClicks, first: Vector, second: Vector, *, whole: bool = False) -> TwoBounds:
    """A bound on each of the two, with the same b: together never narrower than `relative_bounds` of the same pair."""
    return TwoBounds(clicks.bounds(first, whole=whole), clicks.bounds(second, whole=whole))
