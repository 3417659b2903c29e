"""Rankings with the best lower bound: counts, bounds, priors and rankings equal to a slow calculation of their own."""

import json
import math
from collections import Counter, defaultdict
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.optimize import brentq
from scipy.special import betaln
from scipy.stats import beta as beta_distribution
from typer.testing import CliRunner

import counterrank as cr
from counterrank.cli import app
from counterrank.click import DependentClick
from counterrank.ids import Ids
from counterrank.optimizing.pessimistic.lower import Pessimism
from counterrank.optimizing.pessimistic.stock import Stock
from counterrank.optimizing.pessimistic.worth import CLICK_WORTHS, best_lists, value_of
from counterrank.posterior import BOUNDS, read_prior
from counterrank.setting.click_counts import count_clicks
from counterrank.simulate import make_world, simulate
from counterrank.statistics.pairs import Pairs

Row = tuple[str, list[str], list[int]]
GRID = [2.0**i for i in range(10)]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    world = make_world(queries=5, items=7, k=4, users="dcm", seed=3)
    return simulate(world, 700, np.random.default_rng(2), days=3)


def rows_of(table: pa.Table) -> list[Row]:
    return [(r["query"], r["items"], r["clicks"]) for r in table.to_pylist()]


def slow_evidence(rows: list[Row], model: str) -> tuple[dict[Any, list[float]], dict[Any, float]]:
    """Clicks and looks of each (query, item), and the height of each (query, position), row by row as in the paper."""
    seen: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0])
    clicks_at, last_at, pages = Counter(), Counter(), Counter(q for q, _, _ in rows)
    for q, items, clicks in rows:
        clicked = [k for k, c in enumerate(clicks) if c]
        stop = len(items) - 1 if not clicked else clicked[0] if model == "cm" else clicked[-1]
        for k, (a, c) in enumerate(zip(items, clicks, strict=True)):
            seen[q, a][0] += c if k <= stop else 0
            seen[q, a][1] += k <= stop
            clicks_at[q, k] += c
        if clicked:
            last_at[q, clicked[-1]] += 1
    longest = max(len(items) for _, items, _ in rows)
    heights = {}
    for q, k in product(pages, range(longest)):
        if model == "cm":
            heights[q, k] = 1.0
        elif model == "dcm":  # stopping after a click, under Beta(1, 1)
            heights[q, k] = 1 - (clicks_at[q, k] - last_at[q, k] + 1) / (clicks_at[q, k] + 2)
        else:
            heights[q, k] = clicks_at[q, k] / pages[q]
    if model == "pbm-paper":
        seen = defaultdict(lambda: [0.0, 0.0])
        for q, items, clicks in rows:
            for k, (a, c) in enumerate(zip(items, clicks, strict=True)):
                seen[q, a][0] += heights[q, k] * c
                seen[q, a][1] += heights[q, k]
    return seen, heights


def slow_bound(bound: str, c: float, n: float, delta: float, prior: tuple[float, float]) -> float:
    if bound in ("bayes", "empirical-bayes"):
        return float(beta_distribution.ppf(delta / 2, prior[0] + c, prior[1] + n - c))
    p = c / n
    if bound == "hoeffding":
        return p - math.sqrt(math.log(1 / delta) / (2 * n))
    if bound == "mle" or (bound == "kl" and delta == 1):
        return p
    if p == 0:
        return 0.0
    assert bound == "kl"

    def off(q: float) -> float:
        return n * (p * math.log(p / q) + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0)) - math.log(1 / delta)

    return float(brentq(off, 1e-300, p, xtol=1e-15))


def slow_grid(items: list[list[float]]) -> tuple[float, float]:
    c, n = np.array(items).T
    return max(product(GRID, GRID), key=lambda ab: (betaln(ab[0] + c, ab[1] + n - c) - betaln(*ab)).sum())


def slow_value(model: str, lower: list[float], heights: list[float]) -> float:
    parts = [h * min(max(x, 0.0), 1.0) for h, x in zip(heights, lower, strict=True)]
    return sum(parts) if model.startswith("pbm") else 1 - math.prod(1 - part for part in parts)


@pytest.mark.parametrize("bound", ["bayes", "empirical-bayes", "hoeffding", "kl", "mle"])
@pytest.mark.parametrize("model", ["cm", "dcm", "pbm-paper"])
def test_everything_equals_a_slow_calculation(table: pa.Table, model: str, bound: str) -> None:
    rows = rows_of(table)
    seen, heights = slow_evidence(rows, model)
    for delta, k in ((0.1, 3), (0.6, 2), (1.0, 4)):
        found = cr.optimize(
            table, click_model=model, bound=bound, delta=delta, k=k, prior="grid", prior_scope="query"
        ).to_dict()
        assert found["delta"] == delta
        assert found["prior"] is None
        for got in found["rankings"]:
            q = got["query"]
            mine = {a: v for (query, a), v in seen.items() if query == q}
            prior = slow_grid([v for v in mine.values() if v[1] > 0])
            if bound in ("bayes", "empirical-bayes"):
                assert tuple(got["prior"]) == prior
            else:
                assert got["prior"] is None
            lower = {a: slow_bound(bound, c, n, delta, prior) for a, (c, n) in mine.items()}
            assert got["looks"] == pytest.approx([mine[a][1] for a in got["items"]], abs=1e-9)
            assert got["clicks"] == pytest.approx([mine[a][0] for a in got["items"]], abs=1e-9)
            assert got["lower"] == pytest.approx([lower[a] for a in got["items"]], abs=1e-9)
            height = [heights[q, j] for j in range(k)]
            best = max(
                slow_value(model, [lower[a] for a in ranking], height) for ranking in permutations(sorted(mine), k)
            )
            assert got["value"] == pytest.approx(best, abs=1e-9)
            assert got["reason"] == "best lower bound"


@pytest.mark.parametrize("additive", [False, True])
@pytest.mark.parametrize("flat", [False, True])
def test_the_best_list_is_that_of_an_exhaustive_search(additive: bool, flat: bool) -> None:
    rng = np.random.default_rng(7)
    for _ in range(60):
        size, length = int(rng.integers(3, 7)), int(rng.integers(1, 4))
        theta, height = rng.random(size).round(1), np.ones(()) if flat else rng.random(length).round(1)
        pairs = Pairs.build(_ids("q"), _ids(*"abcdefg"[:size]), np.zeros(size, int), np.arange(size), np.array([9]), 9)
        chosen = best_lists(theta, np.ones(size, dtype=bool), pairs, height, np.array([length]))
        got = value_of(chosen, theta, height, additive)[0]
        every = np.array(list(permutations(range(size), length)))
        assert got == pytest.approx(value_of(every, theta, height, additive).max(), abs=1e-12)
        h = np.broadcast_to(height, length)
        by_hand = max(slow_value("pbm" if additive else "cm", theta[list(r)].tolist(), h.tolist()) for r in every)
        assert got == pytest.approx(by_hand, abs=1e-12)


def _ids(*names: str) -> Ids:
    return Ids(pa.array(list(names)))


def test_hoeffding_at_1_is_the_mean_and_mle() -> None:
    log = {"query": ["q"] * 3, "items": [["a", "b"], ["a", "b"], ["b", "a"]], "clicks": [[0, 1], [0, 0], [0, 1]]}
    found = cr.optimize(log, bound="hoeffding", delta=1).to_dict()["rankings"][0]
    assert found["items"] == ["a", "b"]  # both 1/3: text order
    assert found["lower"] == [1 / 3, 1 / 3]
    assert cr.optimize(log, bound="mle").to_dict()["rankings"][0]["lower"] == [1 / 3, 1 / 3]


NEVER = {
    "query": ["q"] * 4,
    "items": [["a", "b", "c"], ["a", "c", "b"], ["a", "b", "c"], ["b", "a", "c"]],
    "clicks": [[1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0]],
}  # under cm nobody ever looked at c


@pytest.mark.parametrize("bound", BOUNDS)
def test_an_item_never_examined(bound: str) -> None:
    found = cr.optimize(NEVER, bound=bound, k=2, prior="1,1").to_dict()["rankings"][0]
    if BOUNDS[bound].prior is None:
        assert found["items"] == ["a", "b"]
    else:  # the prior's quantile, 0.1, is above that of an item missed once, 1 − √0.9
        assert found["items"] == ["a", "c"]
        assert found["lower"][1] == pytest.approx(0.1, abs=1e-12)
    kept = cr.optimize(NEVER, bound=bound, k=3, prior="1,1").to_dict()["rankings"][0]  # two examined items for three
    assert kept["items"] == ["a", "b", "c"]
    assert kept["reason"] == "2 examined items for 3 positions: keeps its most logged ranking"
    assert (kept["lower"][2] is None) == (BOUNDS[bound].prior is None)
    assert kept["value"] == pytest.approx(slow_value("cm", [x or 0.0 for x in kept["lower"]], [1.0] * 3), abs=1e-12)


def test_few_impressions_keep_the_most_logged_ranking_cut_to_k() -> None:
    log = {
        "query": ["q"] * 5 + ["r"] * 6,
        "items": [["a", "b", "c"], ["b", "a", "c"], ["b", "a", "d"], ["a", "b", "c"], ["b", "a", "e"]]
        + [["x", "y"]] * 6,
        "clicks": [[1, 0, 0]] * 2 + [[0, 1, 0]] * 3 + [[0, 1]] * 6,
    }  # fmt: skip
    found = cr.optimize(log, min_impressions=6, k=2).to_dict()["rankings"]
    assert found[0]["items"] == ["b", "a"]  # three times, though ["a", "b", "c"] is the most frequent whole list
    assert found[0]["reason"] == "5 impressions, fewer than 6: keeps its most logged ranking"
    assert found[1]["reason"] == "best lower bound"
    assert cr.optimize(log, min_impressions=6).to_dict()["rankings"][0]["items"] == ["a", "b", "c"]


def test_candidates_replace_the_logged_items_and_may_be_new(table: pa.Table) -> None:
    queries = sorted(set(table["query"].to_pylist()))
    few = {q: ["i1", "new"] for q in [*queries, "elsewhere"]}
    found = cr.optimize(table, bound="bayes", k=1, candidates=few)
    for row in found.to_dict()["rankings"]:
        assert row["items"] in (["i1"], ["new"]) or row["reason"].startswith("0 examined items for 1 position")
    assert any("1 query of the candidates: not in the log" in note for note in found.notes)
    tiny = cr.optimize(NEVER, bound="bayes", k=1, candidates={"q": ["b", "c", "new"]}).to_dict()["rankings"][0]
    assert tiny["items"] == ["c"]  # as good as new, and first as text
    assert tiny["looks"] == [0.0]


def test_priors_are_shared_or_each_querys_own(table: pa.Table) -> None:
    each = cr.optimize(table, delta=0.3, prior_scope="query").to_dict()
    assert each["prior"] is None
    assert len({tuple(row["prior"]) for row in each["rankings"]}) == 5
    shared = cr.optimize(table, delta=0.3).to_dict()
    assert {tuple(row["prior"]) for row in shared["rankings"]} == {tuple(shared["prior"])}
    given = cr.optimize(table, prior="2,9").to_dict()
    assert given["prior"] == [2.0, 9.0]
    assert cr.optimize(table, bound="hoeffding", prior="2,9", prior_scope="global").to_dict()["prior"] is None


def test_a_guarantee_for_more_divides_delta(table: pa.Table) -> None:
    item, whole, every = (cr.optimize(table, bound="kl", guarantee=name).to_dict() for name in ("item", "list", "log"))
    pairs = {(q, a) for q, items, _ in rows_of(table) for a in items}
    sizes = [len([a for q, a in pairs if q == row["query"]]) for row in item["rankings"]]
    for a, b, c, size in zip(item["rankings"], whole["rankings"], every["rankings"], sizes, strict=True):
        assert (a["delta"], b["delta"], c["delta"]) == (0.2, 0.2 / size, 0.2 / sum(sizes))
        assert a["value"] >= b["value"] >= c["value"]
    assert whole["delta"] == 0.2


@pytest.mark.parametrize("model", CLICK_WORTHS)
def test_another_engine_gives_the_same_rankings(table: pa.Table, model: str) -> None:
    here, there = (
        cr.optimize(table, click_model=model, k=3, min_impressions=100, engine=engine).to_dict()["rankings"]
        for engine in ("duckdb", "ibis")
    )
    by_query = {row["query"]: row for row in there}
    for row in here:
        assert by_query[row["query"]]["items"] == row["items"]
        assert by_query[row["query"]]["lower"] == pytest.approx(row["lower"], abs=1e-9)


def test_theorem_3_takes_the_worst_list(table: pa.Table) -> None:
    seen, _ = slow_evidence(rows_of(table), "cm")
    number = len(seen)
    for row in cr.optimize(table, delta=0.1, k=3).to_dict()["rankings"]:
        looks = [n for (q, _), (_, n) in seen.items() if q == row["query"]]
        if min(looks) == 0:
            assert row["error_bound"] is None
            continue
        worst = max(
            sum(math.sqrt(math.log(2 * number / 0.1) / (2 * n)) for n in some) for some in permutations(looks, 3)
        )
        assert row["error_bound"] == pytest.approx(2 * worst, rel=1e-12)


@pytest.mark.parametrize("model", CLICK_WORTHS)
def test_auto_delta_is_the_best_of_its_own_curve_or_the_usual_one(table: pa.Table, model: str) -> None:
    for log in (table, table.drop_columns(["day"])):
        found = cr.optimize(log, click_model=model, delta="auto", bound="bayes").to_dict()
        assert [row["delta"] for row in found["curve"]] == pytest.approx(np.arange(0.05, 1.01, 0.05))
        best = max(row["value"] for row in found["curve"])
        chosen = next(row for row in found["curve"] if row["delta"] == found["delta"])
        usual = next(row for row in found["curve"] if row["delta"] == 0.2)
        helped = best - usual["value"] > 2 * usual["stderr"]
        assert chosen["value"] == pytest.approx(best if helped else usual["value"], abs=1e-11)
        assert helped or found["delta"] == 0.2
        assert any("did not help" in note for note in found["notes"]) is not helped
        fixed = cr.optimize(log, click_model=model, delta=found["delta"], bound="bayes").to_dict()
        assert [row["items"] for row in fixed["rankings"]] == [row["items"] for row in found["rankings"]]


def test_queries_of_one_day_each_are_split_by_chance(table: pa.Table) -> None:
    days = pa.array([int(q[-1]) for q in table["query"].to_pylist()])
    found = cr.optimize(table.drop_columns(["day"]).append_column("day", days), delta="auto")
    assert any("folds held out by chance" in note for note in found.notes)


def test_auto_delta_falls_back_to_nothing_it_does_not_have() -> None:
    log = {"query": ["q"], "items": [["a", "b"]], "clicks": [[1, 0]]}
    with pytest.raises(cr.InputError, match="nothing to choose by"):
        cr.optimize(log, delta="auto")


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "80", "NO_COLOR": "1"})


def test_the_command_prints_json_writes_a_policy_and_evaluate_reads_it(table: pa.Table, tmp_path: Path) -> None:
    log, out = tmp_path / "log.parquet", tmp_path / "safe.csv"
    pq.write_table(table, log)
    result = run("optimize", log, "--click-model", "dcm", "--delta", "0.2", "--k", "3", "--out", out, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert {"delta", "prior", "rankings"} <= set(found)
    assert {"query", "items", "value", "lower", "prior", "reason"} <= set(found["rankings"][0])
    policy = cr.read_policy(str(out))
    assert all(policy.rank(row["query"]) == row["items"] for row in found["rankings"])
    judged = run("evaluate", log, "--target", out, "--estimator", "item", "--json")
    assert judged.exit_code == 0, judged.output
    people = run("optimize", log)
    assert people.stdout.startswith("5 queries ranked by pessimistic: clicks of 700 impressions, cm, empirical-bayes")
    drawn = run("optimize", log, "--by", "lp-ip", "--clip", "2", "--out", tmp_path / "drawn.parquet")
    assert drawn.exit_code == 0, drawn.output
    assert "probability" in pq.read_table(tmp_path / "drawn.parquet").column_names


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--delta", "0"], "expected a number above 0 and up to 1, or auto"),
        (["--delta", "1.5"], "expected a number above 0 and up to 1, or auto"),
        (["--delta", "much"], "expected a number above 0 and up to 1, or auto"),
        (["--k", "0"], "expected a whole number of positions, from 1 to"),
        (["--k", "9223372036854775808"], "from 1 to 1,000,000"),
        (["--min-impressions", "0"], "expected a whole number, 1 or more"),
        (["--bound", "bays"], "did you mean 'bayes'"),
        (["--click-model", "dmc"], "unknown click model 'dmc'"),
        (["--prior", "fitt"], "did you mean 'fit'"),
        (["--prior-scope", "all"], "Choose from query, global"),
        (["--guarantee", "lst"], "did you mean 'list'"),
        (["--clip", "3"], "--clip is not an option of --by pessimistic: it is for --by lp-list"),
        (["--by", "lp-ip", "--delta", "0.1"], "--delta is not an option of --by lp-ip: it is for --by pessimistic"),
    ],
)
def test_bad_usage_is_said_in_one_line(table: pa.Table, tmp_path: Path, words: list[str], hint: str) -> None:
    log = tmp_path / "log.parquet"
    pq.write_table(table, log)
    result = run("optimize", log, *words)
    assert result.exit_code == 2
    assert hint in result.stderr
    assert "\n" not in result.stderr.strip()


@pytest.mark.parametrize("delta", [0.1, 0.5])
def test_bounds_of_the_cascade_model_cover_as_they_say(delta: float) -> None:
    """Truth from Beta(1, 6). Bayes and empirical Bayes: 1 − δ/2 within 0.06; the others: 1 − δ or more."""
    rng = np.random.default_rng(11)
    queries, items, k, pages = 300, 12, 5, 60
    truth = rng.beta(1, 6, (queries, items))
    query = np.repeat(np.arange(queries), pages)
    shown = np.argsort(rng.random((len(query), items)), axis=1)[:, :k]
    attracted = rng.random(shown.shape) < truth[query[:, None], shown]
    clicks = attracted & (np.cumsum(attracted, axis=1) == 1)
    log = {"query": query.tolist(), "items": shown.tolist(), "clicks": clicks.astype(int).tolist()}
    cover = {}
    for bound, prior in (("bayes", "1,6"), ("empirical-bayes", "fit"), ("hoeffding", None), ("kl", None)):
        held = [low <= truth[q, a] for q, a, low in _all_lowers(log, bound, delta, prior) if low is not None]
        cover[bound] = float(np.mean(held))
    for bound in ("bayes", "empirical-bayes"):
        assert abs(cover[bound] - (1 - delta / 2)) < 0.06, cover
    for bound in ("hoeffding", "kl"):
        assert cover[bound] >= 1 - delta, cover


def test_looks_by_maximum_likelihood_mend_the_coverage_of_dependent_clicks() -> None:
    """cief2024's counts miss looks past the last click: bounds hold too rarely. At δ = 0.2 they should hold 90 %."""
    rng = np.random.default_rng(12)
    queries, items, k, pages = 150, 10, 5, 120
    truth = rng.beta(1, 6, queries * items)
    query = np.repeat(np.arange(queries), pages)
    shown = np.argsort(rng.random((len(query), items)), axis=1)[:, :k] + query[:, None] * items
    clicks = DependentClick(truth, [0.5, 0.6, 0.7, 0.8, 0.8]).sample(query, shown, rng)
    log = {"query": query.tolist(), "items": shown.tolist(), "clicks": clicks.tolist()}
    cover = {}
    for model in ("dcm", "dcm-ml"):
        lowers = _all_lowers(log, "bayes", 0.2, "1,6", model)
        cover[model] = float(np.mean([low <= truth[a] for _, a, low in lowers]))
    assert cover["dcm"] < 0.86
    assert abs(cover["dcm-ml"] - 0.9) < 0.04, cover


def _all_lowers(
    log: dict[str, Any], bound: str, delta: float, prior: str | None, model: str = "cm"
) -> list[tuple[int, int, Any]]:
    """The bounds of all items, not of the chosen alone."""
    stock = Stock.of(count_clicks(log, patterns=model == "dcm-ml"), model, None)
    asked = Pessimism(bound, read_prior(prior) if prior else None)
    lower = asked.lower(stock, asked.prior_for(stock), delta)
    queries, items = stock.pairs.query_ids.native(stock.pairs.queries), stock.pairs.item_ids.native(stock.pairs.items)
    return list(zip(queries, items, [None if math.isnan(x) else x for x in lower.tolist()], strict=True))


@pytest.mark.parametrize("model", ["cm", "dcm", "pbm"])
def test_more_positions_than_the_log_has(model: str) -> None:
    """Lists of one item, three items to rank: positions below the first have no click of their own."""
    rows = {"query": ["q"] * 6, "items": [["a"], ["b"], ["c"]] * 2, "clicks": [[1], [0], [0], [1], [1], [0]]}
    found = cr.optimize(rows, click_model=model, bound="mle", k=2).to_dict()
    (ranking,) = found["rankings"]
    assert ranking["items"] == ["a", "b"]
    assert ranking["lower"] == [1.0, 0.5]
    assert any("`k` is 2" in note for note in found["notes"]) == (model != "cm")
    too_many = cr.optimize(rows, click_model=model, bound="mle", k=4).to_dict()["rankings"][0]
    assert len(too_many["items"]) == 1
    assert "4" in too_many["reason"]
