"""Lower bounds on the chance that an examined item is clicked, from its clicks and looks."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from counterrank.posterior.likelihood import Vector
from counterrank.records import dataclass
from counterrank.statistics.hashing import distinct

_CHUNK = 1 << 20  # items at a time
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)  # odd
Delta = float | Vector  # one for all items, or each its own


class Lower(Protocol):
    """(P,) bounds, NaN where nothing is known; `alpha` and `beta` are each item's prior."""

    def __call__(self, clicks: Vector, looks: Vector, delta: Delta, alpha: Vector, beta: Vector) -> Vector: ...


@dataclass(frozen=True)
class Bound:
    """A way to bound attractions from below. `prior`: the default of a bound that needs one, None of the others."""

    lower: Lower
    prior: str | None
    says: str


def quantile(clicks: Vector, looks: Vector, level: Delta, alpha: Vector, beta: Vector) -> Vector:
    """The quantile of Beta(α + clicks, β + looks − clicks) at a level from 0 to 1; without looks it is the prior's.

    >>> zero, one = np.zeros(1), np.ones(1)
    >>> quantile(zero, zero, 0.25, one, one).round(9).tolist()
    [0.25]
    """
    wins, losses = alpha + clicks, beta + (looks - clicks)
    levels = np.broadcast_to(level, np.shape(wins))
    out = np.empty(len(wins))
    for first in range(0, len(out), _CHUNK):
        part = slice(first, first + _CHUNK)
        out[part] = _quantiles(wins[part], losses[part], levels[part])
    return out


def _quantiles(wins: Vector, losses: Vector, level: Vector) -> Vector:
    """Of Beta(wins, losses), each different one once: in a log of many queries most items have seen the same."""
    from scipy.special import betaincinv

    keys = np.zeros(len(wins), dtype=np.uint64)
    for column, factor in zip((wins, losses, level), _FACTORS, strict=True):
        keys = (keys ^ np.ascontiguousarray(column, dtype=np.float64).view(np.uint64)) * factor
    some, of = distinct(keys)
    if not all((column[some][of] == column).all() for column in (wins, losses, level)):  # two share a key, or NaN
        some = of = np.arange(len(wins))
    with np.errstate(under="ignore"):  # next to 0 is 0
        return np.asarray(betaincinv(wins[some], losses[some], level[some]), dtype=np.float64)[of]


def bayes(clicks: Vector, looks: Vector, delta: Delta, alpha: Vector, beta: Vector) -> Vector:
    """The δ/2 quantile of Beta(α + clicks, β + looks − clicks): cief2024, eq. 6. Without looks it is the prior's.

    >>> bayes(np.array([1.0]), np.array([1.0]), 0.5, np.array([1.0]), np.array([1.0])).tolist()
    [0.5]
    """
    return quantile(clicks, looks, delta / 2, alpha, beta)


def mle(clicks: Vector, looks: Vector, delta: Delta, alpha: Vector, beta: Vector) -> Vector:
    """The mean: no pessimism."""
    return np.asarray(np.divide(clicks, looks, out=np.full(len(looks), np.nan), where=looks > 0))


def hoeffding(clicks: Vector, looks: Vector, delta: Delta, alpha: Vector, beta: Vector) -> Vector:
    """The mean less √(log(1/δ)/(2·looks)): cief2024, eq. 7. It may be negative; at δ = 1 it is the mean.

    >>> ones = np.ones(1)
    >>> hoeffding(ones, 4 * ones, 1.0, ones, ones).tolist()
    [0.25]
    """
    seen = looks > 0
    width = np.sqrt(np.divide(-np.log(delta), 2 * looks, out=np.zeros(len(looks)), where=seen))
    return np.asarray(mle(clicks, looks, delta, alpha, beta) - width)


def kl(clicks: Vector, looks: Vector, delta: Delta, alpha: Vector, beta: Vector) -> Vector:
    """The least q below the mean with looks · KL(mean ‖ q) ≤ log(1/δ): Chernoff's bound, tighter than Hoeffding's.

    KL(p ‖ q) = p log(p/q) + (1−p) log((1−p)/(1−q)). Solved by bisection to the last digit.
    """
    mean = mle(clicks, looks, delta, alpha, beta)
    room = np.divide(-np.log(delta), looks, out=np.zeros(len(looks)), where=looks > 0)
    p = np.nan_to_num(mean)
    low, high = np.zeros(len(p)), p.copy()
    for _ in range(80):
        q = 0.5 * (low + high)
        inside = _divergence(p, q) <= room
        low, high = np.where(inside, low, q), np.where(inside, q, high)
    sure = (p >= 1) & (looks > 0)  # −log q ≤ room
    return np.where(np.isnan(mean), np.nan, np.where(sure, np.exp(-room), np.where(room > 0, high, p)))


def _divergence(p: Vector, q: Vector) -> Vector:
    with np.errstate(divide="ignore", invalid="ignore"):
        clicked = np.where(p > 0, p * np.log(p / q), 0.0)
        missed = np.where(p < 1, (1 - p) * (np.log1p(-p) - np.log1p(-q)), 0.0)
    return clicked + missed


def wilson(clicks: Vector, looks: Vector, delta: Delta, alpha: Vector, beta: Vector) -> Vector:
    """The lower end of Wilson's score interval at level 1 − δ, for reference; at δ = 1 it is the mean."""
    from scipy.special import ndtri

    z = -ndtri(np.maximum(delta / 2, np.finfo(np.float64).tiny))  # δ / 2 may be rounded to 0
    p, n = mle(clicks, looks, delta, alpha, beta), np.where(looks > 0, looks, 1.0)
    return np.asarray((p + z**2 / (2 * n) - z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))) / (1 + z**2 / n))


BOUNDS: dict[str, Bound] = {
    "empirical-bayes": Bound(bayes, "fit", "δ/2 quantile of the Beta posterior, its prior the most likely one"),
    "bayes": Bound(bayes, "1,1", "δ/2 quantile of the Beta posterior, its prior given"),
    "hoeffding": Bound(hoeffding, None, "the mean less √(log(1/δ)/(2n))"),
    "kl": Bound(kl, None, "Chernoff's bound by the Kullback–Leibler divergence"),
    "wilson": Bound(wilson, None, "the lower end of Wilson's interval"),
    "mle": Bound(mle, None, "the mean: no pessimism"),
}
