"""Small made-up logs, and policies to judge from them: what the laws of estimators are tried on."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from counterrank.policy import PlackettLuce, Policy, Table

Columns = dict[str, list[Any]]

_DRAWN = np.random.default_rng(3)
SCORES = {f"q{q}": {f"i{i}": float(s) for i, s in enumerate(_DRAWN.normal(size=4))} for q in range(3)}
TARGET = PlackettLuce(SCORES, 0.5)
FEATURES: Columns = {
    "query": [q for q, of in SCORES.items() for _ in of],
    "item": [item for of in SCORES.values() for item in of],
    "x": _DRAWN.normal(size=12).tolist(),
    "y": _DRAWN.normal(size=12).tolist(),
}
RANKINGS = [["a", "b"], ["a", "c"], ["b", "a"], ["b", "c"], ["c", "a"], ["c", "b"]]
OFTEN = [4, 3, 3, 2, 2, 2]  # sixteenths: how likely the logging policy shows each
QUARTERS = {"a": 2, "b": 1, "c": 3}  # how often each is clicked, of four times
SHOWN = [0.0, 0.0, 0.0, 0.3, 0.7, 0.0]  # by the target
TRUTH = sum(p * sum(QUARTERS[item] / 4 for item in r) for r, p in zip(RANKINGS, SHOWN, strict=True))


def small_log(rewards: bool = False) -> Columns:
    """240 rows of three queries with lists of two or three of four items."""
    rng = np.random.default_rng(5)
    items = [[f"i{i}" for i in rng.permutation(4)[: 2 + (row % 3 > 0)]] for row in range(240)]
    log: Columns = {"query": [f"q{row % 3}" for row in rng.permutation(240)], "items": items}
    if rewards:
        return log | {"reward": rng.gamma(2.0, 1.0, size=240).tolist()}
    return log | {"clicks": [(rng.random(len(of)) < 0.4).astype(int).tolist() for of in items]}


def rewards_of(log: Columns) -> list[float]:
    return log["reward"] if "reward" in log else [float(sum(clicks)) for clicks in log["clicks"]]


def expected_log() -> Columns:
    """256 impressions in which each ranking with each clicks came as often as it should."""
    out: Columns = {"query": [], "items": [], "clicks": [], "impressions": []}
    for (items, often), clicks in product(zip(RANKINGS, OFTEN, strict=True), product((0, 1), repeat=2)):
        times = [QUARTERS[item] if click else 4 - QUARTERS[item] for item, click in zip(items, clicks, strict=True)]
        for name, value in zip(out, ("q", items, list(clicks), often * math.prod(times)), strict=True):
            out[name].append(value)
    return out


def _policy(queries: list[str], chances: list[float]) -> Policy:
    return Table([q for q in queries for _ in RANKINGS], RANKINGS * len(queries), chances * len(queries))


def target_of(queries: list[str]) -> Policy:
    return _policy(queries, SHOWN)


def logging_of(queries: list[str]) -> Policy:
    return _policy(queries, [often / 16 for often in OFTEN])
