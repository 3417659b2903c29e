"""Worlds whose page rewards are sums over (item, position) pairs, with φ a function of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

GAINS = np.array([0.4, 1.0, 0.6])
WEIGHTS = np.array([1.0, -0.7])


def linear(x: np.ndarray) -> np.ndarray:
    """One score per item, times what its position counts."""
    return (x @ WEIGHTS)[:, None] * GAINS


def apart(x: np.ndarray) -> np.ndarray:
    """Position 1 wants one feature, position 2 the other, position 3 little of both."""
    return np.stack([x[:, 0], x[:, 1], 0.5 * x[:, 1] - 0.5 * x[:, 0]], axis=1)


@dataclass
class World:
    """`queries` queries of `items` items each; the first `logged` of them are in the log, uniformly ranked."""

    queries: int
    logged: int
    items: int = 6
    phi: Callable[[np.ndarray], np.ndarray] = linear
    noise: float = 1.0
    seed: int = 0
    x: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.x = np.random.default_rng(self.seed).normal(size=(self.queries, self.items, len(WEIGHTS)))

    def name(self, q: int, a: int) -> str:
        return f"d{q}-{a}"

    def log(self, impressions: int) -> dict[str, list[Any]]:
        """So many of each logged query."""
        rng = np.random.default_rng(self.seed + 1)
        out: dict[str, list[Any]] = {"query": [], "items": [], "reward": []}
        for q in range(self.logged):
            phi = self.phi(self.x[q])
            shown = np.argsort(rng.random((impressions, self.items)), axis=1)[:, : phi.shape[1]]
            worth = 2.0 + phi[shown, np.arange(phi.shape[1])].sum(axis=1) + self.noise * rng.normal(size=impressions)
            out["query"] += [f"q{q}"] * impressions
            out["items"] += [[self.name(q, a) for a in row] for row in shown]
            out["reward"] += worth.tolist()
        return out

    def features(self) -> dict[str, list[Any]]:
        return {
            "query": [f"q{q}" for q in range(self.queries) for _ in range(self.items)],
            "item": [self.name(q, a) for q in range(self.queries) for a in range(self.items)],
            **{f"f{k}": self.x[:, :, k].ravel().tolist() for k in range(len(WEIGHTS))},
        }

    def worth(self, query: str, ranking: list[str]) -> float:
        q = int(query[1:])
        phi = self.phi(self.x[q])
        return 2.0 + sum(phi[int(item.split("-")[1]), j] for j, item in enumerate(ranking))

    def best(self, query: str) -> float:
        from scipy.optimize import linear_sum_assignment

        phi = self.phi(self.x[int(query[1:])])
        return 2.0 + float(phi[linear_sum_assignment(-phi)].sum())
