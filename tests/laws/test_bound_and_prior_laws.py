"""Every lower bound of attraction and every prior keeps these laws."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import beta as beta_distribution

from counterrank.posterior import BOUNDS, PRIORS, choose_prior, log_likelihood, read_prior

RNG = np.random.default_rng(1)
LOOKS = np.concatenate([RNG.integers(1, 300, 40), [1, 1, 5, 5]]).astype(float)
CLICKS = np.concatenate([RNG.binomial(LOOKS[:40].astype(int), 0.2), [0, 1, 0, 5]]).astype(float)
ALPHA, BETA = RNG.uniform(0.1, 5, 44), RNG.uniform(0.1, 50, 44)
STARTS = np.array([0, 10, 10, 30, 44])  # the second query has no items
bounds = pytest.mark.parametrize("name", BOUNDS)
priors = pytest.mark.parametrize("name", PRIORS)
scopes = pytest.mark.parametrize("scope", ["query", "global"])


def bound(name: str, clicks: np.ndarray = CLICKS, looks: np.ndarray = LOOKS, delta: float = 0.2) -> np.ndarray:
    return BOUNDS[name].lower(clicks, looks, delta, ALPHA[: len(looks)], BETA[: len(looks)])


@bounds
def test_a_smaller_delta_never_raises_a_bound(name: str) -> None:
    levels = np.stack([bound(name, delta=delta) for delta in (5e-324, 0.01, 0.05, 0.2, 0.5, 0.9, 1.0)])
    assert not np.isnan(levels).any()  # half of the smallest δ is rounded to 0
    assert (np.diff(levels[1:], axis=0) >= -1e-12).all()
    assert (levels[0] <= levels[1] + 1e-12).all()
    assert (levels <= 1).all()


@bounds
def test_an_item_never_looked_at(name: str) -> None:
    """Nothing is known of it, or what the prior says."""
    found = bound(name, np.zeros(2), np.array([0.0, 3.0]))
    if BOUNDS[name].prior is None:
        assert np.isnan(found[0])
    else:
        assert found[0] == pytest.approx(beta_distribution.ppf(0.1, ALPHA[0], BETA[0]), rel=1e-9)
    assert np.isfinite(found[1])


@bounds
def test_items_are_bounded_one_by_one(name: str) -> None:
    order = np.random.default_rng(2).permutation(44)
    found = BOUNDS[name].lower(CLICKS[order], LOOKS[order], 0.2, ALPHA[order], BETA[order])
    np.testing.assert_array_equal(found, bound(name)[order])
    both = BOUNDS[name].lower(CLICKS, LOOKS, np.where(np.arange(44) < 20, 0.2, 0.4), ALPHA, BETA)
    np.testing.assert_array_equal(both[:20], bound(name)[:20])


@bounds
def test_more_clicks_of_as_many_looks_never_lower_a_bound(name: str) -> None:
    looks = np.full(21, 20.0)
    ones = np.ones(21)
    found = BOUNDS[name].lower(np.arange(21.0), looks, 0.2, ones, ones)
    assert (np.diff(found) >= 0).all()


@bounds
def test_a_bound_says_what_it_is(name: str) -> None:
    said = BOUNDS[name]
    assert said.prior is None or read_prior(said.prior)
    assert said.prior is not None or (bound(name) <= CLICKS / LOOKS + 1e-12).all()


@priors
@scopes
def test_a_prior_is_a_prior(name: str, scope: str) -> None:
    """Positive, no less likely than the uniform one, and uniform where nothing was looked at."""
    found = choose_prior(name, CLICKS, LOOKS, STARTS, scope)
    assert (found.alpha > 0).all()
    assert (found.beta > 0).all()
    for q, (low, high) in enumerate(pairwise(STARTS)):
        if scope == "global":
            low, high = 0, 44
        both = [log_likelihood(CLICKS[low:high], LOOKS[low:high], *ab)
                for ab in ((found.alpha[q], found.beta[q]), (1.0, 1.0))]  # fmt: skip
        assert both[0] >= both[1] - 1e-9
    nothing = choose_prior(name, np.zeros(3), np.zeros(3), np.array([0, 3]), scope)
    assert (nothing.alpha[0], nothing.beta[0]) == (1, 1)


@priors
@scopes
def test_the_order_of_items_does_not_matter(name: str, scope: str) -> None:
    order = np.concatenate([np.random.default_rng(3).permutation(np.arange(a, b)) for a, b in pairwise(STARTS)])
    one, two = (choose_prior(name, c, n, STARTS, scope) for c, n in ((CLICKS, LOOKS), (CLICKS[order], LOOKS[order])))
    np.testing.assert_allclose(one.alpha, two.alpha, rtol=1e-9)
    np.testing.assert_allclose(one.beta, two.beta, rtol=1e-9)
