"""Empirical Bernstein: how far a mean of bounded terms may be from the truth, whatever their distribution."""

from __future__ import annotations

import math
from typing import overload

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@overload
def empirical_bernstein(spread: float, terms: float, largest: float, confidence: float) -> float: ...
@overload
def empirical_bernstein(spread: Vector, terms: Vector, largest: Vector, confidence: float) -> Vector: ...


def empirical_bernstein(
    spread: float | Vector, terms: float | Vector, largest: float | Vector, confidence: float
) -> float | Vector:
    """|mean − truth| ≤ 7·b·ln(2/δ)/(3(n − 1)) + √(2·ln(2/δ)·Σ(x − x̄)²/(n(n − 1))) with chance 1 − δ.

    n `terms` that do not depend on each other, within an interval as long as b, the `largest`; `spread` is Σ(x − x̄)².
    Also of several means at once. It holds for any n, and is wider than a normal interval. One term bounds nothing.
    Reference: Maurer and Pontil (2009), theorem 4; Thomas et al. (2015), theorem 1; genspec2021, eq. 24.

    >>> round(empirical_bernstein(25.0, 101, 1.0, 0.95), 4)
    0.2212
    """
    log = math.log(2 / (1 - confidence))
    with np.errstate(divide="ignore", invalid="ignore"):
        free = np.maximum(np.asarray(terms, dtype=np.float64) - 1, 0.0)
        half = 7 * np.asarray(largest) * log / (3 * free) + np.sqrt(2 * log * np.asarray(spread) / (terms * free))
    half = np.where(free > 0, half, np.inf)
    return half if half.ndim else float(half)


def terms_needed(difference: Vector, spread: Vector, terms: Vector, largest: Vector, confidence: float) -> Vector:
    """How many terms of the same kind would make `empirical_bernstein` as small as |difference|; inf where it is 0.

    With Σ(x − x̄)² = s·n the bound is c·u² + a·u in u = 1/√(n − 1), where a² = 2·ln(2/δ)·s.

    >>> one = np.ones(1)
    >>> more = terms_needed(0.1 * one, 25.0 * one, 101 * one, one, 0.95)
    >>> more.round(1).item()
    333.5
    >>> round(empirical_bernstein(25.0 / 101 * more.item(), more.item(), 1.0, 0.95), 6)
    0.1
    """
    log = math.log(2 / (1 - confidence))
    gap, c = np.abs(difference), 7 * largest * log / 3
    a = np.sqrt(2 * log * spread / terms)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = 2 * gap / (a + np.sqrt(a**2 + 4 * c * gap))
        found = 1 + 1 / u**2
    return np.where(gap > 0, found, np.inf)
