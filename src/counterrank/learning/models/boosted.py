"""`lightgbm`: counterfactual LambdaLoss on boosted trees."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from counterrank.learning.examples import Examples, Vector
from counterrank.learning.models.base import Course, Fitted, Model
from counterrank.learning.models.lambda_loss import derivatives, gains, losses
from counterrank.learning.models.prepared import Prepared, differing
from counterrank.policy.scorer import LightGBM
from counterrank.records import dataclass
from counterrank.regress import load_lightgbm

TOLD = 100  # training queries whose loss is told
TREES = 200
PATIENCE = 20  # trees without a better value on the validation queries before a shape is given up
USUAL = 50  # trees where nothing can be chosen
LEAST_BEND = 1e-3  # of the mean second derivative: a leaf of settled pairs takes no huge step
LARGE = 2_000_000  # numbers from which a second thread pays
SHAPES: tuple[dict[str, Any], ...] = (
    {"learning_rate": 0.1, "num_leaves": 7},
    {"learning_rate": 0.05, "num_leaves": 31},
)
PARAMETERS: dict[str, Any] = {
    "objective": "none", "verbosity": -1, "deterministic": True, "force_row_wise": True, "min_data_in_bin": 1,
    "min_data_in_leaf": 20, "lambda_l2": 1.0, "feature_pre_filter": False, "boost_from_average": False,
}  # fmt: skip


class LambdaTrees(Model):
    """Trees that each follow the derivatives of `lambda_loss`; their number and size chosen on validation."""

    name: ClassVar[str] = "lightgbm"
    assumption: ClassVar[str] = "the order of items follows a sum of trees of their features"

    def learn(self, ready: Prepared, course: Course) -> Fitted:
        package = load_lightgbm("linear, ridge or logistic")
        push = Push(ready.train, course.weights)
        threads = 2 if ready.train.features.size > LARGE else 1
        fixed = {**PARAMETERS, "seed": course.seed, "num_threads": threads}
        names = [f"f{k}" for k in range(len(ready.train.names))]  # LightGBM takes no spaces and the like
        data = package.Dataset(ready.train.features, label=push.worth, feature_name=names, params=fixed)
        held = None if ready.validation is None else Held(data, ready.validation, course.weights)
        shapes = SHAPES if held is not None else SHAPES[:1]
        if course.setting is not None:
            shapes = (SHAPES[int(course.setting[0])],)
        tried = [
            grow(package.Booster({**fixed, **shape}, data.construct()), push, held, course, shape) for shape in shapes
        ]
        best = max(tried, key=lambda grown: grown.value)
        notes = list(ready.notes)
        if ready.validation is None and course.setting is None:
            notes.append(f"no validation queries: {USUAL} trees, nothing chosen")
        policy = LightGBM(best.booster.model_to_string(num_iteration=best.trees), ready.train.names)
        shape = [each["num_leaves"] for each in SHAPES].index(best.leaves)
        setting = course.setting if held is None else (float(shape), float(best.trees))
        said = f"{best.trees} trees of {best.leaves} leaves"
        return Fitted(policy=policy, chosen=said, setting=setting, curve=best.curve, notes=notes)


class Push:
    """LightGBM's objective: the derivatives of LambdaLoss by each score, second ones floored."""

    def __init__(self, examples: Examples, weights: Vector) -> None:
        self.starts, self.queries = examples.starts, np.flatnonzero(differing(examples))
        self.worth = examples.worth * (len(examples.worth) / examples.worth.sum())
        self.gain = gains(weights / weights.max(), examples.longest)
        self.loss = 0.0

    def __call__(self, scores: Vector, data: Any = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        first, second = np.zeros(len(self.worth)), np.zeros(len(self.worth))
        scores = np.asarray(scores, dtype=np.float64)
        derivatives(self.starts, self.queries, scores, self.worth, self.gain, first, second)
        self.loss = float(losses(self.starts, self.queries[:TOLD], scores, self.worth, self.gain))
        return first, np.maximum(second, LEAST_BEND * max(float(second.mean()), np.finfo(float).tiny))


class Held:
    """Validation queries: the counterfactual value of the trees so far, whose scores LightGBM keeps up to date."""

    def __init__(self, train: Any, examples: Examples, weights: Vector) -> None:
        self.data = train.create_valid(examples.features, label=examples.worth, params=train.params)
        self.examples, self.weights = examples, weights

    def __call__(self, scores: Vector, data: Any) -> tuple[str, float, bool]:
        """Named and called as LightGBM asks; a higher value is better."""
        return "value", self.examples.value(scores, self.weights), True


@dataclass(frozen=True)
class Grown:
    """Trees, of which the first so many are the best."""

    booster: Any
    leaves: int
    trees: int
    value: float
    curve: list[dict[str, Any]]


def grow(booster: Any, push: Push, held: Held | None, course: Course, shape: dict[str, Any]) -> Grown:
    """Tree after tree, as long as the value on the validation queries rises now and then; or as many as are asked."""
    curve: list[dict[str, Any]] = []
    best, value, asked = (0, -np.inf), None, course.setting is not None
    most = int(course.setting[1]) if course.setting is not None else USUAL if held is None else TREES
    if held is not None:
        booster.add_valid(held.data, "held")
    while len(curve) < most and (asked or len(curve) - best[0] < PATIENCE):
        ended = booster.update(fobj=push)
        if held is not None:
            value = float(booster.eval_valid(held)[0][2])
        curve.append({"epoch": len(curve) + 1, "loss": push.loss, "value": value})
        if asked or value is None or value > best[1]:
            best = (len(curve), 0.0 if value is None else value)
        course.step()
        if ended:
            break
    return Grown(booster, shape["num_leaves"], best[0], best[1], curve)
