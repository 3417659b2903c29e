"""How much two estimators lean on the same impressions: Σψ·ψ', ψ being an impression's influence on each."""

from __future__ import annotations

from collections.abc import Mapping

from counterrank.engine import Moments
from counterrank.estimate import LinearEstimate
from counterrank.records import dataclass
from counterrank.statistics.counts import Counts


@dataclass(frozen=True)
class Joint:
    """Σψ·ψ' of every two estimators that are linear in clicks, and what few impressions a rate hide of each's Σψ²."""

    products: Mapping[tuple[str, str], float]
    thin: Mapping[str, float] | None = None

    @classmethod
    def of(cls, linear: Mapping[str, LinearEstimate], moments: Moments, counts: Counts) -> Joint:
        products = {}
        for i, (a, one) in enumerate(linear.items()):
            for j, (b, other) in enumerate(linear.items()):
                shared = one.constant @ moments.sums[:, j, 0] + other.constant @ moments.sums[:, i, 0]
                both = (one.constant * other.constant) @ counts.impressions
                products[a, b] = float(moments.cross[i, j] + shared + both)
        return cls(products, {name: e.thin.total() if e.thin is not None else 0.0 for name, e in linear.items()})

    def of_difference(self, a: str, b: str) -> float | None:
        """Σ(ψ − ψ')², with what few impressions hide of both; None where that is not known."""
        if (a, b) not in self.products or self.thin is None:
            return None
        square = self.products[a, a] + self.products[b, b] - 2 * self.products[a, b]
        return max(square, 0.0) + self.thin[a] + self.thin[b]
