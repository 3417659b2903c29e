"""PI-OPT in worlds where the best policy is known."""

import numpy as np
import pyarrow as pa
import pytest
from learn_worlds import GAINS, World, apart, linear

import counterrank as cr
from counterrank.optimizing.pi_opt.examples import Examples
from counterrank.optimizing.pi_opt.gains import slot_gains
from counterrank.optimizing.pi_opt.pi_opt import pi_opt
from counterrank.regress import REGRESSIONS, folds_of


def regret(world: World, found: cr.Optimization, first: int) -> float:
    """How far below the best the rankings of the queries from `first` on are, on average."""
    rows = [row for row in found.to_dict()["rankings"] if int(row["query"][1:]) >= first]
    return float(np.mean([world.best(r["query"]) - world.worth(r["query"], r["items"]) for r in rows]))


@pytest.mark.parametrize("model", ["ridge", "lasso"])
def test_the_best_ranking_of_unseen_queries_is_learnt_as_the_log_grows(model: str) -> None:
    world = World(queries=120, logged=60)
    lost = []
    for impressions in (3, 100):
        found = cr.optimize(world.log(impressions), by="pi-opt", features=world.features(), model=model)
        lost.append(regret(world, found, 60))
    assert lost[1] < 0.02
    assert lost[1] < lost[0]
    assert found.gains == pytest.approx(GAINS, abs=0.1)
    assert found.r2 > 0.5
    assert found.held_out.value == pytest.approx(np.mean([world.best(f"q{q}") for q in range(60)]), abs=0.25)
    assert abs(found.held_out.value - found.held_out.logged - found.held_out.difference) < 1e-12


@pytest.mark.parametrize("model", ["tree", pytest.param("lightgbm", marks=pytest.mark.slow)])
def test_trees_learn_most_of_it(model: str) -> None:
    world = World(queries=120, logged=60)
    found = cr.optimize(world.log(60), by="pi-opt", features=world.features(), model=model)
    random = float(np.mean([world.best(f"q{q}") - 2 for q in range(60, 120)]))  # a random page is worth 2 on average
    assert regret(world, found, 60) < 0.3 * random


def test_items_that_suit_positions_differently_need_a_model_for_each() -> None:
    world = World(queries=100, logged=60, phi=apart, noise=0.5)
    log, features = world.log(100), world.features()
    each = cr.optimize(log, by="pi-opt", features=features, slots="each")
    shared = cr.optimize(log, by="pi-opt", features=features, slots="shared")
    assert regret(world, each, 60) < 0.1  # greedy choice is not always the best assignment
    assert regret(world, shared, 60) > 0.3


def test_given_uniform_logging_agrees_with_shares_in_the_end() -> None:
    world = World(queries=60, logged=40)
    log, features = world.log(200), world.features()
    for options in ({}, {"logging": "uniform"}):
        assert regret(world, cr.optimize(log, by="pi-opt", features=features, **options), 40) < 0.05


def test_held_out_values_are_honest() -> None:
    """Where features say nothing, rankings learnt from them are worth what random ones are, 2, within three errors."""
    inside = []
    for seed in range(8):
        world = World(queries=40, logged=40, seed=10 * seed)
        features = world.features()
        rng = np.random.default_rng(seed)
        features["f0"], features["f1"] = rng.normal(size=240).tolist(), rng.normal(size=240).tolist()
        judged = cr.optimize(world.log(30), by="pi-opt", features=features).held_out
        inside.append(
            abs(judged.value - 2) < 2 * judged.stderr and abs(judged.difference) < 2 * judged.difference_stderr
        )
    assert sum(inside) >= 6


def test_predicted_values_are_the_models_predictions_summed() -> None:
    """By hand up to the regression: one position, so that φ̂ of an item is its mean reward."""
    log = {"query": ["q"] * 4 + ["r"] * 4, "items": [["a"], ["b"], ["a"], ["b"]] * 2}
    log["reward"] = [3.0, 1.0, 5.0, 1.0, 1.0, 1.0, 1.0, 3.0]
    features = {"query": ["q", "q", "r", "r", "s", "s", "s"], "item": ["a", "b", "a", "b", "a", "b", "c"]}
    features["x"] = [1.0, 0.0, 0.5, 1.0, 0.0, 2.0, 1.0]
    found = cr.optimize(log, by="pi-opt", features=features)
    # centred: q a +1.5, b −1.5; r a −0.5, b +0.5. Four examples of weight 2.
    training = REGRESSIONS["ridge"](1)
    x, y = np.array([[1.0], [0.0], [0.5], [1.0]]), np.array([1.5, -1.5, -0.5, 0.5])
    training.add(x, y, np.full(4, 2.0), np.repeat(folds_of(pa.array(["q", "r"])), 2))
    fit = training.fit()
    zero, half, one, two = fit.predict(np.array([[0.0], [0.5], [1.0], [2.0]]))
    rows = {row["query"]: row for row in found.to_dict()["rankings"]}
    assert rows["q"]["items"] == ["a"]
    assert rows["q"]["value"] == pytest.approx(2.5 + one - (zero + one) / 2)
    assert rows["r"]["value"] == pytest.approx(1.5 + one - (half + one) / 2)
    assert rows["s"]["items"] == ["b"]
    assert rows["s"]["value"] == pytest.approx(
        2.0 + two - (zero + two + one) / 3
    )  # a random page is worth 2 on average
    assert "unseen" in rows["s"]["reason"]


def test_gains_are_found_and_drawn_together_by_noise() -> None:
    rng = np.random.default_rng(0)
    queries, items = 200, 8
    score = rng.normal(size=queries * items)
    starts = np.arange(queries + 1) * items
    for noise, far in ((0.1, False), (30.0, True)):
        phi = linear(np.stack([score, 0 * score], axis=1)) + noise * rng.normal(size=(len(score), 3))
        phi += rng.normal(size=(queries, 3)).repeat(items, axis=0)  # levels do not matter
        examples = Examples(starts, score[:, None], phi, np.ones_like(phi), np.arange(queries) % 5)
        gains = slot_gains(examples, score)
        raw = [np.polyfit(score, column, 1)[0] for column in phi.T]
        if far:
            assert np.ptp(gains) < 0.5 * np.ptp(raw)
        else:
            assert gains == pytest.approx(GAINS, abs=0.02)


def test_scores_that_say_nothing_leave_positions_alike() -> None:
    phi = np.array([[1.0, 2.0], [3.0, 1.0]])
    examples = Examples(np.array([0, 2]), np.zeros((2, 1)), phi, np.ones((2, 2)), np.zeros(1, dtype=int))
    assert slot_gains(examples, np.zeros(2)).tolist() == [1.0, 1.0]
    assert slot_gains(examples, np.array([3.0, 2.0])).tolist() == [1.0, 1.0]  # the wrong way round


def test_what_rounding_leaves_of_a_mean_is_no_score() -> None:
    """A tree of one leaf predicts one number, and its mean over a query is another in the last digit."""
    rng = np.random.default_rng(0)
    phi, weight = rng.normal(size=(60, 3)), rng.integers(1, 9, (60, 3)).astype(float)
    score = np.repeat([0.1, -0.7, 1 / 3], 20)
    examples = Examples(np.arange(0, 61, 20), np.zeros((60, 1)), phi, weight, np.arange(3))
    assert np.abs(examples.centred(np.repeat(score[:, None], 3, axis=1))).max() > 0
    assert slot_gains(examples, score).tolist() == [1.0] * 3


def test_one_row_per_item_has_the_least_squares_of_one_per_position() -> None:
    """With gains v, minimising Σ w(φ − v·g)² over (item, position) examples is what the rows of items minimise."""
    rng = np.random.default_rng(3)
    x, phi, weight = rng.normal(size=(40, 3)), rng.normal(size=(40, 4)), rng.integers(0, 3, (40, 4)).astype(float)
    weight[5] = 0
    examples = Examples(np.arange(0, 41, 8), x, phi, weight, np.arange(5))
    learnt = pi_opt(examples, "ridge")
    y, v = examples.centred(phi), learnt.gains
    penalty = float(learnt.chosen.split()[1])
    grid = np.logspace(-8, 3, 34)
    penalty = grid[np.argmin(np.abs(np.log(grid / penalty)))]
    mass = weight @ v**2
    mean = mass @ x / mass.sum()
    sd = np.sqrt(mass @ (x - mean) ** 2 / mass.sum())
    z = np.column_stack([np.ones(40), (x - mean) / sd])
    rows = (z[:, None, :] * v[None, :, None]).reshape(-1, 4)
    w = weight.ravel()
    gram = (rows * w[:, None]).T @ rows / mass.sum() + penalty * np.diag([0, 1, 1, 1])
    beta = np.linalg.solve(gram, (rows * w[:, None]).T @ y.ravel() / mass.sum())
    assert np.allclose(learnt.scores(x), (z @ beta)[:, None] * v, atol=1e-9)
