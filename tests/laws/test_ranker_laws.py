"""Every online ranker keeps these laws."""

from __future__ import annotations

import numpy as np
import pytest

from counterrank.online import RANKERS, Memory, Options, Ranker
from counterrank.online.memory import VALIDATION

CURVE = 1 / np.log2(np.arange(2, 6))
each = pytest.mark.parametrize("name", RANKERS)


def served(name: str, behaviour: str | None = None) -> tuple[Memory, Ranker]:
    """Forty queries that were shown by chance, and a ranker that has learnt from them."""
    rng = np.random.default_rng(0)
    memory = Memory(positions=4, names=["x", "y"])
    for q in range(40):
        memory.query(f"q{q}", VALIDATION if q % 5 == 0 else 0)
        for item in range(6):
            memory.add(f"q{q}", f"i{item}", [item / 6 + rng.normal() / 5, rng.normal()])
        for _ in range(25):
            page = rng.permutation(5)[:4]  # the last is never shown
            clicks = (rng.random(4) < CURVE * (0.1 + page / 6)).astype(int)
            memory.record(f"q{q}", [f"i{i}" for i in page], clicks.tolist())
    can = RANKERS[name].behaviours
    ranker = RANKERS[name](Options(examination=CURVE, behaviour=behaviour or can[0]))
    ranker.learn(memory)
    return memory, ranker


@each
def test_it_ranks_every_item_once_and_the_same_from_the_same_chance(name: str) -> None:
    memory, ranker = served(name)
    before = memory.to_arrow()
    one, two = (ranker.rank(memory, "q3", np.random.default_rng(1)) for _ in range(2))
    assert one == two
    assert sorted(one) == [f"i{i}" for i in range(6)]
    assert memory.to_arrow().equals(before)  # to rank changes nothing
    assert np.isfinite(ranker.scores(memory, "q3", np.random.default_rng(2))).all()


@each
def test_without_exploration_it_is_sure(name: str) -> None:
    if name == "random":
        pytest.skip("it is chance alone")
    memory, ranker = served(name)
    ranker.params[0] = 0.0
    scores = [ranker.scores(memory, "q3", np.random.default_rng(seed)) for seed in range(3)]
    assert (scores[0] == scores[1]).all()
    assert (scores[0] == scores[2]).all()


@each
def test_an_empty_memory_is_no_error(name: str) -> None:
    memory = Memory(positions=4, names=["x", "y"])
    memory.add("q", "a", [0.0, 1.0])
    memory.add("q", "b", [np.nan, 1.0])
    for behaviour in RANKERS[name].behaviours:
        ranker = RANKERS[name](Options(examination=CURVE, behaviour=behaviour))
        ranker.learn(memory)
        assert sorted(ranker.rank(memory, "q", np.random.default_rng(0))) == ["a", "b"]


@each
def test_its_own_exploration_is_sane(name: str) -> None:
    member = RANKERS[name]
    assert member.says
    assert member.exploration in member.grid or not member.grid
    assert set(member.behaviours) <= {"none", "concat"}


@pytest.mark.parametrize("name", ["ebrank", "ucbrank", "cftopk", "prior"])
def test_what_learns_finds_the_better_items(name: str) -> None:
    memory, ranker = served(name)
    ranker.params[0] = 0.0
    wins = 0
    for q in range(40):
        order = ranker.rank(memory, f"q{q}", np.random.default_rng(0))
        wins += order.index("i4") < order.index("i0")
    assert wins >= 32
