"""Intervals cover the truth as often as they say, with a known logging policy and with shares in the log."""

from __future__ import annotations

import numpy as np
import pytest

import counterrank as cr
from counterrank.policy import Mixture
from counterrank.simulate.log import simulate
from counterrank.simulate.truth import truth
from counterrank.simulate.world import make_world

REPETITIONS = 1500
IMPRESSIONS = 1500


@pytest.mark.slow
@pytest.mark.parametrize("logging", ["known", "log", "propensity"])
@pytest.mark.parametrize("eta", [1.0, 0.0], ids=["position matters", "position does not matter"])
def test_intervals_cover_at_their_nominal_rate(eta, logging):
    """1,500 repetitions: a rate of 95 % is seen between 93.3 and 96.7 % three times out of four thousand."""
    world = make_world(
        queries=5, items=4, k=2, users="pbm", seed=3, eta=eta, temperature=1.0, noise=0.5, uniform_share=0.5
    )
    target = Mixture(world.better(), 0.5)
    true = float(truth(world, target))
    estimators = ["list", "ip", "pbm"] + (["item"] if eta == 0 else [])
    examination = (1 / np.arange(1, 3) ** eta).tolist()
    hits = dict.fromkeys(estimators, 0)
    for repetition in range(REPETITIONS):
        log = simulate(world, IMPRESSIONS, np.random.default_rng(10_000 + repetition))
        result = cr.evaluate(
            log,
            target,
            estimators=estimators,
            examination=examination,
            logging=world.logging_policy() if logging == "known" else logging,
        )
        for row in result.rows:
            hits[row.estimator] += row.lower <= true <= row.upper
    rates = {name: count / REPETITIONS for name, count in hits.items()}
    assert all(0.93 <= rate <= 0.97 for rate in rates.values()), rates


@pytest.mark.slow
def test_treating_shares_as_known_would_cover_too_often():
    """PAPERS.md's trap: the variance of estimated shares is smaller; the naive interval is too wide."""
    world = make_world(
        queries=5, items=4, k=2, users="pbm", seed=3, eta=1.0, temperature=1.0, noise=0.5, uniform_share=0.5
    )
    target = Mixture(world.better(), 0.5)
    known, shares = [], []
    for repetition in range(300):
        log = simulate(world, IMPRESSIONS, np.random.default_rng(20_000 + repetition))
        known.append(cr.evaluate(log, target, estimators="ip", logging=world.logging_policy())["ip"])
        shares.append(cr.evaluate(log, target, estimators="ip", logging="log")["ip"])
    spread = np.std([row.value for row in shares])
    assert np.mean([row.stderr for row in shares]) == pytest.approx(spread, rel=0.12)
    assert np.mean([row.stderr for row in known]) > 1.1 * spread
