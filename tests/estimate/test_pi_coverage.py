"""Standard errors of `pi` and `wpi` against the spread of many logs."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import counterrank as cr


@pytest.mark.parametrize("given", [False, True])
def test_standard_errors_are_the_spread_of_the_estimates(given: bool) -> None:
    rng = np.random.default_rng(1)
    lists = list(permutations(range(4), 2))
    chance = rng.dirichlet(np.full(len(lists), 2.0))
    worth = np.array([0.1 * a + 0.05 * b + 0.1 * (a * b == 6) for a, b in lists])  # not quite additive
    items = [[f"i{a}" for a in r] for r in lists]
    logging = cr.policy.Table(["q"] * len(lists), items, chance) if given else "log"
    target = cr.policy.Table(["q", "q"], [items[3], items[7]], [0.5, 0.5])
    found = []
    for _ in range(150):
        drawn = rng.choice(len(lists), 400, p=chance)
        reward = (rng.random(400) < worth[drawn]).astype(float)
        log = {"query": ["q"] * 400, "items": [items[i] for i in drawn], "reward": reward}
        got = cr.evaluate(log, target, estimators="pi,wpi", logging=logging)
        found.append([(got[name].value, got[name].stderr) for name in ("pi", "wpi")])
    values, errors = np.array(found).transpose(2, 0, 1)
    assert errors.mean(axis=0) == pytest.approx(values.std(axis=0), rel=0.2)
