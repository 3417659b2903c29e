"""Worlds so small that a log is a count of every (query, ranking, outcome) that can be."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.policy import Table
from counterrank.records import dataclass

Floats = NDArray[np.float64]
SEED = 4
Policies = Callable[[Floats, NDArray[np.int64]], tuple[Floats, Floats]]  # logging and target, from attractions


@dataclass(frozen=True, kw_only=True)
class CoverageWorld:
    """Queries with a few rankings each; what users do with a ranking is one of a few outcomes."""

    name: str
    title: str
    metric: Literal["clicks", "reward"]
    rankings: NDArray[np.int64]  # (R, K) items, for every query the same
    frequency: Floats  # (Q,)
    logging: Floats  # (Q, R)
    target: Floats  # (Q, R)
    outcome: Floats  # (Q, R, O) the chance of each outcome
    clicks: NDArray[np.int64]  # (O, K); of a page-level reward none
    reward: Floats  # (O,)
    features: Floats  # (Q, m, F)

    @property
    def chances(self) -> Floats:
        """Of every cell, (Q, R, O)."""
        return self.frequency[:, None, None] * self.logging[:, :, None] * self.outcome

    @property
    def truth(self) -> float:
        """What the target is worth."""
        return float(self.frequency @ (self.target * (self.outcome @ self.reward)).sum(axis=1))

    def policy(self, chances: Floats) -> Table:
        """A policy written down ranking by ranking; what has no chance is left out."""
        query, ranking = np.nonzero(chances > 0)
        return Table([f"q{q}" for q in query], self._items(ranking), chances[query, ranking])

    def feature_table(self) -> dict[str, Any]:
        queries, items, width = self.features.shape
        of, item = np.divmod(np.arange(queries * items), items)
        columns = {f"x{f}": self.features.reshape(-1, width)[:, f] for f in range(width)}
        return {"query": [f"q{q}" for q in of], "item": [f"i{i}" for i in item], **columns}

    def log(self, counts: NDArray[np.int64]) -> pa.Table:
        """The rows of a log with these cells, (Q, R, O), one row per cell."""
        query, ranking, outcome = np.nonzero(counts)
        columns = {
            "query": [f"q{q}" for q in query],
            "items": self._items(ranking),
            "impressions": counts[query, ranking, outcome],
        }
        if self.metric == "clicks":
            return pa.table(columns | {"clicks": self.clicks[outcome].tolist()})
        return pa.table(columns | {"reward": self.reward[outcome]})

    def _items(self, ranking: NDArray[np.int64]) -> list[list[str]]:
        return [[f"i{i}" for i in row] for row in self.rankings[ranking].tolist()]


def worlds() -> list[CoverageWorld]:
    """Each estimator's assumption holds in some of them; in `far` and `tail` the weights have heavy tails."""
    near, many = _users(5, 4), _users(100, 3)
    alike = np.repeat(np.linspace(0.1, 0.5, 5)[:, None], 4, axis=1)
    return [
        _clicks("near", "position-based users, a target near the log", near),
        _clicks("far", "the same users, a target that the log hardly shows", near, far_policies),
        _clicks("tail", "the same users, a tenth of the target is what the log hardly ever shows", near, tail_policies),
        _clicks("item", "clicks depend on the item alone", near, examination=(1.0, 1.0)),
        _clicks("position", "clicks depend on the position alone", alike),
        _clicks("cascade", "users stop at their first click", near, cascade=True),
        _clicks("many", "position-based users, 100 queries", many),
        _page("page", "a reward per page, a sum over its slots"),
    ]


def _users(queries: int, items: int) -> Floats:
    return np.random.default_rng(SEED).beta(2.0, 4.0, (queries, items))


def _clicks(
    name: str, title: str, attraction: Floats, policies: Policies | None = None, *,
    examination: tuple[float, float] = (1.0, 0.5), cascade: bool = False,
) -> CoverageWorld:  # fmt: skip
    items, places = attraction.shape[1], 2
    rankings = np.array(list(permutations(range(items), places)))
    patterns = np.array(list(product((0, 1), repeat=places)))
    chance = attraction[:, rankings] * (1.0 if cascade else np.array(examination))  # (Q, R, K)
    click = np.where(patterns == 1, chance[:, :, None, :], 1 - chance[:, :, None, :])  # (Q, R, O, K)
    if cascade:  # below a click nobody looks
        click[:, :, patterns[:, 0] == 1, 1] = patterns[patterns[:, 0] == 1, 1] == 0
    return _world(name, title, "clicks", rankings, attraction, click.prod(axis=3), clicks=patterns,
                  reward=patterns.sum(axis=1).astype(float), policies=policies or near_policies)  # fmt: skip


def _page(name: str, title: str) -> CoverageWorld:
    """Rewards 0, 0.5 and 1, whose mean is a base and what the items at the two slots add, of which features tell."""
    appeal = _users(5, 4)
    rankings = np.array(list(permutations(range(4), 2)))
    mean = 0.1 + appeal[:, rankings] @ np.array([0.6, 0.3])  # (Q, R)
    outcome = np.stack([1 - mean, 0.4 * mean, 0.8 * mean], axis=2)
    outcome[:, :, 0] = 1 - outcome[:, :, 1:].sum(axis=2)
    return _world(name, title, "reward", rankings, appeal, outcome, clicks=np.zeros((3, 2), dtype=np.int64),
                  reward=np.array([0.0, 0.5, 1.0]), policies=near_policies)  # fmt: skip


def _world(
    name: str, title: str, metric: Literal["clicks", "reward"], rankings: NDArray[np.int64], attraction: Floats,
    outcome: Floats, *, clicks: NDArray[np.int64], reward: Floats, policies: Policies,
) -> CoverageWorld:  # fmt: skip
    queries = len(attraction)
    logging, target = policies(attraction, rankings)
    return CoverageWorld(
        name=name,
        title=title,
        metric=metric,
        rankings=rankings,
        frequency=np.full(queries, 1 / queries),
        logging=logging,
        target=target,
        outcome=outcome,
        clicks=clicks,
        reward=reward,
        features=attraction[:, :, None],
    )


def near_policies(attraction: Floats, rankings: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Two opinions on what is attractive, each with many uniform rankings."""
    other = attraction + np.random.default_rng(SEED + 1).normal(0, 0.15, attraction.shape)
    return _ranked(other, rankings, 4.0, 0.5), _ranked(attraction, rankings, 4.0, 0.4)


def far_policies(attraction: Floats, rankings: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The log shows the least attractive first, the target the most attractive."""
    return _ranked(-attraction, rankings, 12.0, 0.04), _ranked(attraction, rankings, 40.0, 0.0)


def tail_policies(attraction: Floats, rankings: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The target is nine tenths the log."""
    logging = _ranked(-attraction, rankings, 20.0, 0.001)
    return logging, 0.9 * logging + 0.1 * _ranked(attraction, rankings, 20.0, 0.0)


def _ranked(scores: Floats, rankings: NDArray[np.int64], sharpness: float, uniform: float) -> Floats:
    """(Q, R): Plackett–Luce by the scores, with a share of uniform rankings."""
    worth = np.exp(sharpness * scores)
    chance, left = np.ones((len(scores), len(rankings))), worth.sum(axis=1, keepdims=True)
    for column in rankings.T:
        chance *= worth[:, column] / left
        left = left - worth[:, column]
    return (1 - uniform) * chance + uniform / len(rankings)
