"""How far an impression moves an estimate, by its ranking and its clicks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate.cascade.prefixes import Prefixes
from counterrank.records import dataclass
from counterrank.statistics.histogram import Histogram, Spreads
from counterrank.statistics.pairs import sum_by
from counterrank.statistics.terms import Terms, Units

Vector = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class PatternInfluence:
    """Of the patterns of a log. Weights that move with its own shares cost a degree of freedom a prefix: `thin`."""

    found: Prefixes
    influence: Vector  # (G,) ψ
    term: Vector  # (G,) what an impression brings to the value
    weight: Vector  # (G,) its mean weight
    left: Vector  # (G, K) what a click brings less the mean of its prefix, where the weight moves with shares
    limits: (
        tuple[float, float] | None
    )  # between what numbers a term can lie, whatever is clicked; None: nobody can tell
    alone: Vector  # (V,) how much such a click may vary, for prefixes that were met once

    def thin(self) -> Vector:
        """(V,) what few impressions of a prefix hide of Σψ²."""
        n = self.found.shown
        return np.where(n > 1, self.found.summed(self.left**2) / np.maximum(n - 1, 1), self.alone**2)

    def second_moment(self) -> float:
        return float(self.found.impressions @ self.influence**2 + self.thin().sum())

    def sizes(self, queries: int) -> Vector:
        """(Q,) effective sample sizes."""
        n, of = self.found.impressions, self.found.patterns.queries
        w, w2 = (sum_by(of, n * each, queries) for each in (self.weight, self.weight**2))
        return np.divide(w**2, w2, out=np.zeros_like(w), where=w2 > 0)

    def effective_sample_size(self) -> float | None:
        n = self.found.impressions
        squares = float(n @ self.weight**2)
        return float(n @ self.weight) ** 2 / squares if squares > 0 else None

    def within(self, impressions: Vector) -> Vector:
        """(Q,) Σψ² of each query's own value."""
        n, of, size = self.found.impressions, self.found.patterns.queries, len(impressions)
        r, r2 = (sum_by(of, n * each, size) for each in (self.influence, self.influence**2))
        return np.maximum(r2 - r**2 / impressions, 0.0) + sum_by(self.found.query, self.thin(), size)

    def spreads(self) -> Spreads:
        return Spreads(
            *(Histogram.of(each, self.found.impressions) for each in (self.influence, self.term, self.weight))
        )

    def terms(self) -> Callable[[], Terms] | None:
        """What the value is the mean of, where somebody can tell how far a term reaches."""
        if self.limits is None:
            return None
        least, most = self.limits

        def made() -> Terms:
            units = Units.of(Histogram.of(self.term, self.found.impressions))
            return Terms(units, units, least, most)

        return made

    def less(self, other: PatternInfluence) -> PatternInfluence:
        """On the difference of two values from the same patterns."""
        return PatternInfluence(
            found=self.found,
            influence=self.influence - other.influence,
            term=self.term - other.term,
            weight=self.weight - other.weight,
            left=self.left - other.left,
            limits=_apart(self.limits, other.limits),
            alone=self.alone - other.alone,
        )

    def scaled(self, factor: Vector, before: float, value: float) -> PatternInfluence:
        """With the terms of each query times its factor; `before` and `value` are the estimate without and with it."""
        by = factor[self.found.patterns.queries]
        return PatternInfluence(
            found=self.found,
            influence=(self.influence + before) * by - value,
            term=self.term * by,
            weight=self.weight * by,
            left=self.left * by[:, None],
            limits=_widened(self.limits, float(factor.max())),
            alone=self.alone * factor[self.found.query],
        )


Limits = tuple[float, float] | None


def _apart(one: Limits, other: Limits) -> Limits:
    return None if one is None or other is None else (one[0] - other[1], one[1] - other[0])


def _widened(limits: Limits, by: float) -> Limits:
    """Times a factor of 1 or more."""
    return None if limits is None else (min(limits[0] * by, limits[0]), max(limits[1] * by, limits[1]))
