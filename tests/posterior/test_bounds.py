"""Bounds: each equal to an independent calculation, and covering as it says."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import betaincinv
from scipy.stats import beta as beta_distribution
from scipy.stats import norm

from counterrank.posterior import BOUNDS
from counterrank.posterior.bounds import quantile

RNG = np.random.default_rng(1)
LOOKS = np.concatenate([RNG.integers(1, 300, 40), [1, 1, 5, 5]]).astype(float)
CLICKS = np.concatenate([RNG.binomial(LOOKS[:40].astype(int), 0.2), [0, 1, 0, 5]]).astype(float)
ALPHA, BETA = RNG.uniform(0.1, 5, 44), RNG.uniform(0.1, 50, 44)
DELTAS = [0.05, 0.2, 0.7, 1.0]


def bound(name: str, clicks: np.ndarray = CLICKS, looks: np.ndarray = LOOKS, delta: float = 0.2) -> np.ndarray:
    return BOUNDS[name].lower(clicks, looks, delta, ALPHA[: len(looks)], BETA[: len(looks)])


def divergence(p: float, q: float) -> float:
    one = p * math.log(p / q) if p > 0 else 0.0
    return one + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


@pytest.mark.parametrize("delta", DELTAS)
def test_bayes_is_a_quantile_of_the_posterior(delta: float) -> None:
    slow = beta_distribution.ppf(delta / 2, ALPHA + CLICKS, BETA + LOOKS - CLICKS)
    for name in ("bayes", "empirical-bayes"):
        np.testing.assert_allclose(bound(name, delta=delta), slow, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("delta", DELTAS)
def test_hoeffding_and_wilson_are_their_formulas(delta: float) -> None:
    mean = CLICKS / LOOKS
    np.testing.assert_allclose(
        bound("hoeffding", delta=delta), mean - np.sqrt(np.log(1 / delta) / (2 * LOOKS)), rtol=1e-12
    )
    z = norm.ppf(1 - delta / 2)
    centre, half = mean + z**2 / (2 * LOOKS), z * np.sqrt(mean * (1 - mean) / LOOKS + z**2 / (4 * LOOKS**2))
    np.testing.assert_allclose(bound("wilson", delta=delta), (centre - half) / (1 + z**2 / LOOKS), atol=1e-12)


@pytest.mark.parametrize("delta", [0.05, 0.2, 0.7])
def test_kl_solves_its_equation(delta: float) -> None:
    for c, n, found in zip(CLICKS, LOOKS, bound("kl", delta=delta), strict=True):
        p = c / n
        if p == 0:
            assert found == 0
            continue
        slow = brentq(lambda q, p=p, n=n: n * divergence(p, q) - math.log(1 / delta), 1e-300, p, xtol=1e-15)
        assert found == pytest.approx(slow, abs=1e-9)
    assert (bound("kl", delta=delta) >= np.maximum(bound("hoeffding", delta=delta), 0) - 1e-12).all()


@pytest.mark.parametrize("name", ["hoeffding", "kl", "wilson", "mle"])
def test_delta_of_1_is_the_mean_exactly(name: str) -> None:
    assert (bound(name, delta=1.0) == CLICKS / LOOKS).all()


def test_quantiles_at_the_edges_of_a_fit_are_numbers() -> None:
    edges = np.array([2.0**-10, 1.0, 2.0**20])
    alpha, beta = (grid.ravel() for grid in np.meshgrid(edges, edges))
    for delta in (1e-6, 0.2, 1.0):
        found = BOUNDS["bayes"].lower(np.zeros(9), np.zeros(9), delta, alpha, beta)
        assert ((found >= 0) & (found <= 1)).all()
        np.testing.assert_allclose(found, beta_distribution.ppf(delta / 2, alpha, beta), atol=1e-9)


def test_hoeffding_and_kl_cover_whatever_the_truth() -> None:
    rng = np.random.default_rng(4)
    runs = 20_000
    for truth, n in ((0.05, 20), (0.3, 7), (0.9, 50)):
        clicks = rng.binomial(n, truth, runs).astype(float)
        for name in ("hoeffding", "kl"):
            for delta in (0.1, 0.5):
                lower = BOUNDS[name].lower(clicks, np.full(runs, float(n)), delta, clicks, clicks)
                assert (lower <= truth).mean() >= 1 - delta


def test_quantiles_of_items_that_have_seen_the_same_are_those_of_each() -> None:
    rng = np.random.default_rng(0)
    clicks = rng.integers(0, 3, 5000).astype(float)
    looks = clicks + rng.integers(0, 3, 5000)
    alpha, beta = rng.choice([0.3, 2.0], 5000), rng.choice([1.0, 7.7], 5000)
    level = rng.choice([0.05, 0.5], 5000)
    expected = betaincinv(alpha + clicks, beta + (looks - clicks), level)
    assert (quantile(clicks, looks, level, alpha, beta) == expected).all()
