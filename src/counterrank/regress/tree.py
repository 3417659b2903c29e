"""A regression tree, as deep as cross-validation likes best."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from counterrank.records import dataclass
from counterrank.regress import _lightgbm
from counterrank.regress.base import Matrix, Vector, splits
from counterrank.regress.rows import RowTraining

DEEPEST = 10
LEAST = 5  # rows in a leaf
LIGHTEST = 1e-3  # their weight, of an average row's: less may be rounding, and LightGBM stops over an empty leaf


@dataclass(frozen=True)
class TreeFit:
    """The value of the leaf that a row falls into. `values` has a row per leaf."""

    booster: Any
    values: Vector
    chosen: str
    r2: float | None = None
    notes: list[str] = field(default_factory=list)

    def predict(self, x: Matrix) -> Vector:
        if self.booster is None:
            return np.full(len(x), self.values[0])
        return np.asarray(self.values[_leaves(self.booster, x)])


class Tree(RowTraining):
    """One greedy tree for the squared error, over columns binned to 255 values; its depth by cross-validation, to 10.

    Splits do not depend on how deep a tree may grow, so one tree per fold, cut at each depth, tells of all depths.
    """

    name: ClassVar[str] = "tree"
    linear: ClassVar[bool] = False

    def fit(self, without: int | None = None) -> TreeFit:
        x, y, weight, fold, notes = self.gathered(without)
        whole = _lightgbm.dataset(x, y, weight)
        loss = np.zeros(DEEPEST + 1)
        parts = splits(np.unique(fold).tolist())
        for tested, _ in parts:
            out = fold == tested
            booster, values = _grown(whole.subset(np.flatnonzero(~out)), y[~out], weight[~out])
            found = values[_leaves(booster, x[out])] if booster is not None else values[np.zeros(out.sum(), dtype=int)]
            loss += weight[out] @ (y[out][:, None] - found) ** 2
        depth = int(np.argmin(loss)) if parts else 3
        if not parts:
            notes = [*notes, "the depth is not cross-validated: all queries are in one fold"]
        r2 = float(1 - loss[depth] / loss[0]) if parts and loss[0] > 0 else None
        booster, values = _grown(whole, y, weight)
        return TreeFit(booster, values[:, depth], f"depth {depth}", r2, notes)


def _grown(data: Any, y: Vector, weight: Vector) -> tuple[Any, Matrix]:
    """A tree of the largest depth, and its leaves' values were it cut at each depth, (leaves, depths)."""
    mean = float(np.average(y, weights=weight))
    shape = {
        "learning_rate": 1.0, "max_depth": DEEPEST, "num_leaves": 2**DEEPEST, "min_data_in_leaf": LEAST,
        "min_sum_hessian_in_leaf": LIGHTEST, "lambda_l2": 0.0,
    }  # fmt: skip
    booster = _lightgbm.train(data.construct(), 1, shape)
    root = booster.dump_model()["tree_info"][0]
    if root["num_leaves"] < 2:
        return None, np.full((1, DEEPEST + 1), mean)
    values = np.empty((root["num_leaves"], DEEPEST + 1))
    waiting: list[tuple[dict[str, Any], list[float]]] = [(root["tree_structure"], [])]
    while waiting:
        node, above = waiting.pop()
        if "leaf_index" in node:
            path = [*above, float(node["leaf_value"])]
            values[node["leaf_index"]] = path + [path[-1]] * (DEEPEST + 1 - len(path))
        else:
            path = [*above, float(node["internal_value"])]
            waiting += [(node["left_child"], path), (node["right_child"], path)]
    values[:, 0] = mean
    return booster, values


def _leaves(booster: Any, x: Matrix) -> Any:
    found = booster.predict(np.asarray(x, dtype=np.float32), pred_leaf=True)
    return np.asarray(found, dtype=np.int64).reshape(len(x))
