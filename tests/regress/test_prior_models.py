"""Priors from features: they find what clicks were drawn by, allow missing values, and go on where they ended."""

from __future__ import annotations

import json

import numpy as np
import pytest

from counterrank.posterior import choose_prior, terms
from counterrank.regress import PRIOR_MODELS, LinearPrior, Scale, Seen, without_features

each = pytest.mark.parametrize("name", PRIOR_MODELS)


def drawn(rows: int, seed: int = 0, beta: float = 5.0) -> tuple[Seen, np.ndarray]:
    """Items whose α is exp(0.5 + x₀ − 0.5 x₁), with clicks drawn from their Beta."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    alpha = np.exp(0.5 + x[:, 0] - 0.5 * x[:, 1])
    looks = rng.integers(1, 40, rows).astype(float)
    clicks = rng.binomial(looks.astype(int), rng.beta(alpha, beta)).astype(float)
    return Seen(x, clicks, looks), alpha


@each
def test_it_finds_the_prior_means(name: str) -> None:
    seen, alpha = drawn(4000)
    model = PRIOR_MODELS[name](5.0)
    model.fit(seen, drawn(1000, 1)[0])
    mean, truth = model.alpha(seen.x) / (model.alpha(seen.x) + 5.0), alpha / (alpha + 5.0)
    assert np.abs(mean - truth).mean() < (0.01 if name == "linear" else 0.04)


@each
def test_a_beta_to_be_learnt_is_found(name: str) -> None:
    seen, _ = drawn(4000, 2, beta=2.0)
    model = PRIOR_MODELS[name](None)
    model.fit(seen, drawn(1000, 3, beta=2.0)[0])
    assert model.beta == pytest.approx(2.0, rel=0.3)


@each
def test_missing_values_and_plain_data(name: str) -> None:
    seen, _ = drawn(600)
    holes = seen.x.copy()
    holes[::3, 1] = np.nan
    holes[5] = np.nan
    model = PRIOR_MODELS[name](5.0)
    model.fit(Seen(holes, seen.clicks, seen.looks))
    found = model.alpha(holes)
    assert np.isfinite(found).all()
    again = PRIOR_MODELS[name].of_dict(json.loads(json.dumps(model.to_dict())))
    assert (again.alpha(holes) == found).all()


def test_the_linear_weights_are_where_the_slope_is_none() -> None:
    seen, _ = drawn(800)
    model = LinearPrior(5.0)
    for _ in range(4):
        model.fit(seen)
    z = Scale.of(seen.x)(seen.x)
    slope = z.T @ terms(seen.clicks, seen.looks, np.exp(z @ model.weights), 5.0).by_alpha
    slope[1:] += model.weights[1:]
    assert np.abs(slope).max() < 0.02 * np.sqrt(len(z))


def test_another_fit_goes_on_from_the_last() -> None:
    seen, _ = drawn(2000)
    model = LinearPrior(5.0)
    model.fit(seen)
    first = model.steps
    model.fit(seen)
    assert model.steps < first


def test_it_stops_where_held_out_items_gain_nothing() -> None:
    """Noise as features: held-out items are no worse off than under one prior for all."""
    rng = np.random.default_rng(0)
    seen = Seen(rng.normal(size=(60, 40)), rng.binomial(5, 0.3, 60).astype(float), np.full(60, 5.0))
    held = Seen(rng.normal(size=(500, 40)), rng.binomial(5, 0.3, 500).astype(float), np.full(500, 5.0))
    for name in PRIOR_MODELS:
        stopped, free = PRIOR_MODELS[name](5.0), PRIOR_MODELS[name](5.0)
        stopped.fit(seen, held)
        free.fit(seen)
        losses = [terms(held.clicks, held.looks, m.alpha(held.x), 5.0).loss.sum() for m in (stopped, free)]
        assert losses[0] <= losses[1]


def test_items_without_features_have_the_one_prior_of_all() -> None:
    seen, _ = drawn(300)
    expected = choose_prior("fit", seen.clicks, seen.looks, np.array([0, 300]), "global").pair
    assert without_features(seen) == expected
    assert without_features(Seen(np.zeros((0, 2)), np.zeros(0), np.zeros(0))) == (1.0, 5.0)
