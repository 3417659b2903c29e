"""What models learn from: values with ties, parts of queries, pairs of which nothing is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pytest
from learning_worlds import dcg, labelled, made


@pytest.mark.parametrize("scores", [[3, 2, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 1, 1, 1], [-1, 5, -1, 5]])
@pytest.mark.parametrize("weights", [dcg(4), np.array([1.0, 0.5]), np.ones(3), dcg(9)])
def test_a_value_is_the_mean_over_all_ways_to_break_ties(scores: list[float], weights: np.ndarray) -> None:
    worth = np.array([1.0, 0.0, 5.0, 2.5])
    padded = np.concatenate([weights, np.zeros(4)])
    orders = [o for o in permutations(range(4)) if all(scores[a] >= scores[b] for a, b in pairwise(o))]
    by_hand = np.mean([sum(worth[item] * padded[place] for place, item in enumerate(order)) for order in orders])
    examples = labelled(np.array([0, 4]), np.zeros((4, 1)), worth)
    assert examples.value(np.array(scores, dtype=float), weights) == pytest.approx(by_hand, rel=1e-12)


def test_values_of_queries_add_up_and_empty_queries_are_worth_nothing() -> None:
    examples = made(seed=3)
    scores, weights = examples.features[:, 0], dcg(examples.longest)
    parts = np.concatenate([examples.of(np.array([q])).values(
        scores[examples.starts[q] : examples.starts[q + 1]], weights) for q in range(len(examples))])  # fmt: skip
    np.testing.assert_allclose(examples.values(scores, weights), parts, rtol=1e-12)
    empty = replace(examples, starts=np.concatenate([[0], examples.starts]), impressions=np.ones(len(examples) + 1))
    assert empty.values(scores, weights)[0] == 0


def test_some_queries_are_taken_with_their_items_in_the_order_asked_for() -> None:
    examples = made(queries=5)
    some = examples.of(np.array([3, 1]))
    rows = np.concatenate([np.arange(*examples.starts[q : q + 2]) for q in (3, 1)])
    assert some.sizes.tolist() == examples.sizes[[3, 1]].tolist()
    np.testing.assert_array_equal(some.features, examples.features[rows])
    np.testing.assert_array_equal(some.worth, examples.worth[rows])
    assert len(examples.of(np.zeros(5, dtype=bool))) == 0


def test_pairs_without_features_or_propensity_are_left_out_and_queries_stay() -> None:
    examples = made(queries=4)
    features, propensity = examples.features.copy(), np.ones(len(examples.worth))
    features[1] = np.nan
    propensity[examples.starts[2] : examples.starts[3]] = 0
    known = replace(examples, features=features, propensity=propensity).known()
    assert known.sizes.tolist() == (examples.sizes - [1, 0, examples.sizes[2], 0]).tolist()
    assert examples.known() is examples


def test_naive_examples_are_worth_their_clicks() -> None:
    examples = made()
    assert examples.naive().worth.tolist() == examples.clicks.tolist()
