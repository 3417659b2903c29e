"""What every kind of policy must obey, against the list of all rankings of tiny worlds."""

from __future__ import annotations

import numpy as np
import pytest
from policy_worlds import ANSWERS_ALL, ITEMS, KINDS, MISSING, every_ranking, make_pairs, marginals_by_hand

from counterrank.errors import InputError

kinds = pytest.mark.parametrize("kind", KINDS)
lengths = pytest.mark.parametrize("length", [1, 2, 3, 4])
AT_MISSING = list(ITEMS).index(MISSING)


def had(kind: str) -> list[int]:
    return [q for q in range(len(ITEMS)) if kind in ANSWERS_ALL or q != AT_MISSING]


@kinds
@lengths
def test_probabilities_sum_to_one(kind: str, length: int) -> None:
    bound = KINDS[kind](make_pairs(length=length))
    for query in had(kind):
        every = every_ranking(bound.pairs, query)
        chances = bound.probability(np.full(len(every), query), every)
        assert (chances >= 0).all()
        assert chances.sum() == pytest.approx(1, abs=1e-12)
        too_long = (every >= 0).sum(axis=1) > bound.pairs.lengths[query]
        assert not chances[too_long].any()


@kinds
@lengths
def test_marginals_agree_with_probabilities(kind: str, length: int) -> None:
    bound = KINDS[kind](make_pairs(length=length))
    np.testing.assert_allclose(bound.marginals(), marginals_by_hand(bound), rtol=0, atol=1e-12)


@kinds
@lengths
def test_a_cut_policy_shows_the_first_items_of_the_whole_one(kind: str, length: int) -> None:
    whole, cut = KINDS[kind](make_pairs()), KINDS[kind](make_pairs(length=length))
    for query in had(kind):
        every = every_ranking(whole.pairs, query)
        heads = np.where(np.arange(every.shape[1]) < length, every, -1)
        distinct, to = np.unique(heads, axis=0, return_inverse=True)
        summed = np.bincount(to.ravel(), whole.probability(np.full(len(every), query), every))
        np.testing.assert_allclose(
            cut.probability(np.full(len(distinct), query), distinct), summed, rtol=1e-12, atol=1e-15
        )


@kinds
def test_more_positions_than_items_change_nothing(kind: str) -> None:
    narrow, wide = KINDS[kind](make_pairs()), KINDS[kind](make_pairs(positions=6))
    assert wide.marginals().shape == (len(wide.pairs), 6)
    np.testing.assert_allclose(wide.marginals()[:, :4], narrow.marginals(), atol=1e-14)
    assert not wide.marginals()[:, 4:].any()


@kinds
@pytest.mark.parametrize("length", [2, 4])
def test_samples_follow_the_probabilities(kind: str, length: int) -> None:
    bound = KINDS[kind](make_pairs(length=length))
    rng, draws = np.random.default_rng(20), 4000
    queries = np.repeat(had(kind), draws)
    rng.shuffle(queries)
    drawn = bound.sample(queries, rng)
    assert drawn.shape == (len(queries), bound.pairs.positions)
    for query in had(kind):
        every = every_ranking(bound.pairs, query)
        chances = bound.probability(np.full(len(every), query), every)
        mine = drawn[queries == query]
        counts = np.array([(mine == ranking).all(axis=1).sum() for ranking in every])
        assert counts.sum() == draws
        assert (
            np.abs(counts - draws * chances) <= 5 * np.sqrt(draws * chances * np.maximum(1 - chances, 0)) + 1e-6
        ).all()


@kinds
def test_the_same_seed_draws_the_same(kind: str) -> None:
    bound = KINDS[kind](make_pairs())
    queries = np.repeat(had(kind), 3)
    first, second = (bound.sample(queries, np.random.default_rng(3)) for _ in range(2))
    assert (first == second).all()
    assert bound.sample(queries[:0], np.random.default_rng(3)).shape == (0, 4)


@kinds
@lengths
def test_best_is_the_most_likely(kind: str, length: int) -> None:
    bound = KINDS[kind](make_pairs(length=length))
    queries = np.array(had(kind))
    chances = bound.probability(queries, bound.best(queries))
    for query, chance in zip(queries, chances, strict=True):
        every = every_ranking(bound.pairs, query)
        assert chance == pytest.approx(bound.probability(np.full(len(every), query), every).max(), rel=1e-12)


@kinds
def test_a_query_it_does_not_have_gets_nothing(kind: str) -> None:
    if kind in ANSWERS_ALL:
        return
    bound = KINDS[kind](make_pairs())
    rows = bound.pairs.queries == AT_MISSING
    every = every_ranking(bound.pairs, AT_MISSING)
    assert not bound.marginals()[rows].any()
    assert not bound.probability(np.full(len(every), AT_MISSING), every).any()
    for act in (lambda q: bound.sample(q, np.random.default_rng(0)), bound.best):
        with pytest.raises(InputError, match="only in the log") as caught:
            act(np.array([0, AT_MISSING]))
        assert "\n" not in str(caught.value)


@kinds
def test_wrong_rankings_have_no_chance(kind: str) -> None:
    bound = KINDS[kind](make_pairs())
    first, other = bound.pairs.starts[0], bound.pairs.starts[1]
    wrong = np.array([[first, first, first + 1, first + 2], [other, other + 1, other + 2, other + 3]])
    assert bound.probability(np.zeros(2, np.int64), wrong).tolist() == [0, 0]
    assert bound.probability(np.zeros(0, np.int64), wrong[:0]).tolist() == []
