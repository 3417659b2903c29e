"""LambdaLoss: the kernels against a plain calculation, slopes against differences, orders against enumeration."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from learning_worlds import dcg, made
from numpy.typing import NDArray

from counterrank.learning.models.lambda_loss import derivatives, gains, gradient, losses

Vector = NDArray[np.float64]
WEIGHTS = {"dcg": dcg(30), "dcg@3": dcg(3), "reciprocal": 1 / np.arange(1, 31), "first two": np.ones(2)}


BY_DISTANCE = ("dcg", "reciprocal")  # they fall ever more slowly, down to the longest query


def plain(scores: Vector, worth: Vector, weights: Vector, far: bool = True) -> tuple[float, Vector]:
    """The loss of one query and its slopes, pair by pair, as the formula says."""
    size = len(scores)
    rank = np.empty(size, dtype=int)
    rank[np.argsort(-scores, kind="stable")] = np.arange(1, size + 1)
    lam = np.concatenate([[np.nan], weights, np.zeros(size + 2)])
    total, slope = 0.0, np.zeros(size)
    for a in range(size):
        for b in range(size):
            if worth[a] > worth[b]:
                d = abs(rank[a] - rank[b])
                swap, apart = abs(lam[rank[a]] - lam[rank[b]]), 1 / np.log2(1 + d) - 1 / np.log2(2 + d)
                gain = lam[d] - lam[d + 1] if far else swap + 5 * apart
                weight = (worth[a] - worth[b]) * gain
                total += weight * np.log(1 + np.exp(scores[b] - scores[a]))
                push = weight / (1 + np.exp(scores[a] - scores[b]))
                slope[a] -= push
                slope[b] += push
    return total, slope


def derived(scores: Vector, examples, weights: Vector) -> tuple[float, Vector, Vector]:
    first, second = np.zeros(len(scores)), np.zeros(len(scores))
    queries, gain = np.arange(len(examples)), gains(weights, examples.longest)
    derivatives(examples.starts, queries, scores, examples.worth, gain, first, second)
    return float(losses(examples.starts, queries, scores, examples.worth, gain)) * len(examples), first, second


def test_the_gain_of_dcg_is_the_papers() -> None:
    d = np.arange(1, 12)
    np.testing.assert_allclose(gains(dcg(12), 12)[0, 1:], 1 / np.log2(1 + d) - 1 / np.log2(2 + d), rtol=1e-12)


@pytest.mark.parametrize("name", WEIGHTS)
def test_kernels_equal_the_plain_calculation(name: str) -> None:
    examples, weights = made(queries=20), WEIGHTS[name]
    scores = np.random.default_rng(1).normal(size=len(examples.worth)) * 3
    total, first, _ = derived(scores, examples, weights)
    parts = [
        plain(scores[a:b], examples.worth[a:b], weights, name in BY_DISTANCE)
        for a, b in zip(examples.starts[:-1], examples.starts[1:], strict=True)
    ]
    assert total == pytest.approx(sum(part[0] for part in parts), rel=1e-12)
    np.testing.assert_allclose(first, np.concatenate([part[1] for part in parts]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", WEIGHTS)
def test_slopes_and_bends_equal_differences_of_the_loss(name: str) -> None:
    examples, weights, step = made(queries=4, longest=6), WEIGHTS[name], 1e-4
    scores = np.random.default_rng(2).permutation(len(examples.worth)) / 5.0  # no two so near that they change places
    _, first, second = derived(scores, examples, weights)
    for row in range(len(scores)):
        away = np.zeros(len(scores))
        away[row] = step
        up, here, down = (derived(scores + turn * away, examples, weights)[0] for turn in (1, 0, -1))
        assert first[row] == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-8)
        assert second[row] == pytest.approx((up - 2 * here + down) / step**2, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_gradient_of_a_linear_model_is_that_of_its_scores(dtype: type) -> None:
    examples, weights = made(queries=30), np.random.default_rng(3).normal(size=5)
    rows, gain = examples.features.astype(dtype), gains(dcg(12), examples.longest)
    _, first, _ = derived((rows @ weights.astype(dtype)).astype(float), examples, dcg(12))
    out = np.zeros(5, dtype)
    gradient(
        examples.starts,
        np.arange(30),
        rows,
        examples.worth.astype(dtype),
        gain.astype(dtype),
        weights.astype(dtype),
        out,
    )
    np.testing.assert_allclose(out, examples.features.T @ first, rtol=1e-3 if dtype is np.float32 else 1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_of_all_orders_the_best_has_the_lowest_loss(seed: int) -> None:
    """Every order of five items, their scores far apart: the loss is lowest where the value is highest."""
    worth = np.random.default_rng(seed).random(5) * np.array([0, 1, 1, 5, 1])
    tried = []
    for order in permutations(range(5)):
        scores = np.empty(5)
        scores[list(order)] = [4.0, 3.0, 2.0, 1.0, 0.0]
        tried.append((plain(scores, worth, dcg(5))[0], -float(worth[list(order)] @ dcg(5))))
    assert min(tried)[1] == min(value for _, value in tried)


def test_a_constant_part_of_worth_has_no_say() -> None:
    examples = made(queries=10)
    scores = np.random.default_rng(4).normal(size=len(examples.worth))
    gain, queries = gains(dcg(12), examples.longest), np.arange(10)
    slopes = []
    for worth in (examples.worth, examples.worth + 0.7):
        first = np.zeros(len(scores))
        derivatives(examples.starts, queries, scores, worth, gain, first, np.zeros(len(scores)))
        slopes.append(first)
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-9, atol=1e-12)


def test_scores_far_apart_do_not_overflow() -> None:
    examples = made(queries=6)
    scores = np.linspace(-1e5, 1e5, len(examples.worth))
    total, first, second = derived(scores, examples, dcg(12))
    assert np.isfinite(total)
    assert np.isfinite(first).all()
    assert np.isfinite(second).all()
