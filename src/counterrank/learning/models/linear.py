"""`linear`: counterfactual LambdaLoss on a weighted sum of features (genspec2021, section 4.1)."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

import numpy as np

from counterrank.learning.examples import Examples, Vector
from counterrank.learning.models.base import Course, Fitted, Model
from counterrank.learning.models.descent import Descent, Task
from counterrank.learning.models.held import Held
from counterrank.learning.models.lambda_loss import gains, losses, scored
from counterrank.learning.models.prepared import Prepared, differing
from counterrank.learning.models.scaled import Directions, Scale
from counterrank.records import dataclass

EPOCHS = 8
PATIENCE = 3  # epochs without a better value on the validation queries before a setting is given up
SETTINGS = ((0.03, 0.01), (0.01, 0.0), (0.01, 0.1))  # step size and penalty; the first where nothing can be chosen
FLOOR = 0.1  # see `Directions`
TOLD = 100  # training queries whose loss is told


@dataclass
class Best:
    """The best weights so far, a copy, and the way of the setting that they are of."""

    value: float = -np.inf
    weights: Vector = field(default_factory=lambda: np.zeros(0))
    rate: float = 0.0
    penalty: float = 0.0
    epoch: int = 0
    path: list[tuple[Vector, float | None]] = field(default_factory=list)  # weights and value after each epoch


class LambdaLoss(Model):
    """Weights of features by minibatch descent on `lambda_loss`; step size, penalty and end chosen on validation."""

    name: ClassVar[str] = "linear"
    assumption: ClassVar[str] = "the order of items follows a weighted sum of their features"

    def learn(self, ready: Prepared, course: Course) -> Fitted:
        scale = Scale.of(ready.train.features)
        task = task_of(ready.train, scale, course.weights)
        held = None if ready.validation is None else Held(ready.validation, scale, course.weights)
        best = Best()
        if course.setting is not None:
            rate, penalty, epochs = course.setting
            best = descend_like(task, held, course, rate=rate, penalty=penalty, epochs=int(epochs))
        else:
            for rate, penalty in SETTINGS if held is not None else SETTINGS[:1]:
                descend(task, held, best, course, rate=rate, penalty=penalty)
        notes = ready.notes
        if held is None and course.setting is None:
            notes = [*notes, f"no validation queries: {EPOCHS} epochs at step size {best.rate:g}, nothing chosen"]
        chosen = f"step size {best.rate:g}, penalty {best.penalty:g}, {best.epoch} epochs"
        curve = [
            {"epoch": epoch, "loss": told_loss(task, tried), "value": value}
            for epoch, (tried, value) in enumerate(best.path, 1)
        ]
        told = held is not None or course.setting is not None
        return Fitted(
            policy=scale.linear(ready.train.names, best.weights), chosen=chosen, curve=curve, notes=notes,
            setting=(best.rate, best.penalty, float(best.epoch)) if told else None,
        )  # fmt: skip


def task_of(examples: Examples, scale: Scale, weights: Vector) -> Task:
    """The descent's arrays: worth is divided by its mean over queries that have a say."""
    rows = scale.apply(examples.features)
    queries = np.flatnonzero(differing(examples))
    worth = examples.worth * (len(queries) / examples.worth.sum())
    return Task(
        starts=examples.starts,
        queries=queries,
        rows=rows,
        worth=worth.astype(rows.dtype),
        gain=gains(weights / weights.max(), examples.longest).astype(rows.dtype),
        directions=Directions.of(examples, rows, FLOOR),
    )


def descend(task: Task, held: Held | None, best: Best, course: Course, *, rate: float, penalty: float) -> None:
    """One setting, epoch by epoch, the steps ever smaller; into `best` what is better than it."""
    descent = Descent(task, penalty=penalty, seed=course.seed)
    path: list[tuple[Vector, float | None]] = []
    highest, since = -np.inf, 0
    for epoch in range(1, EPOCHS + 1):
        descent.epoch(slower(rate, epoch))
        weights = descent.weights
        value = None if held is None else held.value(weights)
        path.append((weights, value))
        reached = float(epoch) if value is None else value
        if reached > best.value:
            best.value, best.weights, best.epoch = reached, weights, epoch
            best.rate, best.penalty, best.path = rate, penalty, path
        highest, since = (reached, 0) if reached > highest else (highest, since + 1)
        course.step()
        if since == PATIENCE:
            break


def descend_like(task: Task, held: Held | None, course: Course, *, rate: float, penalty: float, epochs: int) -> Best:
    """One setting for so many epochs, whatever their value."""
    descent, best = Descent(task, penalty=penalty, seed=course.seed), Best(rate=rate, penalty=penalty, epoch=epochs)
    for epoch in range(1, epochs + 1):
        descent.epoch(slower(rate, epoch))
        best.weights = descent.weights
        best.path.append((best.weights, None if held is None else held.value(best.weights)))
        course.step()
    return best


def slower(rate: float, epoch: int) -> float:
    """The step size of an epoch, from 1: smaller from one to the next."""
    return float(rate * 0.5 * (1.0 + np.cos(np.pi * (epoch - 1) / EPOCHS)))


def told_loss(task: Task, weights: Vector) -> float:
    """The mean loss of a query, over the first training queries that have a say."""
    some = task.queries[:TOLD]
    stop = int(task.starts[some[-1] + 1])
    scores = np.empty(stop)
    scored(task.rows[:stop], weights.astype(np.float32), scores)
    return float(losses(task.starts, some, scores, task.worth, task.gain))
