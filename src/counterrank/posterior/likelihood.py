"""How likely clicks are when attractions are drawn from a Beta prior: cief2024's equation 8, in logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.posterior._gamma import log_rise

Vector = NDArray[np.float64]


def log_likelihood(clicks: ArrayLike, looks: ArrayLike, alpha: ArrayLike, beta: ArrayLike) -> float:
    """Σ over items of log ∫ z^clicks (1−z)^(looks−clicks) Beta(z; α, β) dz. An item without looks adds 0.

    α and β are numbers, or each item's own.

    >>> round(log_likelihood([1.0], [2.0], 1.0, 1.0), 6)  # ∫ z(1−z) dz = 1/6
    -1.791759
    """
    hits, tries = np.asarray(clicks, dtype=np.float64), np.asarray(looks, dtype=np.float64)
    if np.ndim(alpha) == 0 and np.ndim(beta) == 0:
        return float(_of_group(hits, tries - hits, np.ones(len(hits)), 0, len(hits), float(alpha), float(beta)))  # type: ignore[arg-type]
    each = [np.broadcast_to(np.asarray(part, dtype=np.float64), hits.shape).copy() for part in (alpha, beta)]
    return float(_of_items(hits, tries - hits, each[0], each[1]))


def on_grid(hits: Vector, misses: Vector, count: Vector, starts: Codes, steps: Vector) -> NDArray[np.float64]:
    """(groups, steps, steps): the log-likelihood of each group's items under each (α, β) of the grid.

    It is A(α) + B(β) − C(α + β), so each part is tabled once per distinct count and summed by group.
    """
    sums, at_sum = np.unique(steps[:, None] + steps[None, :], return_inverse=True)
    up = _summed(hits, steps, count, starts)
    down = _summed(misses, steps, count, starts)
    both = _summed(hits + misses, sums, count, starts)
    grid = up[:, :, None] + down[:, None, :]
    grid -= both[:, at_sum.reshape(len(steps), len(steps))]
    return grid


def _summed(values: Vector, at: Vector, count: Vector, starts: Codes) -> NDArray[np.float64]:
    """(groups, len(at)): Σ over a group's items of count · (log Γ(at + value) − log Γ(at))."""
    distinct, which = np.unique(values, return_inverse=True)
    return np.asarray(_sum_rises(distinct, which, at, count, starts))


@njit()
def _sum_rises(distinct: Any, which: Any, at: Any, count: Any, starts: Any) -> Any:  # pragma: no cover
    table = np.empty((len(distinct), len(at)))
    for i in range(len(distinct)):
        for j in range(len(at)):
            table[i, j] = log_rise(at[j], distinct[i])
    out = np.zeros((len(starts) - 1, len(at)))
    for g in range(len(starts) - 1):
        for p in range(starts[g], starts[g + 1]):
            for j in range(len(at)):
                out[g, j] += count[p] * table[which[p], j]
    return out


@njit()
def _of_group(
    hits: Any, misses: Any, count: Any, first: int, stop: int, alpha: float, beta: float
) -> float:  # pragma: no cover
    total = 0.0
    for p in range(first, stop):
        up, down = log_rise(alpha, hits[p]), log_rise(beta, misses[p])
        total += count[p] * (up + down - log_rise(alpha + beta, hits[p] + misses[p]))
    return total


@njit()
def _of_items(hits: Any, misses: Any, alpha: Any, beta: Any) -> float:  # pragma: no cover
    total = 0.0
    for p in range(len(hits)):
        up, down = log_rise(alpha[p], hits[p]), log_rise(beta[p], misses[p])
        total += up + down - log_rise(alpha[p] + beta[p], hits[p] + misses[p])
    return total
