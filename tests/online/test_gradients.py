"""Rankers that learn from single pages, against plain versions."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from counterrank.online import RANKERS, Memory, Options
from counterrank.online.dbgd import directions, draft
from counterrank.online.gradient import WEIGHTS
from counterrank.online.pdgd import log_chance

CURVE = np.array([1.0, 0.6, 0.5])


def ready(name: str, seed: int = 0) -> tuple[Memory, object, np.ndarray]:
    rng = np.random.default_rng(seed)
    memory = Memory(positions=3, names=["x", "y"])
    memory.query("q", room=16)  # its rows are the first
    for item in range(6):
        memory.add("q", str(item), rng.normal(size=2))
    ranker = RANKERS[name](Options(examination=CURVE))
    ranker.learn(memory)
    ranker.params[WEIGHTS : WEIGHTS + 3] = rng.normal(size=3)
    x = memory.rows.features[:6]
    z = np.column_stack([(x - x.mean(0)) / x.std(0), np.zeros(6)])
    return memory, ranker, z


def test_pdgd_steps_by_its_formula() -> None:
    memory, ranker, z = ready("pdgd")
    page, clicks = np.array([4, 1, 3]), np.array([0, 1, 0], dtype=np.int8)
    weights = ranker.params[WEIGHTS : WEIGHTS + 3].copy()
    power = np.exp(z @ weights)

    def chance(order: list[int]) -> float:
        left, out = power.sum(), 1.0
        for d in order:
            out *= power[d] / left
            left -= power[d]
        return out

    here, step = chance([4, 1, 3]), np.zeros(3)
    for other, swapped in ((4, [1, 4, 3]), (3, [4, 3, 1])):
        fair = chance(swapped) / (here + chance(swapped))
        pair = power[1] * power[other] / (power[1] + power[other]) ** 2
        step += fair * pair * (z[1] - z[other])
    type(ranker).observe(memory.rows, 0, 6, CURVE, ranker.params, np.uint64(1), page, clicks)
    assert ranker.params[WEIGHTS : WEIGHTS + 3] == pytest.approx(weights + 0.1 * step, rel=1e-9)


def test_chances_of_pages_sum_to_one() -> None:
    power = np.array([0.2, 1.0, 0.5, 0.7])
    total = sum(math.exp(log_chance(power, power.sum(), np.array(order), 4, 0, 0)) for order in permutations(range(4)))
    assert total == pytest.approx(1.0)


def test_a_draft_gives_each_ranker_its_best_that_is_left() -> None:
    rng = np.random.default_rng(0)
    z, weights = rng.normal(size=(8, 3)), rng.normal(size=3)
    firsts = []
    for key in range(200):
        ways = directions(np.uint64(key), 2, 3)
        assert np.linalg.norm(ways, axis=1) == pytest.approx(1.0)
        page, team, plain = draft(z, weights, ways, 1.0, 5, np.uint64(key))
        assert len(set(page)) == 5
        assert sorted(team[:3]) == [0, 1, 2]
        scores = [z @ weights, *(z @ (weights + way) for way in ways)]
        assert plain == pytest.approx(scores[0])
        for place in range(5):
            left = [i for i in range(8) if i not in page[:place]]
            assert page[place] == max(left, key=lambda i: scores[team[place]][i])
        firsts.append(team[0])
    assert min(np.bincount(firsts)) > 40


def test_dbgd_moves_only_towards_who_won() -> None:
    memory, ranker, _ = ready("dbgd", 1)
    out, moved = np.empty(6), 0
    for number in range(40):
        key = np.uint64(number)
        before = ranker.params.copy()
        type(ranker).score(memory.rows, 0, 6, CURVE, ranker.params, key, out)
        page = np.argsort(-out, kind="stable")[:3]
        type(ranker).observe(memory.rows, 0, 6, CURVE, ranker.params, key, page, np.zeros(3, dtype=np.int8))
        assert (ranker.params == before).all()  # nobody clicked
        clicks = np.array([1, 0, 0], dtype=np.int8)
        type(ranker).observe(memory.rows, 0, 6, CURVE, ranker.params, key, page, clicks)
        step = ranker.params - before
        if np.any(step):
            moved += 1
            assert step[WEIGHTS : WEIGHTS + 3] == pytest.approx(0.01 * directions(key, 1, 3)[0])
    assert 5 < moved < 35
