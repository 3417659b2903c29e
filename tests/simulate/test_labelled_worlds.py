"""Semi-synthetic worlds: labels, NDCG, loggers, and binomial counts against clicks drawn one by one."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pyarrow as pa
import pytest

from counterrank.errors import InputError
from counterrank.simulate.labelled import Labelled
from counterrank.simulate.logger import logged_ranks, train_logger
from counterrank.simulate.ndcg import Ndcg
from counterrank.simulate.users import LoggedWorld, coming


def made_up(queries: int, items: int, seed: int = 0) -> Labelled:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(queries * items, 3))
    labels = np.digitize(x[:, 0] + 0.5 * x[:, 1] + rng.normal(0, 0.5, len(x)), (0.8, 1.8)).astype(float)
    return Labelled(
        ids=[str(q) for q in range(queries)], starts=np.arange(queries + 1) * items, features=x,
        names=["a", "b", "c"], labels=labels,
    )  # fmt: skip


def test_some_queries_keep_their_documents() -> None:
    table = pa.table(
        {"query": ["b", "a", "b", "c"], "item": list("wxyz"), "label": [1, 2, 0, 3], "f": [0.1, 0.2, 0.3, 0.4]}
    )
    data = Labelled.of(table)
    part = data.some([2, 0])
    assert part.ids == ["c", "b"]
    assert part.labels.tolist() == [3, 1, 0]
    assert part.features[:, 0].tolist() == [0.4, 0.1, 0.3]
    with pytest.raises(InputError, match="no column 'grade'"):
        Labelled.of(table, "grade")


def test_ndcg_of_ties_is_the_mean_over_all_ways_to_break_them() -> None:
    labels, scores = np.array([2.0, 0, 1, 0, 1]), np.array([1.0, 1, 1, 0, 0])
    data = Labelled(ids=["q"], starts=np.array([0, 5]), features=np.zeros((5, 0)), names=[], labels=labels)
    discount = [1 / np.log2(k + 2) for k in range(5)]
    ideal = sum(d * label for d, label in zip(discount, sorted(labels, reverse=True), strict=True))
    orders = [o for o in permutations(range(5)) if all(scores[a] >= scores[b] for a, b in pairwise(o))]
    values = [sum(d * labels[i] for d, i in zip(discount, order, strict=True)) / ideal for order in orders]
    assert len(orders) == 12
    assert Ndcg(data).of_scores(scores) == pytest.approx(np.mean(values), abs=1e-12)


def test_queries_without_a_relevant_document_are_left_out() -> None:
    data = Labelled(
        ids=["q", "r"], starts=np.array([0, 2, 4]), features=np.zeros((4, 0)), names=[], labels=np.array([0.0, 1, 0, 0])
    )
    measure = Ndcg(data)
    assert measure.of_scores(np.array([0.0, 1, 0, 1])) == 1.0
    assert np.isnan(measure.per_query(np.ones(4))).tolist() == [False, True]


def test_a_logger_learns_from_one_percent_of_the_queries_and_at_least_one() -> None:
    data = made_up(60, 12)
    random = Ndcg(data).of_scores(np.zeros(len(data.labels)))
    found = [Ndcg(data).of_scores(train_logger(data, seed).score(data.features)) for seed in range(3)]
    full = Ndcg(data).of_scores(train_logger(data, 0, share=1.0).score(data.features))
    assert np.mean(found) > random
    assert full > np.mean(found)


def test_logged_rankings_are_sorted_or_drawn_around_the_scores() -> None:
    data, rng = made_up(4, 5), np.random.default_rng(0)
    scores = data.features[:, 0]
    ranks = logged_ranks(data, scores, rng)
    for q in range(4):
        assert np.argsort(ranks[0, 5 * q : 5 * q + 5]).tolist() == np.argsort(-scores[5 * q : 5 * q + 5]).tolist()
    drawn = logged_ranks(data, scores, rng, rankings=3000, temperature=1.0)
    chance = np.exp(scores[:5]) / np.exp(scores[:5]).sum()  # Plackett and Luce: who comes first
    np.testing.assert_allclose((drawn[:, :5] == 0).mean(axis=0), chance, atol=4 * np.sqrt(0.25 / 3000))


@pytest.mark.parametrize("rankings", [1, 3])
def test_counts_are_distributed_as_clicks_drawn_one_by_one(rankings: int) -> None:
    data, rng = made_up(2, 4), np.random.default_rng(1)
    ranks = logged_ranks(data, np.zeros(8), rng, rankings)
    shares = np.arange(1.0, rankings + 1) / np.arange(1.0, rankings + 1).sum()
    world = LoggedWorld(data=data, ranks=ranks, shares=shares, alpha=0.3)
    n, times = 40, 6000
    fast = np.array([world.draw(np.full(2, n), rng).clicks for _ in range(times)])
    shown = rng.choice(rankings, p=shares, size=(times, n, 2))  # a ranking for each impression of each query
    rank = np.stack([ranks[shown[:, :, q], 4 * q + d] for q in range(2) for d in range(4)], axis=-1)
    slow = (rng.random(rank.shape) < (0.2 + 0.3 * data.labels) / (rank + 1)).sum(axis=1)
    error = np.sqrt(slow.var(axis=0) / times)
    np.testing.assert_array_less(np.abs(fast.mean(axis=0) - slow.mean(axis=0)), 6 * error)
    noise = np.sqrt(2 / times * np.outer(slow.var(axis=0), slow.var(axis=0)))  # of an entry of the covariance, at most
    np.testing.assert_array_less(np.abs(np.cov(fast.T) - np.cov(slow.T)), 7 * noise)
    np.testing.assert_allclose(fast.mean(axis=0), n * world.propensity * world.attraction, rtol=0.05)


def test_a_billion_clicks_are_drawn_at_once() -> None:
    world = LoggedWorld(data=made_up(50, 20), ranks=np.tile(np.arange(20), 50)[None], shares=np.ones(1), alpha=0.2)
    rng = np.random.default_rng(0)
    log = world.draw(coming(50, round(1e9 / world.clicks_per_impression), rng), rng)
    assert abs(log.clicks.sum() / 1e9 - 1) < 0.001


def test_clicks_that_would_be_surer_than_sure_are_refused() -> None:
    with pytest.raises(InputError, match=r"alpha is 0\.9"):
        LoggedWorld(data=made_up(3, 8), ranks=np.tile(np.arange(8), 3)[None], shares=np.ones(1), alpha=0.9)
