"""Click probabilities against the enumeration of click vectors; samples against click probabilities."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from counterrank.click import CLICK_MODELS, Cascade, ClickModel, DependentClick, PositionBased
from counterrank.errors import InputError

ATTRACTION = np.array([0.6, 0.3, 0.05, 0.9, 0.0, 1.0])
CURVE = np.array([0.9, 0.5, 0.2])
RANKINGS = np.array([[0, 1, 2], [3, 0, 1], [5, 4, -1], [4, 3, 0], [2, -1, -1], [-1, -1, -1]])
QUERIES = np.zeros(len(RANKINGS), dtype=np.int64)

MODELS: dict[str, ClickModel] = {
    "cm": Cascade(ATTRACTION),
    "dcm": DependentClick(ATTRACTION, CURVE),
    "pbm": PositionBased(ATTRACTION, CURVE),
}


def chance(name: str, ranking: np.ndarray, clicks: tuple[int, ...]) -> float:
    """The probability of one whole click vector, told as a story, position by position."""
    total, reading = 1.0, 1.0  # reading: chance that the user still reads, given the clicks so far
    for k, (row, click) in enumerate(zip(ranking, clicks, strict=True)):
        attraction = ATTRACTION[row] if row >= 0 else 0.0
        seen = CURVE[k] if name == "pbm" else reading
        p = seen * attraction
        if click:
            total *= p
            reading = {"cm": 0.0, "dcm": CURVE[k], "pbm": 1.0}[name]
        else:
            total *= 1 - p
            if name != "pbm" and p < 1:
                reading = reading * (1 - attraction) / (1 - p)
    return total


def test_registry_has_all_models() -> None:
    assert {name: type(model) for name, model in MODELS.items()} == CLICK_MODELS
    assert all(model.assumption.endswith(".") for model in MODELS.values())


@pytest.mark.parametrize("name", MODELS)
def test_probabilities_and_value_equal_enumeration(name: str) -> None:
    weights = np.array([1.0, 0.7, 0.4])
    got = MODELS[name].click_probabilities(QUERIES, RANKINGS)
    value = MODELS[name].value(QUERIES, RANKINGS, weights)
    for g, ranking in enumerate(RANKINGS):
        vectors = list(product((0, 1), repeat=3))
        p = np.array([chance(name, ranking, v) for v in vectors])
        assert p.sum() == pytest.approx(1, abs=1e-12)
        np.testing.assert_allclose(got[g], p @ np.array(vectors), atol=1e-12)
        assert value[g] == pytest.approx(p @ (np.array(vectors) @ weights), abs=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_sampled_click_vectors_have_their_chances(name: str) -> None:
    draws = 40_000
    rng = np.random.default_rng(7)
    for ranking in RANKINGS:
        clicks = MODELS[name].sample(np.zeros(draws, np.int64), np.tile(ranking, (draws, 1)), rng)
        assert clicks.dtype == np.int8
        code = clicks.astype(int) @ [4, 2, 1]
        for c, vector in enumerate(product((0, 1), repeat=3)):
            p = chance(name, ranking, vector)
            sigma = np.sqrt(max(p * (1 - p), 0) / draws)
            assert abs(np.mean(code == c) - p) <= 5 * sigma + 1e-12


def test_cascade_is_dependent_click_that_never_continues() -> None:
    dependent = DependentClick(ATTRACTION, np.zeros(3))
    np.testing.assert_allclose(
        dependent.click_probabilities(QUERIES, RANKINGS), MODELS["cm"].click_probabilities(QUERIES, RANKINGS)
    )


@pytest.mark.parametrize("name", MODELS)
def test_same_seed_same_clicks(name: str) -> None:
    draw = [MODELS[name].sample(QUERIES, RANKINGS, np.random.default_rng(3)) for _ in range(2)]
    np.testing.assert_array_equal(*draw)


def test_longer_curves_are_cut_and_shorter_ones_refused() -> None:
    long = PositionBased(ATTRACTION, [0.9, 0.5, 0.2, 0.1])
    np.testing.assert_allclose(
        long.click_probabilities(QUERIES, RANKINGS), MODELS["pbm"].click_probabilities(QUERIES, RANKINGS)
    )
    with pytest.raises(InputError, match="2 positions but rankings have 3"):
        PositionBased(ATTRACTION, [1, 0.5]).click_probabilities(QUERIES, RANKINGS)
    with pytest.raises(InputError, match="weights has 1 positions"):
        long.value(QUERIES, RANKINGS, [1.0])


def test_values_outside_zero_to_one_are_refused() -> None:
    with pytest.raises(InputError, match=r"attraction has 1\.5 at place 2"):
        Cascade([0.1, 1.5])
    with pytest.raises(InputError, match="continuation"):
        DependentClick([0.1], [float("nan")])
    with pytest.raises(InputError, match="vector"):
        Cascade([[0.1]])
