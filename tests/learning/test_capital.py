"""The capital of bets from counts decides as the bound does, at any confidence."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counterrank.learning.gate import PairClicks, betting_from_counts, capital_from_counts, tied_weights


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.75, 0.95])
def test_the_capital_is_large_where_the_lower_bound_is_above_zero(confidence: float, whole: bool) -> None:
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 9, 80)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    impressions = rng.integers(0, 4000, len(sizes))
    queries = np.repeat(np.arange(len(sizes)), sizes)
    propensity = 1 / (1.0 + np.arange(starts[-1]) - starts[queries])
    attraction = 0.2 + 0.1 * rng.integers(0, 2, starts[-1])
    clicks = PairClicks(
        starts=starts, impressions=impressions, clicks=rng.binomial(impressions[queries], propensity * attraction),
        propensity=propensity, positions=8, most=1.0,
    )  # fmt: skip
    weights = 1 / np.log2(np.arange(2, 10))
    better, logged = (tied_weights(starts, score, weights) for score in (attraction, propensity))
    lower = betting_from_counts(clicks, better, logged, confidence, whole=whole)[0]
    capital = capital_from_counts(clicks, better, logged, whole=whole)
    np.testing.assert_array_equal(capital > math.log(2 / (1 - confidence)), lower > 0)
    assert whole or 0.05 < (lower > 0).mean() < 0.95  # there is something to decide
