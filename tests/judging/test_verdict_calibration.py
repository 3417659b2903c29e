"""The verdict warns where intervals fail, and does not cry wolf where they hold."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import counterrank as cr

ITEMS = "abcdef"
ATTRACTION = np.array([0.5, 0.4, 0.3, 0.3, 0.2, 0.1])
SCORES = np.array([1.0, 0.8, 0.6, 0.4, 0.2, 0.0])
CURVE = 1 / np.arange(1, 4)


def heavy(seed: int, n: int = 1000) -> tuple[pa.Table, dict, float]:
    """One item of 40, logged with chances that fall by a quarter each; the target is uniform."""
    rng = np.random.default_rng(seed)
    chance = 0.75 ** np.arange(40)
    chance /= chance.sum()
    rates = np.linspace(0.1, 0.6, 40)
    shown = rng.choice(40, n, p=chance)
    clicks = rng.random(n) < rates[shown]
    table = pa.table(
        {
            "query": ["q"] * n,
            "items": [[f"i{i}"] for i in shown],
            "clicks": [[int(c)] for c in clicks],
            "propensity": chance[shown],
        }
    )
    target = {"query": ["q"] * 40, "items": [[f"i{i}"] for i in range(40)], "probability": [1 / 40] * 40}
    return table, target, float(rates.mean())


def ordinary(seed: int, n: int = 5000) -> pa.Table:
    """Three of six items by Plackett–Luce, and users who look at position k with chance 1/k."""
    rng = np.random.default_rng(seed)
    order = np.argsort(-(SCORES + rng.gumbel(size=(n, 6))), axis=1)[:, :3]
    clicks = rng.random((n, 3)) < ATTRACTION[order] * CURVE
    query = rng.integers(0, 5, n)
    return pa.table(
        {
            "query": [f"q{q}" for q in query],
            "items": [[ITEMS[i] for i in row] for row in order],
            "clicks": clicks.astype(np.int8).tolist(),
            "day": rng.integers(0, 7, n),
        }
    )


def worth() -> float:
    """The true value of Plackett–Luce with twice the scores, by enumeration."""
    strength = np.exp(2 * SCORES)
    total = 0.0
    for page in itertools.permutations(range(6), 3):
        left, chance = strength.sum(), 1.0
        for i in page:
            chance *= strength[i] / left
            left -= strength[i]
        total += chance * float(ATTRACTION[list(page)] @ CURVE)
    return total


@pytest.mark.slow
def test_heavy_tails_are_never_trusted() -> None:
    runs, held, verdicts = 300, 0, Counter()
    for seed in range(runs):
        log, target, truth = heavy(seed)
        result = cr.evaluate(log, target, estimators="list", interval="normal")
        held += result.rows[0].lower <= truth <= result.rows[0].upper
        verdicts[result.diagnosis.verdict] += 1
    assert held / runs < 0.85
    assert verdicts["trust"] / runs <= 0.05, verdicts


@pytest.mark.slow
def test_ordinary_worlds_are_trusted() -> None:
    runs, truth = 100, worth()
    target = cr.policy.PlackettLuce({f"q{q}": dict(zip(ITEMS, SCORES, strict=True)) for q in range(5)}, 0.5)
    verdicts, held = Counter(), 0
    for seed in range(runs):
        result = cr.evaluate(ordinary(seed), target)
        verdicts[result.diagnosis.verdict] += 1
        row = result[result.diagnosis.estimator]
        held += row.lower <= truth <= row.upper
    assert verdicts["trust"] / runs >= 0.9, verdicts
    assert held / runs >= 0.88  # 0.95 less three standard errors
