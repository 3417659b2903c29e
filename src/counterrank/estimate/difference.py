"""The difference of two policies by one estimator: each impression's influence on it is that on both values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.estimate._page import weigh_difference
from counterrank.estimate.base import Estimate, Estimator, Evidence, Linear, Vector
from counterrank.estimate.list import FEW, overall_variance, ranking_weights, weigh
from counterrank.statistics.pairs import sum_by
from counterrank.statistics.rankings import Rankings

Mask = NDArray[np.bool_]
PAIRED = ("list", "wlist", "ip", "wip", "pbm", "item", "pi")


def difference(
    estimator: Estimator, sides: tuple[Evidence, Evidence], alone: list[Estimate | Linear]
) -> Estimate | Linear:
    """The value of the first side less that of the second; `alone` has the two estimates."""
    one, other = alone
    if isinstance(one, Linear) and isinstance(other, Linear):
        return one.less(other)
    if not isinstance(one, Estimate) or not isinstance(other, Estimate) or estimator.name not in PAIRED:
        raise InputError(
            f"{estimator.name} cannot compare two policies by paired differences: choose from {', '.join(PAIRED)}"
        )
    if one.value is None or other.value is None:
        second = None
    elif estimator.name == "pi":
        sums, lacking = weigh_difference(*sides)
        second = sums.second_moment(sides[0], -sides[0].counts.origin, one.value - other.value) + lacking
    else:
        second = _of_rankings(sides, (one, other), estimator.name == "wlist")
    value = None if second is None or one.value is None or other.value is None else one.value - other.value
    clipped, unsupported = max(one.clipped, other.clipped), max(one.unsupported, other.unsupported)
    return Estimate(value, one.per_query - other.per_query, second, None, clipped, unsupported)


def _of_rankings(sides: tuple[Evidence, Evidence], alone: tuple[Estimate, Estimate], normalised: bool) -> float:
    """Σψ² of `list` or `wlist`.

    In a group of n impressions with rewards F, an impression's influence is a·(f − F/n) + c·f − d, plus what such free
    parts are worth on the average of its query. a sums the weights that move with the log's shares, c those that do
    not; b and d are the same times what is taken from a reward.
    """
    counts, n = sides[0].counts, sides[0].counts.impressions.astype(np.float64)
    size, origin = len(n), counts.origin
    scale, shift = [1.0, -1.0], [-origin, -origin]
    if normalised:
        mass = [_mass(side) for side in sides]
        scale = [1 / mass[0], -1 / mass[1]]
        shift = [float(e.value or 0.0) - origin for e in alone]
    total = np.zeros((3, size))  # Σ squares, Σ influence without what is free, Σ what is free
    singles = np.zeros(size)
    pooled = np.zeros(2)
    rest = np.stack([n, counts.reward, counts.reward2])
    for chunk in counts.rankings.chunks() if counts.rankings is not None else ():
        m, f, f2 = chunk.impressions.astype(np.float64), chunk.reward, chunk.reward2
        a, b, c, d = np.zeros((4, len(m)))
        wanted = np.zeros(len(m), dtype=bool)
        for side, by, less in zip(sides, scale, shift, strict=True):
            w, free, shown = _weights(side, chunk)
            wanted |= shown
            a += by * np.where(free, w, 0.0)
            b += by * less * np.where(free, w, 0.0)
            c += by * np.where(free, 0.0, w)
            d += by * less * np.where(free, 0.0, w)
        within = np.maximum(f2 - f**2 / m, 0.0)
        thin = np.where(m > 1, a**2 * within / np.maximum(m - 1, 1), 0.0)
        rows = (
            (a**2 + 2 * a * c) * within + c**2 * f2 - 2 * c * d * f + d**2 * m + thin,
            c * f - d * m,
            a * f - b * m,
        )
        for row, values in enumerate(rows):
            total[row] += sum_by(chunk.queries, values, size)
        singles += sum_by(chunk.queries, np.where(m == 1, a**2, 0.0), size)
        pooled += within[wanted].sum(), (m[wanted] - 1).sum()
        rest -= np.stack([sum_by(chunk.queries, values, size) for values in (m, f, f2)])
    alike = [min(1.0, side.clip) * by if side.same else 0.0 for side, by in zip(sides, scale, strict=True)]
    once, taken = alike[0] + alike[1], alike[0] * shift[0] + alike[1] * shift[1]
    left, f, f2 = rest  # impressions of rankings that only the logging policy shows
    total[0] += once**2 * f2 - 2 * once * taken * f + taken**2 * left
    total[1] += once * f - taken * left
    variance = pooled[0] / pooled[1] if pooled[1] > 0 else 0.0
    if pooled[1] < FEW:  # as `list`: too few repeated rankings to tell how much one varies
        variance = max(variance, overall_variance(sides[0]))
    value = 0.0 if normalised else float(alone[0].value or 0.0) - float(alone[1].value or 0.0)
    back = total[2] / n - value
    return float((total[0] + 2 * back * total[1] + n * back**2 + singles * variance).sum())


def _weights(side: Evidence, chunk: Rankings) -> tuple[Vector, Mask, Mask]:
    """The weight of each group, whether it moves with the log's shares, and whether a judged policy shows it."""
    if side.same:
        no = np.zeros(len(chunk), dtype=bool)
        return np.full(len(chunk), min(1.0, side.clip)), no, no
    h, _, w, over = ranking_weights(side, chunk)
    return w, ~over & side.estimated, h > 0


def _mass(side: Evidence) -> float:
    """The mean weight of an impression."""
    return float(weigh(side).mass.sum() / side.counts.total)
