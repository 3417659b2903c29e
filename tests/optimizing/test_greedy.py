"""Greedy choice against a slow reference."""

import numpy as np
import pytest

from counterrank.optimizing.pi_opt.greedy import greedy
from counterrank.optimizing.pi_opt.pi_opt import lifted


def slow(scores: np.ndarray, length: int) -> list[int]:
    """The best open pair, again and again; ties go to the first position, then to the first item."""
    open_places = sorted((-scores[a, k], k, a) for a in range(len(scores)) for k in range(length))
    out = [-1] * scores.shape[1]
    while open_places:
        worth, k, a = open_places[0]
        if worth == np.inf:
            break
        out[k] = a
        open_places = [place for place in open_places if place[1] != k and place[2] != a]
    return out


@pytest.mark.parametrize("seed", range(20))
def test_rankings_are_those_of_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, 12)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    positions = 5
    scores = rng.integers(-3, 4, (starts[-1], positions)).astype(float)  # many ties
    scores[rng.random(scores.shape) < 0.1] = -np.inf
    lengths = np.minimum(sizes, rng.integers(1, positions + 1, 12))
    found = greedy(scores, starts, lengths)
    for q in range(12):
        expected = slow(scores[starts[q] : starts[q + 1]], lengths[q])
        assert found[q].tolist() == [starts[q] + a if a >= 0 else -1 for a in expected]


def test_with_one_score_per_item_it_is_the_best_ranking() -> None:
    """The rearrangement inequality: the k-th best item belongs to the position with the k-th largest gain."""
    rng = np.random.default_rng(0)
    gains, score = np.array([0.3, 1.0, 1e-6, 0.5]), rng.normal(size=6) - 3
    table = score[:, None] * gains
    found = greedy(lifted(table, np.array([0, 6])), np.array([0, 6]), np.array([4]))[0]
    best = np.argsort(-score)[:4]
    expected = np.empty(4, dtype=int)
    expected[np.argsort(-gains)] = best
    assert found.tolist() == expected.tolist()


def test_an_empty_query_has_no_ranking() -> None:
    assert greedy(np.zeros((1, 2)), np.array([0, 0, 1]), np.array([0, 1])).tolist() == [[-1, -1], [0, -1]]
