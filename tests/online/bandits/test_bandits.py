"""Ranking bandits: what they show and learn, by hand, and on a small world."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from counterrank.online.bandits import BANDITS, Bandit, Hotfix, PbmPie, State
from counterrank.online.bandits.order import next_of
from counterrank.simulate.labelled import Labelled
from counterrank.simulate.ndcg import Ndcg
from counterrank.simulate.play import play
from counterrank.simulate.users import LoggedWorld


def state_of(*sizes: int) -> State:
    starts = np.concatenate([[0], np.cumsum(sizes)])
    first = np.concatenate([np.arange(size) for size in sizes])
    return State(starts=starts, first=first, examination=1 / np.arange(1.0, max(sizes) + 1))


def seen(state: State, positions: list[int], clicked: list[int], query: int = 0) -> None:
    """One page of a query: where its items stood, and their clicks."""
    state.asked = np.array([query])
    rows = state.rows()
    state.positions[rows] = positions
    state.see(rows, np.array(clicked, dtype=bool))


def test_pbm_pie_sorts_by_clicks_over_examination() -> None:
    state, bandit = state_of(3), PbmPie()
    seen(state, [0, 1, 2], [1, 1, 0])
    seen(state, [1, 0, 2], [0, 1, 0])
    np.testing.assert_allclose(state.exposure, [1.5, 1.5, 2 / 3])
    np.testing.assert_allclose(bandit.scores(state), [1 / 1.5, 2 / 1.5, 0])
    assert bandit.rank(state, np.random.default_rng(0)).tolist() == [1, 0, 2]


def test_hotfix_prefers_what_is_clicked_to_what_was_passed_over() -> None:
    state, bandit = state_of(4), Hotfix()
    seen(state, [2, 0, 1, 3], [1, 0, 1, 0])  # in order: 1, 2*, 0*, 3: both clicked are preferred to 1
    bandit.learn(state)
    assert bandit.scores(state).tolist() == [1, -2, 1, 0]
    seen(state, [0, 1, 2, 3], [0, 0, 0, 0])  # without a click nothing is preferred
    bandit.learn(state)
    assert bandit.scores(state).tolist() == [1, -2, 1, 0]


def test_hotfix_leaves_what_stands_below_its_top() -> None:
    state, bandit = state_of(5), Hotfix(2)
    rng = np.random.default_rng(0)
    state.asked = np.array([0])
    pages = np.array([bandit.rank(state, rng).copy() for _ in range(200)])
    assert (pages[:, 2:] == [2, 3, 4]).all()
    assert 0.4 < (pages[:, 0] == 0).mean() < 0.6
    seen(state, [1, 0, 2, 3, 4], [1, 0, 0, 1, 0])  # a click below the top prefers nothing
    bandit.learn(state)
    assert state.of("hotfix-2").tolist() == [1, -1, 0, 0, 0]
    scores = bandit.scores(state)
    assert np.argsort(-scores).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("name", BANDITS)
def test_pages_hold_every_item_once_and_ties_fall_every_way(name: str) -> None:
    state, bandit, rng = state_of(3, 1, 4), BANDITS[name], np.random.default_rng(1)
    seen_orders = set()
    for turn in range(120):
        state.asked = np.array([0, 2]) if turn % 2 else np.array([2, 1])
        positions = bandit.rank(state, rng)
        for q in state.asked:
            assert sorted(positions[state.starts[q] : state.starts[q + 1]]) == list(range(np.diff(state.starts)[q]))
        if turn % 2:
            seen_orders.add(tuple(positions[:3].tolist()))
        rows = state.rows()
        state.see(rows, np.zeros(len(rows), dtype=bool))
        bandit.learn(state)
    assert len(seen_orders) == 6


@pytest.mark.parametrize("name", BANDITS)
def test_queries_do_not_learn_from_each_other(name: str) -> None:
    """A query's pages and scores are the same, whether another is asked at the same time or not."""
    alone, both = state_of(3), state_of(3, 3)
    for state, clicked in ((alone, [1, 0, 0]), (both, [1, 0, 0, 0, 1, 1])):
        state.asked = np.arange(len(state.starts) - 1)
        state.positions[:3] = [2, 0, 1]
        state.see(state.rows(), np.array(clicked, dtype=bool))
        BANDITS[name].learn(state)
    np.testing.assert_array_equal(BANDITS[name].scores(alone), BANDITS[name].scores(both)[:3])


def small_world(queries: int = 30, items: int = 6, alpha: float = 0.4) -> LoggedWorld:
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 3, queries * items).astype(float)
    data = Labelled(
        ids=[str(q) for q in range(queries)], starts=np.arange(queries + 1) * items,
        features=np.zeros((queries * items, 0)), names=[], labels=labels,
    )  # fmt: skip
    ranks = rng.permuted(np.tile(np.arange(items), (queries, 1)), axis=1).reshape(1, -1)
    return LoggedWorld(data=data, ranks=ranks, shares=np.ones(1), alpha=alpha)


@pytest.mark.parametrize(("name", "least"), [("hotfix", 0.99), ("pbm-pie", 0.99), ("hotfix-10", 0.99)])
def test_with_many_clicks_the_order_of_labels_is_found(name: str, least: float) -> None:
    world = small_world()
    found = [Ndcg(world.data).of_scores(s) for s in play(world, BANDITS[name], [10, 30_000], np.random.default_rng(0))]
    assert found[0] < 0.97
    assert found[1] > least


def test_play_counts_its_clicks_and_the_same_seed_plays_the_same() -> None:
    world = small_world()
    runs = [list(play(world, BANDITS["pbm-pie"], [50, 500], np.random.default_rng(4))) for _ in range(2)]
    np.testing.assert_array_equal(runs[0][1], runs[1][1])


@pytest.mark.parametrize("bandit", [Hotfix(), Hotfix(3), PbmPie()], ids=lambda each: getattr(each, "name", "pbm-pie"))
def test_the_compiled_way_is_the_literal_one_in_law(bandit: Bandit) -> None:
    """Six thousand queries that are all the same, nine pages of each: what is known in the end, two ways."""
    queries, items, pages = 6000, 5, 9
    attraction = np.tile([0.9, 0.1, 0.5, 0.2, 0.7], queries)
    ends = []
    for serve, seed in ((bandit.serve, 1), (partial(Bandit.serve, bandit), 2)):
        state = state_of(*[items] * queries)
        often, rng = np.full(queries, pages), np.random.default_rng(seed)
        came = serve(state, attraction, often, rng) + serve(state, attraction, often, rng)
        assert (state.impressions == 2 * pages).all()
        assert sorted(state.positions[:items]) == list(range(items))
        known = state.of(bandit.name) if isinstance(bandit, Hotfix) else bandit.scores(state)
        found = np.round(known, 6).reshape(queries, items)
        ranks = (found[:, :, None] < found[:, None, :]).sum(axis=2)
        ends.append((came / queries, np.concatenate([found, found**2, ranks, ranks == 0, found == 0], axis=1)))
    (one, mine), (other, theirs) = ends
    assert abs(one - other) < 0.12  # of about 13 clicks; five standard errors
    spread = np.sqrt(mine.var(axis=0) / queries + theirs.var(axis=0) / queries)
    assert (np.abs(mine.mean(axis=0) - theirs.mean(axis=0)) <= 4.5 * spread + 1e-12).all()


def test_what_comes_next_has_the_chances_it_should() -> None:
    """Three positions: 0.5, then 0.5 · 0.4, then 0.5 · 0.6 · 1; after the first, 0.4 and 0.6."""
    chances = np.array([0.5, 0.4, 1.0, 0.3])
    draws = (np.arange(100_000) + 0.5) / 100_000
    found = np.bincount([next_of(chances, -1, 4, draw) for draw in draws], minlength=5) / len(draws)
    np.testing.assert_allclose(found, [0.5, 0.2, 0.3, 0, 0], atol=2e-5)
    found = np.bincount([next_of(chances, 2, 4, draw) for draw in draws], minlength=5) / len(draws)
    np.testing.assert_allclose(found, [0, 0, 0, 0.3, 0.7], atol=2e-5)
