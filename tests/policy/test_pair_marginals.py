"""Pair marginals against an enumeration of all rankings."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import counterrank as cr
from counterrank.policy import sets
from counterrank.policy.base import BoundPolicy


def enumerated(bound: BoundPolicy, m: int, length: int) -> np.ndarray:
    lists = np.array(list(permutations(range(m), length)))
    marks = np.zeros((len(lists), m, length))
    marks[np.arange(len(lists))[:, None], lists, np.arange(length)] = 1
    marks = marks.reshape(len(lists), -1)
    return (marks * bound.probability(np.zeros(len(lists), int), lists)[:, None]).T @ marks


@pytest.mark.parametrize(("m", "length"), [(1, 1), (2, 1), (2, 2), (4, 2), (4, 4), (5, 3), (6, 5)])
def test_every_kind_agrees_with_its_own_rankings(m: int, length: int) -> None:
    rng = np.random.default_rng(m * 10 + length)
    scores = {"q": {f"i{a}": float(rng.normal() * 3) for a in range(m)}}
    ties = cr.policy.Scores.from_dict({"q": {f"i{a}": float(rng.integers(0, 2)) for a in range(m)}})
    luce = cr.policy.PlackettLuce(scores, 1.0)
    order = [list(rng.permutation(list(scores["q"]))) for _ in range(2)]
    table = cr.policy.Table(["q", "q"], order, [0.25, 0.75])
    choice = cr.policy.Choice({"luce": luce, "ties": ties}, {"q": "luce"})
    uniform = cr.policy.Uniform({"q": list(scores["q"])})
    for policy in (luce, ties, table, uniform, cr.policy.Mixture(ties, 0.3, luce), choice):
        bound = policy._alone("q", length)
        found = bound.pair_marginals(0)
        assert found.matrix == pytest.approx(enumerated(bound, m, length), abs=1e-14)
        assert np.diag(found.matrix) == pytest.approx(bound.marginals().ravel(), abs=1e-12)
        assert not found.drawn


def test_extreme_scores_neither_overflow_nor_cancel() -> None:
    found = sets.pair_marginals(np.array([0.0, -2000.0, -4000.0]), 3).reshape(3, 3, 3, 3)
    assert found[0, 0, 1, 1] == pytest.approx(1)
    assert np.isfinite(found).all()


def test_too_many_sets_are_drawn_and_say_so() -> None:
    scores = {"q": {f"i{a}": a / 20 for a in range(60)}}
    bound = cr.policy.PlackettLuce(scores, 1.0)._alone("q", 6)
    found = bound.pair_marginals(0)
    ((share, rankings),) = found.drawn
    assert share == 1
    assert np.abs(np.diag(found.matrix) - bound.marginals().ravel()).max() < 5 * 0.5 / len(rankings) ** 0.5
