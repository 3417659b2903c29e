"""Worlds are what their options say, and bad options end in one line."""

from __future__ import annotations

import numpy as np
import pytest

from counterrank.errors import InputError
from counterrank.simulate import make_world
from counterrank.simulate.world import USERS


@pytest.mark.parametrize("users", USERS)
def test_same_seed_same_world(users: str) -> None:
    one, two, other = (make_world(queries=7, items=5, k=3, users=users, seed=s) for s in (4, 4, 5))
    np.testing.assert_array_equal(one.attraction, two.attraction)
    np.testing.assert_array_equal(one.scores, two.scores)
    assert (one.attraction != other.attraction).all()
    assert type(one.users) is USERS[users]


def test_shape_and_names() -> None:
    world = make_world(queries=12, items=5, k=3)
    assert len(world.pairs) == 60
    assert world.pairs.query_ids.texts[0].as_py() == "q01"
    assert world.pairs.item_ids.texts[4].as_py() == "i5"
    assert world.frequencies.sum() == pytest.approx(1)
    assert world.frequencies[0] == pytest.approx(2 * world.frequencies[1])
    assert make_world(queries=4, zipf=0).frequencies.tolist() == [0.25] * 4


def test_attraction_has_the_mean_of_its_beta() -> None:
    attraction = make_world(queries=500, items=20, k=2, beta=(2, 6)).attraction
    sigma = np.sqrt(2 * 6 / (8**2 * 9) / len(attraction))
    assert abs(attraction.mean() - 0.25) < 5 * sigma


def test_better_ranks_by_attraction() -> None:
    world = make_world(queries=2, items=4, k=4)
    order = np.argsort(-world.attraction[:4])
    assert world.better().rank("q1") == [f"i{i + 1}" for i in order]
    assert world.worse().rank("q1") == [f"i{i + 1}" for i in order[::-1]]


def test_logging_scores_are_divided_by_the_temperature() -> None:
    from counterrank.policy.plackett_luce import PlackettLuce

    world = make_world(queries=2, items=4, k=3, temperature=2.5)
    again = PlackettLuce(world.logging_scores(), temperature=1)
    np.testing.assert_allclose(
        again.bind(world.pairs).marginals(), world.logging_policy().bind(world.pairs).marginals(), atol=1e-12
    )
    with pytest.raises(InputError, match="scores cannot say"):
        make_world(uniform_share=0.2).logging_scores()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"users": "dbm"}, "did you mean"),
        ({"k": 21}, "only 20 items"),
        ({"queries": 0}, "queries is 0"),
        ({"temperature": 0}, "temperature is 0"),
        ({"zipf": -1}, "zipf is -1"),
        ({"noise": float("nan")}, "noise is nan"),
        ({"beta": (0, 1)}, "beta is 0,1"),
        ({"uniform_share": 1.1}, "uniform share is"),
        ({"users": "dcm", "continuation": [2] * 10}, "continuation has 2"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(InputError, match=message) as caught:
        make_world(**options)
    assert "\n" not in str(caught.value)
