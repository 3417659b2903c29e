"""`logistic`: logistic regression on debiased click rates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from counterrank.learning.examples import Matrix, Vector
from counterrank.learning.models.pointwise import Pointwise, Rates, beyond

STEPS = 20
CLOSE = 1e-8  # a step that promises less than this is the last


class Logistic(Pointwise):
    """Minimises the mean of −rate·log p − (1 − rate)·log(1 − p) + penalty/2 · |b|², p = 1/(1 + exp(−b₀ − z·b)).

    Rates above 1 count as 1, so it is biased where a click deep in a list is worth many.
    """

    name: ClassVar[str] = "logistic"
    assumption: ClassVar[str] = "the log-odds of the debiased click rate of an item are linear in its features"
    usual = 0.01
    penalties = (1.0, 0.1, 0.01, 0.001, 0.0001)

    def remarks(self, rates: Rates) -> list[str]:
        return beyond(rates)

    def path(self, rates: Rates, penalties: list[float]) -> Iterator[tuple[Vector, float]]:
        rate = np.clip(rates.rate, 0.0, 1.0)
        level = min(max(float(rates.share @ rate), 1e-12), 1 - 1e-12)
        found = np.zeros(rates.rows.shape[1] + 1)
        found[0] = np.log(level / (1 - level))
        for penalty in penalties:
            found, loss = _newton(rates.rows, rate, rates.share, found, penalty)
            yield found[1:], loss


def _newton(
    rows: NDArray[np.float32], rate: Vector, share: Vector, start: Vector, penalty: float
) -> tuple[Vector, float]:
    """Newton's steps from `start`, each halved until it does not lose; the loss is without the penalty."""
    at, ridge = start, np.full(len(start), penalty)
    ridge[0] = 1e-12
    loss, chance = _loss(rows, rate, share, at)
    for _ in range(STEPS):
        slope, bend = _derivatives(rows, share, chance - rate, chance * (1 - chance))
        slope += ridge * at
        step = np.linalg.solve(bend + np.diag(ridge), slope)
        size, whole = 1.0, loss + 0.5 * float(ridge @ at**2)
        while size > 1e-6:
            moved = at - size * step
            less, chance = _loss(rows, rate, share, moved)
            if less + 0.5 * float(ridge @ moved**2) <= whole:
                at, loss = moved, less
                break
            size /= 2
        if size <= 1e-6 or float(slope @ step) < CLOSE:
            break
    return at, loss


def _loss(rows: NDArray[np.float32], rate: Vector, share: Vector, at: Vector) -> tuple[float, Vector]:
    """The mean loss, and the chance of each row."""
    score = at[0] + (rows @ at[1:].astype(np.float32)).astype(np.float64)
    soft = np.logaddexp(0.0, score)
    return float(share @ (soft - rate * score)), np.exp(score - soft)


def _derivatives(rows: NDArray[np.float32], share: Vector, off: Vector, bend: Vector) -> tuple[Vector, Matrix]:
    by, curved = (share * off).astype(np.float64), (share * bend).astype(np.float32)
    slope = np.concatenate([[by.sum()], by.astype(np.float32) @ rows])
    out = np.empty((len(slope), len(slope)))
    out[0, 0] = curved.sum(dtype=np.float64)
    out[0, 1:] = out[1:, 0] = curved @ rows
    out[1:, 1:] = rows.T @ (rows * curved[:, None])
    return slope, out
