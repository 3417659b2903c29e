"""`ridge`: least squares on debiased click rates, from their moments alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from counterrank.learning.examples import Vector
from counterrank.learning.models.pointwise import Pointwise, Rates


class Ridge(Pointwise):
    """Minimises mean (rate − b₀ − z·b)² + penalty · |b|², with a free b₀; the mean is over impressions.

    Two sums over items, zzᵀ and z · rate, say all that it needs: every penalty is tried on these.
    """

    name: ClassVar[str] = "ridge"
    assumption: ClassVar[str] = "the debiased click rate of an item is linear in its features"
    usual = 0.1
    penalties = tuple(10.0**power for power in np.arange(-4.0, 2.1, 0.5))

    def path(self, rates: Rates, penalties: list[float]) -> Iterator[tuple[Vector, float]]:
        weighed = rates.rows * rates.share[:, None].astype(np.float32)
        mean, level = weighed.sum(axis=0, dtype=np.float64), float(rates.share @ rates.rate)
        squares = (rates.rows.T @ weighed).astype(np.float64) - np.outer(mean, mean)
        with_rate = (rates.rate @ weighed).astype(np.float64) - mean * level
        spread = float(rates.share @ (rates.rate - level) ** 2)
        widths, axes = np.linalg.eigh(squares)
        turned = axes.T @ with_rate
        for penalty in penalties:
            weights = axes @ (turned / (np.maximum(widths, 0.0) + penalty))
            yield weights, spread - 2 * float(weights @ with_rate) + float(weights @ squares @ weights)
