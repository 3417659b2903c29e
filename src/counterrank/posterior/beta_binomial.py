"""How likely clicks are where each item has a Beta prior of its own: ebrank2023's loss (eq. 13) and its slopes.

l = log B(α, β) − log B(C + α, n − C + β), for 0 ≤ C ≤ n, which need not be whole. Slopes are by log α and log β, so
that nothing overflows however small or large α is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from counterrank.compiled import njit
from counterrank.posterior._gamma import log_rise, slope_rise

Vector = NDArray[np.float64]
SMALL, LARGE = 1e-300, 1e300  # α and β are kept within


class Terms(NamedTuple):
    """Of each item: the loss, its slopes by log α and log β, and how much its mean tells of log α (never negative)."""

    loss: Vector
    by_alpha: Vector
    by_beta: Vector
    information: Vector


def terms(clicks: ArrayLike, looks: ArrayLike, alpha: ArrayLike, beta: ArrayLike) -> Terms:
    """The loss of each item. Clicks are cut into [0, looks]: debiased ones may be more, where eq. 13 is undefined.

    `information` is (d mean / d log α)² / variance of C/n, a part of Fisher's: the second derivative itself is negative
    wherever C = 0, and no step of Newton's can be made of it.

    >>> found = terms([1.0, 9.0], [2.0, 2.0], 1.0, 1.0)
    >>> found.loss.round(6).tolist()  # ∫ z(1−z) dz = 1/6, ∫ z² dz = 1/3
    [1.791759, 1.098612]
    """
    c, n, a, b = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in (clicks, looks, alpha, beta)))
    out = np.empty((4, c.size))
    _terms(np.ravel(np.clip(c, 0.0, n)), np.ravel(n), np.ravel(a), np.ravel(b), out)
    return Terms(*(part.reshape(c.shape) for part in out))


@njit(nogil=True)
def _terms(clicks, looks, alphas, betas, out):  # type: ignore[no-untyped-def]
    for i in range(len(clicks)):
        c, n = clicks[i], looks[i]
        alpha = min(max(alphas[i], SMALL), LARGE)
        beta = min(max(betas[i], SMALL), LARGE)
        both = alpha + beta
        out[0, i] = log_rise(both, n) - log_rise(alpha, c) - log_rise(beta, n - c)
        common = slope_rise(both, n)
        out[1, i] = alpha * common - alpha * slope_rise(alpha, c)
        out[2, i] = beta * common - beta * slope_rise(beta, n - c)
        share = alpha / both
        out[3, i] = share * (beta / both) * n * ((both + 1.0) / (both + n))
