"""Where clicks say nothing of items, a gate opens hardly ever; one that judges by its own training clicks is caught."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import counterrank as cr
from counterrank.learning.gate import PairClicks, betting_from_counts, levelled, relative_bounds, tied_weights

QUERIES, ITEMS = 1500, 10
CONFIDENCES = (0.01, 0.5, 0.75, 0.95)
DCG = 1 / np.log2(np.arange(2, ITEMS + 2))
STARTS = np.arange(QUERIES + 1) * ITEMS
RHO = np.tile(1 / np.arange(1, ITEMS + 1), QUERIES)
LOGGED = np.tile(DCG, QUERIES)


def line(confidence: float) -> float:
    """Φ(−√(2 ln(2/(1−ε)))) and three standard errors: what chance alone lets through."""
    share = float(norm.cdf(-math.sqrt(2 * math.log(2 / (1 - confidence)))))
    return share + 3 * math.sqrt(share * (1 - share) / QUERIES)


def part(impressions: int, rng: np.random.Generator) -> PairClicks:
    """One ranking a query, every item clicked with chance 0.2 where it is looked at."""
    return PairClicks(
        starts=STARTS,
        impressions=np.full(QUERIES, impressions),
        clicks=rng.binomial(impressions, 0.2 * RHO),
        propensity=RHO,
        positions=ITEMS,
        most=1.0,
    )


@pytest.mark.parametrize("impressions", [20, 1000, 10**6, 10**9])
def test_the_gates_from_counts_stay_below_the_line(impressions: int) -> None:
    rng = np.random.default_rng(impressions)
    train, selection = part(impressions, rng), part(impressions, rng)
    special = tied_weights(STARTS, levelled(STARTS, train.clicks / RHO), DCG)
    found, own = relative_bounds(selection, special, LOGGED), relative_bounds(train, special, LOGGED)
    for confidence in CONFIDENCES:
        opened = float((found.value > found.half(confidence)).mean())
        bets = float((betting_from_counts(selection, special, LOGGED, confidence)[0] > 0).mean())
        assert opened <= line(confidence)
        assert bets <= line(confidence)
        if impressions >= 10**6 and confidence <= 0.75:  # a gate that judges by what it was trained on
            caught = float((own.value > own.half(confidence)).mean())
            assert opened > 0
            assert caught > 0.2 > line(confidence)


def session_log(queries: int, impressions: int, positions: int, seed: int) -> dict[str, Any]:
    """Random rankings; half of the sessions click five times as often: clicks of a page go together."""
    rng, size = np.random.default_rng(seed), queries * impressions
    items = np.argsort(rng.random((size, positions)), axis=1)
    engaged = rng.random((size, 1)) < 0.5
    chance = np.where(engaged, 0.5, 0.1) / np.arange(1, positions + 1)
    return {
        "query": np.repeat(np.arange(queries), impressions),
        "items": items.tolist(),
        "clicks": (rng.random((size, positions)) < chance).astype(int).tolist(),
    }


def test_learn_stays_below_the_line_with_random_logging_and_clicks_that_go_together() -> None:
    log = session_log(QUERIES // 5, 60, 6, seed=1)
    for special in ("tabular", "both"):
        for confidence in CONFIDENCES:
            share = float(norm.cdf(-math.sqrt(2 * math.log(2 / (1 - confidence)))))
            found = cr.learn(log, special=special, confidence=confidence)
            opened = found.special["active"] / found.special["queries"]
            assert opened <= share + 3 * math.sqrt(share * (1 - share) / found.special["queries"])


@pytest.mark.slow
@pytest.mark.parametrize("special", ["tabular", "posterior", "both"])
def test_engaged_sessions_of_twenty_positions_open_at_most_one_in_forty(special: str) -> None:
    found = cr.learn(session_log(1000, 200, 20, seed=2), special=special, confidence=0.95)
    assert found.special["active"] / 1000 <= 0.025


@pytest.mark.slow
def test_a_gate_fed_its_own_training_clicks_would_be_caught() -> None:
    log = session_log(300, 60, 6, seed=3)
    found = cr.learn(log, selection=log, confidence=0.5)  # the selection part is the training part
    share = float(norm.cdf(-math.sqrt(2 * math.log(4))))
    assert found.special["active"] / 300 > share + 3 * math.sqrt(share * (1 - share) / 300)
