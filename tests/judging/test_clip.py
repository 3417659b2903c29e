"""`--clip auto`: the rule against a slow calculation, what it says, and that it pays where tails are heavy."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest

import counterrank as cr
from counterrank.errors import InputError
from counterrank.judging.clip import Grids, grid_below, key
from counterrank.judging.evaluate import finished
from counterrank.lab.coverage.cells import WorldCells
from counterrank.lab.coverage.runs import WorldSetting
from counterrank.lab.coverage.worlds import worlds

WORLDS = {world.name: world for world in worlds()}


def by_hand(weights: np.ndarray, clicks: np.ndarray, largest: float) -> tuple[float | None, float]:
    """Row by row: the value of every clip is the mean of Σ min(w, c)·click, its error that mean's and its move."""
    grid = [np.inf]
    step = max(largest ** (1 / 7), 1.5)
    while largest > 1.5 and grid[-1] / step >= 1 - 1e-9:
        grid.append((largest if len(grid) == 1 else grid[-1]) / step)
    grid = [c for c in grid if c >= 1 - 1e-9]
    terms = np.stack([(np.minimum(weights, c) * clicks).sum(axis=1) for c in grid])
    value = terms.mean(axis=1)
    error = (value - value[0]) ** 2 + terms.var(axis=1, ddof=1) / terms.shape[1]
    best = next(i for i in range(len(grid)) if error[i] <= 1.05 * error.min())
    return (None if best == 0 else grid[best]), float(value[best])


@pytest.mark.parametrize(("name", "seed"), list(product(["tail", "far", "near"], range(4))))
def test_the_rule_is_that_of_a_calculation_row_by_row(name: str, seed: int) -> None:
    world = WORLDS[name]
    numbers = WorldCells.drawn(world, 400, np.random.default_rng(seed)).numbers
    query, ranking, outcome = (np.repeat(each, numbers[numbers > 0]) for each in np.nonzero(numbers))
    clicks = world.clicks[outcome].astype(float)
    found = cr.evaluate(
        world.log(numbers), world.policy(world.target), logging=world.policy(world.logging), estimators="list,ip,pi",
        clip="auto",
    )  # fmt: skip
    whole = world.target[query, ranking] / world.logging[query, ranking]
    at = world.rankings[:, :, None] == np.arange(4)  # (R, K, items)
    marginal = [np.einsum("qr,rka->qka", chance, at) for chance in (world.target, world.logging)]
    single = (marginal[0] / marginal[1])[query[:, None], np.arange(2), world.rankings[ranking]]
    for estimator, weights in (("list", np.repeat(whole[:, None], 2, axis=1)), ("ip", single)):
        clip, value = by_hand(weights, clicks, float(weights.max()))
        assert found[estimator].clip == (None if clip is None else pytest.approx(clip))
        assert found[estimator].value == pytest.approx(value)
    assert found["pi"].clip is None


def test_the_grid_falls_from_the_largest_weight_to_1() -> None:
    assert grid_below(128.0) == pytest.approx([np.inf, 64, 32, 16, 8, 4, 2, 1])
    assert grid_below(1.2) == [np.inf]
    assert grid_below(np.inf) == [np.inf]


def test_what_is_said() -> None:
    """One impression brings all the value: a clip c has the error ((100 − c)² + c²)/n², least at half its weight."""
    rows = {
        "query": ["q"] * 100,
        "items": [["a", "b"]] * 99 + [["b", "a"]],
        "clicks": [[0, 0]] * 99 + [[1, 0]],
    }
    given = cr.policy.Table(["q", "q"], [["a", "b"], ["b", "a"]], [0.99, 0.01])
    result = cr.evaluate(rows, {"q": ["b", "a"]}, logging=given, estimators="list,pi", clip="auto")
    row = result["list"]
    half = 100 ** (6 / 7)  # of the grid, the nearest to a half
    assert row.clip == pytest.approx(half)
    assert any("lowers the estimate by 0.482" in text for text in row.warnings)
    assert not any("clip" in text for text in result["pi"].warnings)
    assert "clips chosen by the data: list 51.8" in result.notes
    assert json.loads(result.to_json())["estimates"][0]["clip"] == pytest.approx(half)
    assert cr.evaluate(rows, {"q": ["b", "a"]}, logging=given, estimators="list", clip=5)["list"].clip == 5.0
    gap = cr.compare(
        rows, {"q": ["b", "a"]}, {"q": ["a", "b"]}, logging=given, estimator="list", clip="auto", weights="clicks"
    )
    assert gap.clip == pytest.approx(half)
    assert gap.difference == pytest.approx(half / 100)
    assert json.loads(gap.to_json())["clip"] == pytest.approx(half)


def test_best_is_what_the_verdict_is_about() -> None:
    """The same number as among all others, without days; a clip that is asked for is used."""
    rows = {
        "query": ["q"] * 400,
        "items": [["a", "b"], ["b", "a"]] * 200,
        "clicks": [[1, 0], [0, 1], [0, 0], [1, 0]] * 100,
    }
    every = cr.evaluate(rows, {"q": ["a", "b"]})
    best = cr.evaluate(rows, {"q": ["a", "b"]}, estimators="best")
    assert [row.estimator for row in best.rows] == [every.diagnosis.estimator]
    assert best.rows[0] == every[every.diagnosis.estimator]
    assert "stands best for this target" in best.notes[0]
    assert cr.evaluate(rows, {"q": ["a", "b"]}, estimators="best", clip=1.5).rows[0].clip in (1.5, None)


def test_words_that_are_no_clip() -> None:
    with pytest.raises(InputError, match="a positive number, or auto"):
        cr.evaluate({"query": ["q"], "items": [["a"]], "clicks": [[1]]}, "logging", clip="automatic")


def errors(world: str, impressions: int, logs: int, names: list[str]) -> dict[str, tuple[float, float, float]]:
    """Of each estimator: the root mean squared error without clip and with auto, and how often that is no clip."""
    setting = WorldSetting(WORLDS[world], "known", names)
    rng, truth = np.random.default_rng(5), WORLDS[world].truth
    found: dict[str, list[tuple[float, float, bool]]] = {name: [] for name in names}
    for _ in range(logs):
        cells = WorldCells.drawn(WORLDS[world], impressions, rng)
        evidence, _ = setting.estimates(cells)
        grids = Grids(names, evidence)
        done, _ = finished(grids.drafts(), evidence, cells)
        for name, choice in grids.chosen(done).items():
            plain, chosen = (done[key(name, i)].value or 0.0 for i in (0, choice.number))
            found[name].append((plain - truth, chosen - truth, choice.number == 0))
    out = {name: np.array(rows, dtype=float) for name, rows in found.items()}
    return {
        name: (*np.sqrt((rows[:, :2] ** 2).mean(axis=0)).tolist(), float(rows[:, 2].mean()))
        for name, rows in out.items()
    }


def test_it_pays_where_a_heavy_impression_comes_now_and_then() -> None:
    for name, (plain, auto, _) in errors("tail", 1000, 100, ["list", "ip"]).items():
        assert auto < 0.75 * plain, name


def test_it_keeps_away_where_weights_are_light() -> None:
    for name, (plain, auto, none) in errors("near", 3000, 60, ["list", "ip", "pbm"]).items():
        assert none > 0.9, name
        assert auto < 1.02 * plain, name


@pytest.mark.slow
def test_both_engines_choose_alike() -> None:
    """Also with more than twenty estimates in one pass."""
    world = WORLDS["tail"]
    log = world.log(WorldCells.drawn(world, 3000, np.random.default_rng(1)).numbers)
    one, other = (
        cr.evaluate(log, world.policy(world.target), clip="auto", estimators="ip,wip,pbm,item", engine=engine)
        for engine in ("duckdb", "ibis")
    )
    for a, b in zip(one.rows, other.rows, strict=True):
        assert (a.clip, a.value, a.stderr) == pytest.approx((b.clip, b.value, b.stderr)), a.estimator
