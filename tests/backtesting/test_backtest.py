"""Backtest: every number by an independent path (`evaluate` on the filtered log), its floor, its advice, its errors."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import counterrank as cr
from counterrank.backtesting.backtest import Problem, backtest
from counterrank.backtesting.days import Days
from counterrank.backtesting.values import Weighing, day_values
from counterrank.engine import open_engine
from counterrank.policy import Table
from counterrank.setting.options import position_weights
from counterrank.simulate import make_world, simulate

NAMES = ("list", "wlist", "ip", "wip", "pbm", "item", "rctr")
Rows = list[dict[str, object]]


def ragged_rows(seed: int, queries: int = 3, days: int = 4, per_day: int = 6) -> Rows:
    """Lists of 1 to 4 of 5 items, some days with longer lists than any other day, counted rows, one-day queries."""
    rng = np.random.default_rng(seed)
    rows: Rows = []
    for q in range(queries):
        for day in range(days):
            longest = 4 if rng.random() < 0.3 else 2 + q % 2
            for _ in range(rng.integers(0, per_day + 1)):
                items = rng.permutation(5)[: rng.integers(1, longest + 1)]
                clicks = (rng.random(len(items)) < 0.4).astype(int)
                rows.append(
                    {
                        "query": f"q{q}",
                        "items": [f"i{i}" for i in items],
                        "clicks": clicks.tolist(),
                        "day": day,
                        "impressions": int(rng.integers(1, 4)),
                    }
                )
    rows.append({"query": "once", "items": ["i0"], "clicks": [1], "day": 0, "impressions": 2})
    return rows


def expected(
    rows: Rows, query: str, day: int, problem: Problem, clip: float, curve: list[float]
) -> dict[str, float | None]:
    """The same estimates by `evaluate`, on the other days, with the day's lists as a table policy."""
    mine = [r for r in rows if r["query"] == query and r["day"] == day]
    other = [r for r in rows if r["query"] == query and r["day"] != day]
    size = sum(int(r["impressions"]) for r in mine)
    target = Table([query] * len(mine), [r["items"] for r in mine], [r["impressions"] / size for r in mine])
    limit = None if math.isinf(clip) else clip
    result = cr.evaluate(
        pa.Table.from_pylist(other), target, estimators=NAMES, top=problem.top, weights=problem.weights, clip=limit,
        examination=curve, logging="log",
    )  # fmt: skip
    return {row.estimator: row.value for row in result.rows}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_value_is_that_of_evaluate_on_the_other_days(seed: int) -> None:
    rows = ragged_rows(seed)
    days = Days.of(open_engine("duckdb").count(cr.read_log(pa.Table.from_pylist(rows)), Days.plan()).counts)
    curve = [1.0, 0.6, 0.0, 0.3] if seed == 2 else [1, 1 / 2, 1 / 3, 1 / 4]
    problems = [Problem.named(name) for name in ("K=1", "K=2", "K=3", "all", "dcg", "dcg@2")]
    problems.append(Problem("own", None, [0.5, 0.0, 2.0, 1.0]))
    weighings = []
    for problem in problems:
        top = problem.top or 4
        theta = np.zeros(4)
        theta[:top] = position_weights(problem.weights)(top)
        weighings.append(Weighing(problem.name, top, theta, np.array(curve)))
    compared, wanted = 0, {}
    for i, name, clip, values in day_values(days, weighings, NAMES, [0.5, 1.5, math.inf]):
        for cell, value in enumerate(values):
            query, day = days.names[days.query[cell]].as_py(), int(days.day[cell])
            if query == "once":
                assert math.isnan(value)
                continue
            if cell % 6 != i % 6:  # a sixth of the cells each: evaluate is slow
                continue
            if (i, clip, cell) not in wanted:  # all estimators at once
                wanted[i, clip, cell] = expected(rows, query, day, problems[i], clip, curve)
            want = wanted[i, clip, cell][name]
            assert (math.isnan(value) and want is None) or value == pytest.approx(want, abs=1e-9), (name, clip, query)
            compared += 1
    assert compared > 150


def test_rmse_is_the_mean_over_query_days() -> None:
    rows = ragged_rows(5)
    result = backtest(pa.Table.from_pylist(rows), problems=["K=2"], clips=[2, None])
    errors = []
    for query, day in {(r["query"], r["day"]) for r in rows if r["query"] != "once"}:
        mine = [r for r in rows if (r["query"], r["day"]) == (query, day)]
        size = sum(int(r["impressions"]) for r in mine)
        truth = sum(r["impressions"] * sum(r["clicks"][:2]) for r in mine) / size
        values = expected(rows, query, day, Problem.named("K=2"), 2.0, [1, 1 / 2, 1 / 3, 1 / 4])
        errors.append([(values["rctr"] if values[n] is None else values[n]) - truth for n in NAMES])
    want = np.sqrt(np.mean(np.square(errors), axis=0))
    assert [result.rmse("K=2", n, 2) for n in NAMES] == pytest.approx(want, abs=1e-9)
    assert (result.skipped, result.query_days) == (1, len(errors))


def test_stationary_logs_are_at_the_floor_and_nothing_reliably_beats_the_mean() -> None:
    world = make_world(queries=20, items=6, k=4, users="pbm", seed=3, zipf=0.3)
    result = backtest(simulate(world, 12_000, np.random.default_rng(1), days=8))
    for problem in result.problems:
        floor = result.noise_floor[problem]
        assert floor * 0.97 < result.rmse(problem, "rctr") < floor * 1.15
    assert all(r.beats_rctr != "yes" for r in result.recommendations)


def test_where_each_day_ranks_differently_item_position_beats_the_mean() -> None:
    world = make_world(queries=20, items=6, k=4, users="pbm", seed=3, zipf=0.3)
    result = backtest(simulate(world, 12_000, np.random.default_rng(1), days=8, drift=3.0))
    difference = result.difference("K=2", "ip", "rctr")
    assert difference.upper is not None
    assert difference.upper < -0.2
    assert result.recommendations[0].beats_rctr == "yes"
    assert result.best("K=2")[0] != "rctr"
    assert "use " in result.advice("K=2")


def test_a_query_alone_is_resampled_by_day() -> None:
    world = make_world(queries=3, items=5, k=3, seed=1)
    rows = simulate(world, 600, np.random.default_rng(2), days=6)
    result = backtest(rows, queries=1, problems=["dcg"])
    assert (result.queries, result.resampled, result.query_days) == (1, "days", 6)
    assert result.row("dcg", "ip", 5).lower is not None
    named = backtest(rows, queries=["q1"], problems=["dcg"])
    assert named.rmse("dcg", "ip") == result.rmse("dcg", "ip")
    rest = backtest(rows, queries=slice(1, None), problems=["dcg"])
    both = backtest(rows, problems=["dcg"])
    joined = (6 * result.rmse("dcg", "ip") ** 2 + rest.query_days * rest.rmse("dcg", "ip") ** 2) / both.query_days
    assert both.rmse("dcg", "ip") ** 2 == pytest.approx(joined)


def test_fitted_examination_top_and_weights() -> None:
    rows = simulate(make_world(queries=5, items=5, k=3, seed=1), 3000, np.random.default_rng(2), days=4)
    fitted = backtest(rows, top=2, weights="dcg", examination="em")
    assert fitted.problems == ["dcg@2"]
    given = backtest(rows, top=2, weights="dcg", examination=fitted.examination)
    assert given.rmse("dcg@2", "pbm", 5) == fitted.rmse("dcg@2", "pbm", 5)
    assert fitted.examination[1] == pytest.approx(0.5, abs=0.1)
    assert fitted.best() == (fitted.recommendations[0].estimator, fitted.recommendations[0].clip)


def test_seeds_are_inputs_and_results_print() -> None:
    rows = simulate(make_world(queries=5, items=5, k=3, seed=1), 500, np.random.default_rng(2), days=4)
    once, again = (backtest(rows, seed=4) for _ in range(2))
    assert once.to_json() == again.to_json()
    assert backtest(rows, seed=5).row("K=2", "ip").lower != once.row("K=2", "ip").lower
    assert "noise floor" in repr(once)
    assert "<table>" in once._repr_html_()
    assert {"errors", "noise_floor", "recommendations", "query_days"} <= set(once.to_dict())
    assert max(map(len, repr(once).splitlines()[1:9])) <= 100


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"day": [1, 1]}, {}, "needs two days"),
        ({}, {}, "column 'day' is missing"),
        ({"day": [1, 2]}, {"problems": ["K=0"]}, "unknown problem"),
        ({"day": [1, 2]}, {"estimators": "ipp"}, "did you mean"),
        ({"day": [1, 2]}, {"clips": [-1]}, "positive"),
        ({"day": [1, 2]}, {"clips": []}, "clips are empty"),
        ({"day": [1, 2]}, {"min_impressions": 5}, "min_impressions"),
        ({"day": [1, 2]}, {"queries": ["z"]}, "has no query 'z'"),
        ({"day": [1, 2]}, {"weights": [1.0]}, "at least 2"),
        ({"day": [1, 2]}, {"top": 1, "problems": ["all"]}, "not both"),
        ({"day": [1, 2], "query": ["q", "p"]}, {}, "no query has"),
    ],
)
def test_bad_input_is_said_in_one_line(
    change: dict[str, list[object]], options: dict[str, object], message: str
) -> None:
    rows = {"query": ["q", "q"], "items": [["a", "b"]] * 2, "clicks": [[1, 0]] * 2} | change
    with pytest.raises(cr.InputError, match=message) as caught:
        backtest(rows, **options)
    assert "\n" not in str(caught.value)


def test_a_reward_alone_is_not_enough() -> None:
    with pytest.raises(cr.InputError, match="no column 'clicks'"):
        backtest({"query": ["q"], "items": [["a"]], "reward": [1.0], "day": [1]})
