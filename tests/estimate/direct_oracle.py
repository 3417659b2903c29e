"""`dm`, `dr` and `dr-list` by enumeration: ridge by normal equations, sums over rankings. Nothing from the package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import page_oracle
from page_oracle import Policy, Ranking, cut, reward, shares

Features = Mapping[tuple[str, str], Sequence[float]]
Predict = Callable[[str, Ranking], float]
PENALTIES = np.logspace(-6, 3, 28)


def fold_of(query: str) -> int:
    return crc32(query.encode()) % 5


def page(rows: Sequence[dict[str, Any]], features: Features) -> Callable[[str, Ranking], np.ndarray]:
    """x(q, A): slot features side by side, zeros beyond the end, an indicator for each slot that a row leaves empty."""
    depth = max(len(row["items"]) for row in rows)
    empty = [k for k in range(depth) if any(len(row["items"]) <= k for row in rows)]
    shown = {(row["query"], a) for row in rows for a in row["items"]}
    mean = np.mean([features[pair] for pair in sorted(shown) if pair in features], axis=0)

    def x(query: str, ranking: Ranking) -> np.ndarray:
        slots = [np.asarray(features.get((query, a), mean), dtype=float) for a in ranking]
        slots += [np.zeros_like(mean)] * (depth - len(ranking))
        return np.concatenate([*slots, [float(k < len(ranking)) for k in empty]])

    return x


def ridge(
    x: np.ndarray, y: np.ndarray, w: np.ndarray, penalty: float, scale: np.ndarray | None = None
) -> tuple[float, np.ndarray]:
    """Minimises Σw(y − ŷ)²/Σw + penalty·Σβ², columns scaled to variance 1, by its normal equations."""
    w = w / w.sum()
    mean, mean_y = w @ x, w @ y
    scale = scale_of(x, w) if scale is None else scale
    z = (x - mean) / scale
    beta = np.linalg.solve(z.T @ (w[:, None] * z) + penalty * np.eye(z.shape[1]), z.T @ (w * (y - mean_y))) / scale
    return float(mean_y - mean @ beta), beta


def scale_of(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    w = w / w.sum()
    spread = np.sqrt(w @ (x - w @ x) ** 2)
    return np.where(spread > 1e-7, spread, np.inf)


class Fit:
    """Each query by a ridge on the other folds, its penalty by cross-validation among them."""

    def __init__(self, rows: Sequence[dict[str, Any]], features: Features) -> None:
        self.x_of = page(rows, features)
        self.x = np.array([self.x_of(row["query"], tuple(row["items"])) for row in rows])
        self.y = np.array([reward(row) for row in rows])
        self.w = np.array([float(row.get("impressions", 1)) for row in rows])
        self.fold = np.array([fold_of(row["query"]) for row in rows])
        self.present = sorted(set(self.fold.tolist()))
        self.used = {f: self.fold != f if len(self.present) > 1 else self.fold == f for f in self.present}
        self.penalty = {f: self._penalty(mine) for f, mine in self.used.items()}
        self.scale = {f: scale_of(self.x[mine], self.w[mine]) for f, mine in self.used.items()}
        self.models = self.fitted(self.w)

    def _penalty(self, mine: np.ndarray) -> float:
        x, y, w = self.x, self.y, self.w
        inner = sorted(set(self.fold[mine].tolist()))
        if len(inner) == 1:
            return float(PENALTIES[len(PENALTIES) // 2])
        loss = np.zeros(len(PENALTIES))
        for i, penalty in enumerate(PENALTIES):
            for out in inner:
                test = self.fold == out
                base, beta = ridge(x[mine & ~test], y[mine & ~test], w[mine & ~test], penalty)
                loss[i] += w[test] @ (y[test] - base - x[test] @ beta) ** 2
        alike = np.flatnonzero(loss <= loss.min() * (1 + 1e-9))  # the largest of penalties that do as well
        return float(PENALTIES[alike[-1]])

    def fitted(self, w: np.ndarray) -> dict[int, tuple[float, np.ndarray]]:
        """The models with other weights of the rows, the penalties and scales as they were."""
        return {
            f: ridge(self.x[mine], self.y[mine], w[mine], self.penalty[f], self.scale[f])
            for f, mine in self.used.items()
        }

    def __call__(self, query: str, ranking: Ranking) -> float:
        base, beta = self.models[fold_of(query)]
        return float(base + self.x_of(query, ranking) @ beta)


def fit(rows: Sequence[dict[str, Any]], features: Features) -> Fit:
    return Fit(rows, features)


def expected(rows: Sequence[dict[str, Any]], target: Policy, predict: Predict) -> dict[str, float]:
    """E_target[r̂] of each query, by enumeration."""
    length = {row["query"]: 0 for row in rows}
    for row in rows:
        length[row["query"]] = max(length[row["query"]], len(row["items"]))
    return {q: sum(p * predict(q, r) for r, p in cut(target[q], k).items()) for q, k in length.items()}


def mean(rows: Sequence[dict[str, Any]], of: Callable[[dict[str, Any]], float]) -> float:
    times = [row.get("impressions", 1) for row in rows]
    return float(sum(t * of(row) for t, row in zip(times, rows, strict=True)) / sum(times))


def dm(rows: Sequence[dict[str, Any]], target: Policy, predict: Fit, step: float = 1e-5) -> tuple[float, float]:
    """Value, and standard error by how the value moves with the weight of each row (the infinitesimal jackknife)."""
    length = {row["query"]: 0 for row in rows}
    for row in rows:
        length[row["query"]] = max(length[row["query"]], len(row["items"]))
    shown = {
        q: sum(p * np.append(predict.x_of(q, r), 1.0) for r, p in cut(target[q], k).items()) for q, k in length.items()
    }

    def value(w: np.ndarray) -> float:
        models = predict.fitted(w)
        worth = {q: float(x @ np.append(models[fold_of(q)][1], models[fold_of(q)][0])) for q, x in shown.items()}
        return float(w @ [worth[row["query"]] for row in rows] / w.sum())

    w = predict.w
    moved = [(value(w + step * e) - value(w - step * e)) / (2 * step) for e in np.eye(len(w))]
    n = w.sum()
    return value(w), float(np.sqrt(w @ np.square(n * np.array(moved)) / n / (n - 1)))


def left_over(rows: Sequence[dict[str, Any]], predict: Predict) -> list[dict[str, Any]]:
    """The rows with r − r̂ for a reward."""
    return [
        {"query": row["query"], "items": row["items"], "impressions": row.get("impressions", 1),
         "reward": reward(row) - predict(row["query"], tuple(row["items"]))} for row in rows
    ]  # fmt: skip


def dr(
    rows: Sequence[dict[str, Any]], target: Policy, predict: Predict, logging: Policy | None = None
) -> tuple[float, float | None]:
    """Value, and standard error where the logging policy is given, with weights from `numpy.linalg.pinv`."""
    worth = expected(rows, target, predict)
    found = page_oracle.answer(left_over(rows, predict), target, logging)
    w, rest, t, _, _ = found["rows"]
    m = np.array([worth[q] for q in found["queries"]])
    n = t.sum()
    value = float(((m + w * rest) * t).sum() / n)
    if logging is None:
        return value, None
    return value, float(((((w * rest + m - value) ** 2) * t).sum() / n / (n - 1)) ** 0.5)


def dr_list(
    rows: Sequence[dict[str, Any]], target: Policy, predict: Predict, logging: Policy | None, clip: float
) -> tuple[float, float | None]:
    """The same with list weights."""
    worth = expected(rows, target, predict)
    known = shares(rows) if logging is None else logging
    depth = {q: max(len(r["items"]) for r in rows if r["query"] == q) for q in worth}
    h, mu = ({q: cut(of[q], depth[q]) for q in worth} for of in (target, known))
    w, rest, m, t = [], [], [], []
    for row in left_over(rows, predict):
        q, ranking = row["query"], tuple(row["items"])
        chance = mu[q].get(ranking, 0.0)
        w.append(min(h[q].get(ranking, 0.0) / chance, clip) if chance > 0 else 0.0)
        rest.append(row["reward"])
        m.append(worth[q])
        t.append(float(row["impressions"]))
    weight, left, model, times = (np.array(column) for column in (w, rest, m, t))
    n = times.sum()
    value = float(((model + weight * left) * times).sum() / n)
    if logging is None:
        return value, None
    return value, float((((weight * left + model - value) ** 2 * times).sum() / n / (n - 1)) ** 0.5)
