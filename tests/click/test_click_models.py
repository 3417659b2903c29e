"""Click probabilities against the enumeration of click vectors; samples against click probabilities."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from counterrank.click import (
    CLICK_MODELS,
    Cascade,
    ClickChain,
    ClickModel,
    DependentClick,
    DynamicBayesian,
    GlobalRate,
    ItemRate,
    PositionBased,
    RankRate,
    UserBrowsing,
)
from counterrank.errors import InputError

ATTRACTION = np.array([0.6, 0.3, 0.05, 0.9, 0.0, 1.0])
SATISFACTION = np.array([0.2, 0.9, 0.5, 0.0, 0.4, 0.7])
CURVE = np.array([0.9, 0.5, 0.2])
BROWSING = np.array([[0.8, 0.0, 0.0], [0.6, 1.0, 0.0], [0.3, 0.5, 0.7]])
TAU = (0.8, 0.7, 0.3)
RANKINGS = np.array([[0, 1, 2], [3, 0, 1], [5, 4, -1], [4, 3, 0], [2, -1, -1], [-1, -1, -1]])
QUERIES = np.zeros(len(RANKINGS), dtype=np.int64)

MODELS: dict[str, ClickModel] = {
    "ctr": GlobalRate(0.3),
    "rank-ctr": RankRate(CURVE),
    "item-ctr": ItemRate(ATTRACTION),
    "cm": Cascade(ATTRACTION),
    "dcm": DependentClick(ATTRACTION, CURVE),
    "pbm": PositionBased(ATTRACTION, CURVE),
    "ubm": UserBrowsing(ATTRACTION, BROWSING),
    "dbn": DynamicBayesian(ATTRACTION, SATISFACTION, 0.85),
    "ccm": ClickChain(ATTRACTION, TAU),
}


def chance(name: str, ranking: np.ndarray, clicks: tuple[int, ...], k: int = 0, reading: bool = True) -> float:
    """The probability of one whole click vector, told as a story: what is not seen is drawn at each position."""
    if k == len(ranking):
        return 1.0
    p, click = ranking[k], clicks[k]
    attraction = float(ATTRACTION[p]) if p >= 0 else 0.0
    if name in ("ctr", "rank-ctr", "item-ctr", "pbm", "ubm"):
        last = max((j + 1 for j in range(k) if clicks[j]), default=0)
        hit = {
            "ctr": 0.3, "rank-ctr": CURVE[k], "item-ctr": attraction, "pbm": CURVE[k] * attraction,
            "ubm": BROWSING[k, last] * attraction,
        }[name]  # fmt: skip
        hit = hit if p >= 0 else 0.0
        return float(hit if click else 1 - hit) * chance(name, ranking, clicks, k + 1)

    def onwards(go_on: float) -> float:
        rest = [chance(name, ranking, clicks, k + 1, still) for still in (True, False)]
        return go_on * rest[0] + (1 - go_on) * rest[1]

    if not reading:
        return 0.0 if click else onwards(0.0)
    if not click:
        return (1 - attraction) * onwards({"cm": 1.0, "dcm": 1.0, "dbn": 0.85, "ccm": TAU[0]}[name])
    if attraction == 0:
        return 0.0
    if name == "dbn":
        s = float(SATISFACTION[p])
        return attraction * (s * onwards(0.0) + (1 - s) * onwards(0.85))
    if name == "ccm":  # the user draws again how good the item is
        return attraction * ((1 - attraction) * onwards(TAU[1]) + attraction * onwards(TAU[2]))
    return attraction * onwards({"cm": 0.0, "dcm": CURVE[k]}[name])


def test_registry_has_all_models() -> None:
    assert {name: type(model) for name, model in MODELS.items()} == CLICK_MODELS


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
def test_conditional_chances_multiply_to_the_chance_of_the_whole(name: str) -> None:
    for clicks in product((0, 1), repeat=3):
        rows = np.tile(np.array(clicks, dtype=np.int8), (len(RANKINGS), 1))
        got = np.exp(MODELS[name].log_likelihood(QUERIES, RANKINGS, rows))
        wanted = [chance(name, ranking, clicks) for ranking in RANKINGS]
        np.testing.assert_allclose(got, wanted, atol=1e-12)


@pytest.mark.parametrize(("name", "curve"), [("dcm", "continuation"), ("pbm", "examination"), ("rank-ctr", "rates")])
def test_queries_may_have_position_parameters_of_their_own(name: str, curve: str) -> None:
    other = CURVE[::-1]
    make = {
        "dcm": lambda at: DependentClick(ATTRACTION, at),
        "pbm": lambda at: PositionBased(ATTRACTION, at),
        "rank-ctr": RankRate,
    }[name]
    both = make(np.stack([CURVE, other]))
    assert getattr(both, curve).shape == (2, 3)
    clicks = np.ones(RANKINGS.shape, dtype=np.int8)
    for q, alone in enumerate((make(CURVE), make(other))):
        np.testing.assert_allclose(
            both.click_probabilities(QUERIES + q, RANKINGS), alone.click_probabilities(QUERIES, RANKINGS)
        )
        np.testing.assert_allclose(
            both.conditional_probabilities(QUERIES + q, RANKINGS, clicks),
            alone.conditional_probabilities(QUERIES, RANKINGS, clicks),
        )


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
