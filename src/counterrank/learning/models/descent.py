"""Minibatch descent on LambdaLoss: Adam in directions that are all about as wide, averaged over each epoch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.learning.examples import Vector
from counterrank.learning.models.lambda_loss import FAST, gradient
from counterrank.learning.models.scaled import Directions
from counterrank.records import dataclass

STEPS = 16  # of an epoch, at least where there are as many queries
BATCH = 64  # queries of a step, at least where there are so many that an epoch has MOST_STEPS
MOST_STEPS = 128


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is descended on: queries with worth, their rows on one scale, and what pairs weigh."""

    starts: Codes
    queries: Codes  # those that have a say
    rows: NDArray[np.floating]  # (P, F)
    worth: NDArray[np.floating]  # (P,), of mean 1 over queries that have a say
    gain: NDArray[np.floating]  # (2, longest)
    directions: Directions

    @property
    def batch(self) -> int:
        """Queries of a step."""
        size = len(self.queries)
        return max(1, min(-(-size // STEPS), max(BATCH, -(-size // MOST_STEPS))))


class Descent:
    """A descent that goes on epoch by epoch; `weights` is the mean over the epoch, which is less noisy than its end."""

    def __init__(self, task: Task, *, penalty: float, seed: int) -> None:
        self.task, self.rng = task, np.random.default_rng(seed)
        self.penalty = penalty * task.directions.stiffness
        self.state = np.zeros((4, task.rows.shape[1]))  # u, Adam's two moments, the mean of u
        self.state[0] = first_direction(task)
        self.steps = 0

    @property
    def weights(self) -> Vector:
        """(F,), a new array each time: the descent goes on, and what was kept must not."""
        return np.asarray(self.task.directions.turn @ self.state[3])

    def epoch(self, rate: float) -> None:
        """Once over all queries, in an order of chance."""
        task = self.task
        order = self.rng.permutation(task.queries)
        turn = task.directions.turn
        self.steps = int(_epoch(
            task.starts, order, task.rows, task.worth, task.gain, turn, self.penalty, self.state, self.steps, rate,
            task.batch,
        ))  # fmt: skip


def first_direction(task: Task, length: float = 0.1) -> Vector:
    """Where to start: a short step along the covariance of worth and features within queries.

    At 0 all items are tied and have no ranks; here the order already says something.
    """
    sizes = np.diff(task.starts)
    total = np.zeros(len(sizes))
    some = sizes > 0
    total[some] = np.add.reduceat(task.worth, task.starts[:-1][some]) if some.any() else 0.0
    centred = task.worth - np.repeat(total / np.maximum(sizes, 1), sizes)
    slope = task.directions.turn.T @ (centred.astype(task.rows.dtype) @ task.rows).astype(np.float64)
    size = float(np.linalg.norm(slope))
    return np.asarray(slope * (length / size) if size > 0 else slope)


@njit(nogil=True, fastmath=FAST)
def _epoch(
    starts: Any, order: Any, rows: Any, worth: Any, gain: Any, turn: Any, penalty: Any, state: Any, steps: Any,
    rate: Any, batch: Any,
) -> Any:  # pragma: no cover  # fmt: skip
    width = rows.shape[1]
    slope, weights = np.empty(width, rows.dtype), np.empty(width, rows.dtype)
    for k in range(width):
        state[3, k] = 0.0
    for begin in range(0, len(order), batch):
        some = order[begin : begin + batch]
        for f in range(width):
            total = 0.0
            for k in range(width):
                total += turn[f, k] * state[0, k]
            weights[f], slope[f] = total, 0
        gradient(starts, some, rows, worth, gain, weights, slope)
        steps += 1
        first, second = 1.0 - 0.9**steps, 1.0 - 0.999**steps
        for k in range(width):
            total = 0.0
            for f in range(width):
                total += turn[f, k] * slope[f]
            total = total / len(some) + penalty[k] * state[0, k]
            state[1, k] += 0.1 * (total - state[1, k])
            state[2, k] += 0.001 * (total * total - state[2, k])
            state[0, k] -= rate * (state[1, k] / first) / (np.sqrt(state[2, k] / second) + 1e-12)
            state[3, k] += state[0, k]
    for k in range(width):
        state[3, k] /= -(-len(order) // batch)
    return steps
