"""Bounds from counts against the sums as the paper prints them, term by term."""

import itertools
import math

import numpy as np
import pytest

from counterrank.learning.gate import (
    PairClicks,
    betting_from_counts,
    levelled,
    relative_bounds,
    sea_bounds,
    tied_weights,
)

DCG = 1 / np.log2(np.arange(2, 12))


def made(seed: int, positions: int = 4) -> tuple[PairClicks, np.ndarray, np.ndarray]:
    """Three queries of different sizes, one of them with fewer items than positions, one without clicks."""
    rng = np.random.default_rng(seed)
    starts = np.array([0, 4, 6, 10])
    n = rng.integers(5, 30, 3)
    clicks = rng.integers(1, 5, 10)
    clicks[6:] = 0
    found = PairClicks(
        starts=starts,
        impressions=n,
        clicks=clicks,
        propensity=rng.uniform(0.05, 1.0, 10),
        positions=positions,
        most=1.0,
    )
    return found, *(tied_weights(starts, rng.integers(0, 3, 10).astype(float), DCG[:positions]) for _ in range(2))


def literal(terms: list[float], size: int, positions: int, b: float, confidence: float) -> tuple[float, float]:
    """Eqs. 22 to 24, term by term: `terms` are K·R, of all N·K of them."""
    value = sum(terms) / size
    log = math.log(2 / (1 - confidence))
    nu = 2 * size * log / (size - 1) * sum((term - value) ** 2 for term in terms)
    return value, 7 * positions * b * log / (3 * (size - 1)) + math.sqrt(nu) / size


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("confidence", [0.01, 0.95])
def test_the_bound_from_counts_is_the_literal_double_sum(seed: int, confidence: float) -> None:
    clicks, first, second = made(seed)
    found, separate = relative_bounds(clicks, first, second), sea_bounds(clicks, first, second)
    for q in range(2):
        mine = range(clicks.starts[q], clicks.starts[q + 1])
        n, k = int(clicks.impressions[q]), clicks.positions
        b = 1.0 / min(clicks.propensity[d] for d in mine)
        halves = []
        for weight in (first - second, first, second):
            terms = [
                k * weight[d] / clicks.propensity[d] if i < clicks.clicks[d] else 0.0 for d in mine for i in range(n)
            ]
            terms += [0.0] * (n * k - len(terms))  # the positions of a short list
            value, half = literal(terms, n * k, k, b, confidence)
            halves.append(half)
            if weight is not first and weight is not second:
                assert found.value[q] == pytest.approx(value, abs=1e-12)
                assert found.half(confidence)[q] == pytest.approx(half, rel=1e-12)
        assert separate.half(confidence)[q] == pytest.approx(halves[1] + halves[2], rel=1e-12)
    assert np.isnan(found.half(confidence)[2])  # no clicks


def test_the_whole_part_is_one_group() -> None:
    clicks, first, second = made(3)
    found = relative_bounds(clicks, first, second, whole=True)
    k, n = clicks.positions, int(clicks.impressions.sum())
    terms = [k * (first[d] - second[d]) / clicks.propensity[d] for d in range(10) for _ in range(int(clicks.clicks[d]))]
    value, half = literal(terms + [0.0] * (n * k - len(terms)), n * k, k, 1 / clicks.propensity.min(), 0.95)
    assert found.value[0] == pytest.approx(value, abs=1e-12)
    assert found.half(0.95)[0] == pytest.approx(half, rel=1e-12)


@pytest.mark.parametrize("seed", range(50))
def test_one_bound_is_never_wider_than_two_and_decides_where_they_do(seed: int) -> None:
    clicks, first, second = made(seed)
    for confidence in (0.01, 0.5, 0.95):
        one, two = relative_bounds(clicks, first, second), sea_bounds(clicks, first, second)
        known = np.isfinite(one.half(confidence))
        assert (one.half(confidence)[known] <= two.half(confidence)[known] * (1 + 1e-12)).all()
        assert ((one.value > one.half(confidence)) >= (two.value > two.half(confidence)))[known].all()


@pytest.mark.parametrize("scores", [[0.0] * 6, [3, 1, 2, 1, 1, 3], [5, 4, 3, 2, 1, 0], [1, 1, 0, 0, 0, 0], [2, 2]])
@pytest.mark.parametrize("positions", [3, 6])
def test_tied_weights_are_the_mean_over_all_rankings_that_respect_the_scores(
    scores: list[float], positions: int
) -> None:
    valid = [
        order
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    weights = DCG[:positions]
    mean = np.zeros(len(scores))
    for order in valid:
        for rank, item in enumerate(order[:positions]):
            mean[item] += weights[rank] / len(valid)
    found = tied_weights(np.array([0, len(scores)]), np.asarray(scores, float), weights)
    np.testing.assert_allclose(found, mean, atol=1e-12)


def test_ties_do_not_cross_queries_and_survive_rounding() -> None:
    starts = np.array([0, 2, 2, 4])
    scores = np.array([0.1 + 0.2, 0.3, 0.3, 0.2])
    level = levelled(starts, scores)
    assert level[0] == level[1]
    assert level[2] != level[3]
    np.testing.assert_allclose(tied_weights(starts, level, np.array([1.0, 0.5])), [0.75, 0.75, 1.0, 0.5])


def slow_bet(terms: np.ndarray, least: float, delta: float) -> float:
    """The largest mean against which the mixture's capital reaches 1/δ, by halving."""
    from counterrank.interval.mixture import BETS, TINY, WEIGHTS

    used = BETS >= TINY  # where there are many groups

    def capital(t: float) -> float:
        logs = WEIGHTS[used] + np.log1p(BETS[used] * ((terms - least) / t - 1)[:, None]).sum(axis=0)
        return float(np.logaddexp.reduce(logs))

    low, high = 0.0, float((terms - least).mean())
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if capital(middle) >= -math.log(delta) else (low, middle)
    return low + least


@pytest.mark.parametrize("seed", range(3))
def test_bets_from_counts_are_bets_on_every_term(seed: int) -> None:
    clicks, first, second = made(seed)
    lower, upper = betting_from_counts(clicks, first, second, 0.9)
    for q in range(3):
        mine = slice(clicks.starts[q], clicks.starts[q + 1])
        term = clicks.positions * (first - second)[mine] / clicks.propensity[mine]
        terms = np.repeat(term, clicks.clicks[mine])
        terms = np.append(terms, np.zeros(clicks.impressions[q] * clicks.positions - len(terms)))
        assert lower[q] == pytest.approx(slow_bet(terms, min(term.min(), 0.0), 0.05), rel=1e-5, abs=1e-7)
        assert upper[q] == pytest.approx(-slow_bet(-terms, min(-term.max(), 0.0), 0.05), rel=1e-5, abs=1e-7)
    whole = betting_from_counts(clicks, first, second, 0.9, whole=True)
    assert whole[0].shape == whole[1].shape == (1,)
    assert whole[0][0] < relative_bounds(clicks, first, second, whole=True).value[0] < whole[1][0]


def test_no_permutation_beats_the_special_policy_on_its_own_data() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        size = int(rng.integers(2, 7))
        worth = rng.integers(0, 3, size) / rng.uniform(0.1, 1, size)
        weights = DCG[: int(rng.integers(1, size + 1))]
        own = float(tied_weights(np.array([0, size]), worth, weights) @ worth)
        best = max(
            sum(weights[k] * worth[item] for k, item in enumerate(order[: len(weights)]))
            for order in itertools.permutations(range(size))
        )
        assert own == pytest.approx(best, abs=1e-12)
