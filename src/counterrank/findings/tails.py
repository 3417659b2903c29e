"""The weights and terms of an estimator in numbers: how long their tails are."""

from __future__ import annotations

import numpy as np

from counterrank.findings.diagnosis import Tail
from counterrank.statistics.histogram import SHIFT, Histogram, Spreads

TEN = 10
ROUNDING = 1e-9
SQUARES = 1e-7  # what rounding of squares leaves: the root of 2⁻⁵², a few times
_SIGN = 1 << (63 - SHIFT)  # of a bucket's number
_EXPONENT = 52 - SHIFT  # bits of a bucket's number below the exponent
_BIAS = 1023


def tail_of(spreads: Spreads) -> Tail:
    """Weights in buckets by powers of two, the largest of them, and what ten impressions bring."""
    weight = spreads.weight
    size = np.abs(weight.means)
    exponent = ((weight.buckets & (_SIGN - 1)) >> _EXPONENT) - _BIAS
    zero = exponent == -_BIAS
    edges, counts = [], []
    if not zero.all():
        low, high = int(exponent[~zero].min()), int(exponent[~zero].max())
        edges = [2.0**e for e in range(low, high + 2)]
        counts = np.bincount(exponent[~zero] - low, weight.counts[~zero], high - low + 1).tolist()
    return Tail(
        edges=edges,
        counts=counts,
        zero=float(weight.counts[zero].sum()),
        negative=float(weight.counts[weight.means < 0].sum() / weight.total) if weight.total else 0.0,
        largest=float(size.max()) if len(size) else None,
        largest_share=_share(weight, 1),
        ten=_share(spreads.term, TEN),
    )


def _share(histogram: Histogram, number: int) -> float | None:
    """What the so many largest bring of the sum of absolute numbers."""
    whole = float(np.abs(histogram.sums).sum())
    return min(histogram.largest(number) / whole, 1.0) if 0 < whole < np.inf else None


def skewness(influence: Histogram, term: Histogram | None = None) -> float | None:
    """The skewness of the estimate, a mean of independent influences: Σψ³ / (Σψ²)^1.5.

    None where there is no spread: influences that are tiny beside the terms are errors of rounding.
    """
    means = influence.means
    scale = float(np.abs(means).max()) if len(means) else 0.0
    least = SQUARES * float(np.abs(term.means).max()) if term is not None and len(term.means) else 0.0
    if scale <= least or not np.isfinite(scale):
        return None
    each = means / scale
    square = float(influence.counts @ each**2)
    if square <= 0:
        return None
    found = float(influence.counts @ each**3) / square**1.5
    return found if abs(found) > ROUNDING else 0.0
