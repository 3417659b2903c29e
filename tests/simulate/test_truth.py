"""True values against enumeration, and against the mean of what is logged."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from counterrank.errors import InputError
from counterrank.policy.base import Policy
from counterrank.policy.table import Table
from counterrank.policy.uniform import Uniform
from counterrank.simulate import World, make_world, simulate, truth
from counterrank.simulate.world import USERS

WEIGHTS = np.array([1.0, 0.6, 0.3])


def enumerated(world: World, policy: Policy, weights: np.ndarray) -> float:
    bound, total = policy.bind(world.pairs), 0.0
    for q, frequency in enumerate(world.frequencies):
        rows = np.array(list(permutations(range(q * 4, q * 4 + 4), 3)))
        queries = np.full(len(rows), q)
        total += frequency * bound.probability(queries, rows) @ world.users.value(queries, rows, weights)
    return float(total)


def table(world: World) -> Table:
    rng = np.random.default_rng(0)
    lists = [[f"i{i + 1}" for i in rng.permutation(4)[:3]] for _ in range(6)]
    return Table(["q1", "q1", "q1", "q2", "q3", "q3"], lists, [0.2, 0.3, 0.5, 1, 0.9, 0.1])


@pytest.mark.parametrize("users", USERS)
@pytest.mark.parametrize("kind", ["table", "better", "worse", "logging", "uniform"])
@pytest.mark.parametrize("top", [None, 2])
def test_truth_equals_enumeration(users: str, kind: str, top: int | None) -> None:
    world = make_world(queries=3, items=4, k=3, users=users, seed=8, uniform_share=0.1)
    policy = {
        "table": table(world),
        "better": world.better(),
        "worse": world.worse(),
        "logging": world.logging_policy(),
        "uniform": Uniform(),
    }[kind]
    weights = WEIGHTS if top is None else WEIGHTS * [1, 1, 0]
    found = truth(world, policy, WEIGHTS, top, samples=4000)
    assert found.exact == (users == "pbm" or kind in ("table", "better", "worse"))
    if found.exact:
        assert found.stderr == 0
        assert float(found) == pytest.approx(enumerated(world, policy, weights), abs=1e-12)
    else:
        assert 0 < found.stderr < 0.01
        assert abs(found.value - enumerated(world, policy, weights)) < 5 * found.stderr


@pytest.mark.parametrize("users", USERS)
def test_truth_of_the_logging_policy_is_the_mean_of_the_log(users: str) -> None:
    world = make_world(queries=20, items=8, k=4, users=users, seed=1)
    log = simulate(world, 40_000, np.random.default_rng(5))
    clicks = log["clicks"].combine_chunks().flatten().to_numpy().reshape(-1, 4).sum(axis=1)
    found = truth(world, world.logging_policy())
    assert abs(clicks.mean() - found.value) < 5 * np.hypot(clicks.std() / 200, found.stderr)


@pytest.mark.parametrize("users", USERS)
def test_better_beats_logging_beats_worse(users: str) -> None:
    world = make_world(queries=30, items=10, k=3, users=users)
    values = [truth(world, p).value for p in (world.worse(), world.logging_policy(), world.better())]
    assert values == sorted(values)


def test_only_the_queries_that_the_policy_has_count() -> None:
    world = make_world(queries=3, items=4, k=3, users="cm")
    one = Table(["q2"], [["i1", "i2", "i3"]])
    assert truth(world, one).value == pytest.approx(
        world.users.value(np.array([1]), np.array([[4, 5, 6]]), np.ones(3))[0]
    )
    with pytest.raises(InputError, match="none of the world's queries"):
        truth(world, Table(["x"], [["i1"]]))


def test_bad_options() -> None:
    world = make_world(queries=3, items=4, k=3, users="cm")
    with pytest.raises(InputError, match="weights has 1"):
        truth(world, world.better(), [1.0])
    with pytest.raises(InputError, match="top is 0"):
        truth(world, world.better(), top=0)
    with pytest.raises(InputError, match="samples is 1"):
        truth(world, world.logging_policy(), samples=1)
    with pytest.raises(InputError, match="does not fit the world"):
        truth(world, Table(["q1"], [["elsewhere"]]))
