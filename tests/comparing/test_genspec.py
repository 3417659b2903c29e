"""`compare --estimator genspec` against a slow reading of its specification, and the laws of its bound."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compare_oracle
import counterrank as cr
import oracle
import worlds
from counterrank.simulate import make_world, simulate
from counterrank.simulate.world import World
from seeds import seeds

CLOSE = {"rel": 1e-9, "abs": 1e-9}


@dataclass
class Pair:
    """A log, two policies and options, as the oracle and as the package take them."""

    rows: list[dict]
    target: Any
    baseline: Any
    mine: tuple[Any, Any]
    oracle_options: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    integer_ids: bool = False

    def expected(self, confidence: float = 0.95) -> dict:
        return compare_oracle.compare(self.rows, self.target, self.baseline, confidence, **self.oracle_options)

    def got(self, rows: Any = None, confidence: float = 0.95, **more: Any) -> cr.Comparison:
        table = worlds.to_arrow(self.rows if rows is None else rows, self.integer_ids)
        return cr.compare(
            cr.read_log(table), *self.mine, confidence=confidence, **self.options, **more, estimator="genspec"
        )


def a_policy(rng: random.Random, rows: list[dict], style: str, integer_ids: bool) -> tuple[Any, Any]:
    """For the oracle, and for the package."""
    kind = rng.choice(["table", "table", "scores", "scores", "plackett-luce", "logging", "uniform"])
    if kind == "logging":
        return kind, kind
    if kind == "uniform":
        return kind, cr.policy.Uniform()
    if kind == "table":
        made = worlds.table_target(rng, rows, style)
        return oracle.table(made), cr.read_policy(worlds.to_arrow(made, integer_ids))
    temperature = 0.0 if kind == "scores" else rng.choice([0.3, 1.0])
    made = worlds.scores_target(rng, rows, style)
    policy = cr.read_policy(worlds.to_arrow(made, integer_ids), temperature=temperature)
    return oracle.scores(made, temperature), policy


def make_pair(seed: int) -> Pair:
    rng = random.Random(seed)
    while True:
        style = rng.choice(["plain", "integer", "hostile"])
        rows = worlds.make_rows(
            rng,
            queries=rng.randint(1, 4),
            style=style,
            ragged=rng.random() < 0.7,
            impressions=rng.random() < 0.5,
            propensity=rng.random() < 0.2,
            reward=rng.random() < 0.1,
        )
        integer_ids = style == "integer" and rng.random() < 0.7
        target, mine = a_policy(rng, rows, style, integer_ids)
        baseline, other = a_policy(rng, rows, style, integer_ids)
        named = [set(p) for p in (target, baseline) if not isinstance(p, str)]
        if set.intersection({row["query"] for row in rows}, *named):
            break
    longest = max(len(row["items"]) for row in rows)
    options: dict[str, Any] = {"top": rng.choice([None, None, 1, rng.randint(1, longest), longest + 1])}
    most = (options["top"] or longest) + rng.randint(0, 2)
    options["weights"] = rng.choice(["dcg", "clicks", [1.0, *(rng.choice([0.0, 0.5, 2.0]) for _ in range(most))]])
    looks = [1.0, *(rng.choice([1.0, 0.5, rng.uniform(0.05, 1)]) for _ in range(most))]
    options["examination"] = rng.choice(["reciprocal", looks])
    mine_too = {name: value for name, value in options.items() if value is not None}
    logging = rng.choice(["default", "log", "uniform", "file"])
    if logging == "file":
        made = worlds.covering_policy(rng, rows)
        options["logging"] = oracle.table(made)
        mine_too["logging"] = cr.read_policy(worlds.to_arrow(made, integer_ids))
    elif logging != "default":
        options["logging"] = mine_too["logging"] = logging
    return Pair(rows, target, baseline, (mine, other), options, mine_too, integer_ids)


def assert_same(got: cr.Comparison, expected: dict) -> None:
    found = got.to_dict()
    for name in ("difference", "lower", "upper", "covered", "positions"):
        assert_close(found[name], expected[name], name)
    for side in ("target", "baseline"):
        assert_close(found["unsupported"][side], expected["unsupported"][side], f"unsupported {side}")
        for name in ("value", "lower", "upper"):
            assert_close(found["separate"][side][name], expected["separate"][side][name], f"{side} {name}")
    if found["trust"]["level"] == "do not trust":
        assert found["verdict"] == "undecided"
    elif all(expected[end] is None or abs(expected[end]) > 1e-9 for end in ("lower", "upper")):
        assert found["verdict"] == expected["verdict"]
    rows = {str(row["query"]): row for row in got.per_query.to_pylist()}
    assert set(rows) == set(expected["per_query"])
    for query, wanted in expected["per_query"].items():
        row = rows[query] | {"value": rows[query]["difference"]}
        for name in wanted:
            assert_close(row[name], wanted[name], f"{query!r} {name}")
        assert row["verdict"] == compare_oracle.verdict(row["lower"], row["upper"])


def assert_close(came: float | None, wanted: float | None, what: str) -> None:
    if wanted is None or came is None:
        assert came is wanted, what
    else:
        assert came == pytest.approx(wanted, **CLOSE), what


@pytest.mark.parametrize("seed", seeds(range(150), 60))
def test_every_number_is_the_oracles(seed):
    pair = make_pair(seed)
    confidence = random.Random(seed).choice([0.5, 0.8, 0.95, 0.99])
    assert_same(pair.got(confidence=confidence), pair.expected(confidence))


@pytest.mark.parametrize("seed", seeds(range(200, 220), 6))
def test_the_long_form_and_the_other_engine_give_the_same(seed):
    pair = make_pair(seed)
    expected = pair.expected()
    assert_same(pair.got(worlds.to_long(pair.rows, random.Random(seed))), expected)
    assert_same(pair.got(engine="ibis"), expected)


def test_by_hand():
    """Two positions, four impressions; a is first in three of them. ρ(a) = 3/4 + 1/8, ρ(b) = 1/4 + 3/8."""
    rows = {
        "query": ["q"] * 4,
        "items": [["a", "b"]] * 3 + [["b", "a"]],
        "clicks": [[1, 0], [1, 1], [0, 0], [1, 0]],
    }
    found = cr.compare(rows, {"q": ["a", "b"]}, {"q": ["b", "a"]}, weights=[1, 0.5], estimator="genspec")
    rho_a, rho_b = 7 / 8, 5 / 8
    difference = (2 / rho_a * 0.5 - 2 / rho_b * 0.5) / 4
    assert found.difference == pytest.approx(difference, abs=1e-15)
    log = math.log(40)
    squares = 2 * (2 * 0.5 / rho_a - difference) ** 2 + 2 * (-2 * 0.5 / rho_b - difference) ** 2 + 4 * difference**2
    half = 7 * 2 * (1 / rho_b) * log / (3 * 7) + math.sqrt(2 * 8 * log / 7 * squares) / 8
    assert found.lower == pytest.approx(difference - half, abs=1e-14)
    assert found.upper == pytest.approx(difference + half, abs=1e-14)
    assert found.verdict == "undecided"


def test_a_tied_block_shares_the_mean_of_its_weights():
    rows = {"query": ["q"] * 3, "items": [["a", "b", "c"]] * 3, "clicks": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}
    tied = cr.compare(
        rows,
        {"q": {"a": 2.0, "b": 1.0, "c": 1.0}},
        "logging",
        weights=[1, 0.5, 0.1],
        examination=[1] * 3,
        estimator="genspec",
    )
    # a: 1 − 1; b: (0.5 + 0.1)/2 − 0.5; c: (0.5 + 0.1)/2 − 0.1; each clicked once, always shown and looked at
    assert tied.difference == pytest.approx((-0.2 + 0.2) / 3, abs=1e-15)
    assert tied.separate["target"].value == pytest.approx((1 + 0.3 + 0.3) / 3, abs=1e-15)


@pytest.mark.parametrize("clicks", [0, 1])
def test_fewer_than_two_clicks_bound_nothing(clicks):
    rows = {"query": ["q"] * 9, "items": [["a", "b"]] * 9, "clicks": [[0, clicks]] + [[0, 0]] * 8}
    found = cr.compare(rows, {"q": ["b", "a"]}, estimator="genspec")
    assert (found.lower, found.upper, found.verdict) == (None, None, "undecided")
    assert found.separate["target"].lower is None
    assert found.separate["target"].value is not None
    assert (found.impressions_needed is None) == (clicks == 0)  # with no click the difference is 0
    assert "a bound needs at least 2" in found.warnings[0]
    row = found.per_query.to_pylist()[0]
    assert (row["lower"], row["upper"], row["verdict"]) == (None, None, "undecided")


def test_clicks_below_the_cut_do_not_count():
    rows = {"query": ["q"] * 9, "items": [["a", "b"]] * 9, "clicks": [[0, 1]] * 9}
    assert cr.compare(rows, {"q": ["b", "a"]}, top=1, estimator="genspec").clicks == 0


@pytest.mark.parametrize("seed", seeds(range(300, 340), 15))
def test_a_policy_is_no_better_than_itself(seed):
    pair = make_pair(seed)
    found = cr.compare(
        worlds.to_arrow(pair.rows, pair.integer_ids), pair.mine[0], pair.mine[0], **pair.options, estimator="genspec"
    )
    assert found.difference == 0
    assert found.impressions_needed is None
    assert found.verdict == "undecided"
    assert all(row["difference"] == 0 for row in found.per_query.to_pylist())


@pytest.mark.parametrize("seed", seeds(range(340, 380), 15))
def test_the_other_way_round_is_the_negative(seed):
    pair = make_pair(seed)
    log = worlds.to_arrow(pair.rows, pair.integer_ids)
    one, other = (
        cr.compare(log, *sides, **pair.options, estimator="genspec") for sides in (pair.mine, pair.mine[::-1])
    )
    assert one.difference == pytest.approx(-other.difference, **CLOSE)
    if one.lower is not None:
        assert one.lower == pytest.approx(-other.upper, **CLOSE)
    assert one.impressions_needed == other.impressions_needed
    assert one.unsupported["target"] == pytest.approx(other.unsupported["baseline"], **CLOSE)


def test_the_same_policy_in_two_forms_does_not_differ():
    rng = random.Random(5)
    rows = worlds.make_rows(rng, queries=3, rows_per_query=(20, 30), ragged=False)
    items = {row["query"]: sorted({a for r in rows if r["query"] == row["query"] for a in r["items"]}) for row in rows}
    spread = oracle.scores(
        [{"query": q, "item": a, "score": 0.1 * i} for q in items for i, a in enumerate(items[q])], 0.7
    )
    table = [{"query": q, "items": list(r), "probability": p} for q, of in spread.items() for r, p in of.items()]
    scores = cr.read_policy({q: {a: 0.1 * i for i, a in enumerate(items[q])} for q in items}, temperature=0.7)
    found = cr.compare(worlds.to_arrow(rows), cr.read_policy(worlds.to_arrow(table)), scores, estimator="genspec")
    assert found.difference == 0
    assert found.impressions_needed is None


@pytest.mark.parametrize("seed", seeds(range(400, 440), 15))
def test_as_many_more_impressions_decide_and_one_fewer_does_not(seed):
    pair = make_pair(seed)
    found = pair.got()
    if found.difference == 0 or found.verdict != "undecided":
        assert found.impressions_needed == (None if found.difference == 0 else 0)
        return
    case = compare_oracle.ask(pair.rows, pair.target, pair.baseline, **pair.oracle_options)
    n, more = found.impressions, found.impressions_needed
    assert more >= 1
    assert compare_oracle.decides(case, (n + more) / n * (1 + 1e-12), 0.95)
    assert not compare_oracle.decides(case, (n + more - 1) / n * (1 - 1e-12), 0.95)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_one_bound_is_never_wider_than_two(seed, confidence):
    found = make_pair(seed).got(confidence=confidence)
    if found.lower is None:
        return
    alone = [found.separate[side] for side in ("target", "baseline")]
    assert found.upper - found.lower <= sum(each.upper - each.lower for each in alone) * (1 + 1e-12)
    if alone[0].lower > alone[1].upper:  # what SEA decides, the one bound decides
        assert found.verdict == "target"
    assert alone[0].value - alone[1].value == pytest.approx(found.difference, **CLOSE)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9))
def test_more_confidence_never_narrows_the_bound(seed):
    pair = make_pair(seed)
    widths = [
        found.upper - found.lower for c in (0.5, 0.9, 0.99) if (found := pair.got(confidence=c)).lower is not None
    ]
    assert widths == sorted(widths)


def test_only_queries_that_both_have_count():
    rows = {"query": list("aabbc"), "items": [["x", "y"]] * 5, "clicks": [[1, 0]] * 5}
    found = cr.compare(
        rows, {"a": ["x", "y"], "b": ["y", "x"]}, {"b": ["x", "y"], "c": ["x", "y"]}, estimator="genspec"
    )
    assert (found.impressions, found.queries, found.covered) == (2, 1, 0.4)
    assert found.per_query["query"].to_pylist() == ["b"]


def test_the_correction_is_bonferronis():
    rng = random.Random(1)
    rows = [
        {"query": f"q{q}", "items": rng.choice([["a", "b"], ["b", "a"]]), "clicks": [0, 0]}
        for q in range(8)
        for _ in range(20 * (q + 1))
    ]
    for row in rows:
        row["clicks"] = [int(item == "a" and rng.random() < 0.9) for item in row["items"]]
    everywhere = {f"q{q}": ["a", "b"] for q in range(8)}
    backwards = {f"q{q}": ["b", "a"] for q in range(8)}
    log = worlds.to_arrow(rows)
    found = cr.compare(log, everywhere, backwards, estimator="genspec")
    table = found.per_query.to_pylist()
    strict = cr.compare(log, everywhere, backwards, confidence=1 - 0.05 / 8, estimator="genspec").per_query.to_pylist()
    assert [row["significant_after_correction"] for row in table] == [row["verdict"] != "undecided" for row in strict]
    assert 0 < found.by_query.target_after_correction < found.by_query.target < 8
    assert found.by_query.target == sum(row["verdict"] == "target" for row in table)
    assert found.by_query.expected_false == pytest.approx(0.4)
    assert "Bonferroni" in found.by_query.words()


def test_what_the_log_never_shows_is_told():
    rows = {"query": ["q"] * 4, "items": [["a", "b"]] * 4, "clicks": [[1, 1]] * 4}
    found = cr.compare(rows, {"q": ["new", "a"]}, weights=[1, 0.5], estimator="genspec")
    assert found.unsupported == {"target": pytest.approx(1 / 1.5), "baseline": 0.0}
    assert "never shows 66.7% of what the target shows" in found.warnings[0]


def test_clicks_on_what_nobody_can_have_seen_are_told():
    rows = {"query": ["q"] * 4, "items": [["a", "b"]] * 4, "clicks": [[1, 1]] * 4}
    found = cr.compare(rows, {"q": ["b", "a"]}, examination=[1, 0], estimator="genspec")
    assert "50.0% of the clicks" in " ".join(found.warnings)
    given = cr.compare(rows, {"q": ["b", "a"]}, logging=cr.read_policy({"q": ["a"]}), estimator="genspec")
    assert "50.0% of the clicks" in " ".join(given.warnings)


def test_a_log_without_clicks_needs_an_estimator():
    rows = {"query": ["q"], "items": [["a"]], "reward": [1.0]}
    with pytest.raises(cr.InputError, match="name another `estimator`"):
        cr.compare(rows, {"q": ["a"]}, estimator="genspec")
    both = {**rows, "clicks": [[1]]}
    assert cr.compare(both, {"q": ["a"]}, estimator="genspec").metric == "clicks"
    with pytest.raises(cr.InputError, match="`metric` is reward"):
        cr.compare(both, {"q": ["a"]}, metric="reward", estimator="genspec")


def test_policies_without_a_query_in_common_are_an_error():
    rows = {"query": ["q", "r"], "items": [["a"]] * 2, "clicks": [[1]] * 2}
    with pytest.raises(cr.InputError, match="target and baseline both have rankings for none of the log's queries"):
        cr.compare(rows, {"q": ["a"]}, {"r": ["a"]}, estimator="genspec")


def test_it_prints_renders_and_becomes_a_table():
    rows = {"query": ["<b>"] * 400, "items": [["a", "b"], ["b", "a"]] * 200, "clicks": [[1, 0], [0, 1]] * 200}
    sides = {"<b>": ["a", "b"]}, {"<b>": ["b", "a"]}
    found = cr.compare(rows, *sides, estimator="genspec", examination=[1.0, 1.0])
    assert "Ship: with 95% confidence" in repr(found)
    assert "<table>" in found._repr_html_()
    assert found.to_arrow()["policy"].to_pylist() == ["target", "baseline", "difference"]
    assert found.to_polars().shape == (3, 4)
    losing = cr.compare(rows, sides[1], sides[0], estimator="genspec", examination=[1.0, 1.0])
    assert "Do not ship" in repr(losing)


def swapped(world: World) -> tuple[dict, dict]:
    """The best ranking of each query, and the same with two of its items exchanged."""
    best = {query: world.better().rank(query) for query in world.better().queries().to_pylist()}
    return best, {query: [r[3], *r[1:3], r[0], *r[4:]] for query, r in best.items()}


@pytest.mark.parametrize("seed", range(6))
def test_one_bound_decides_with_half_the_impressions_of_two(seed):
    """Policies that differ in one swap a query; the log grows by a tenth until both ways have decided."""
    world = make_world(queries=4, items=8, k=6, users="pbm", seed=seed, uniform_share=1.0, beta=(1.0, 1.0))
    rows = simulate(world, 12_000, np.random.default_rng(seed))
    n, one, two = 300, 0, 0
    while not two:
        assert n <= rows.num_rows, "the two bounds did not decide"
        found = cr.compare(rows.slice(0, n), *swapped(world), estimator="genspec")
        a, b = found.separate["target"], found.separate["baseline"]
        one = one or (n if found.verdict == "target" else 0)
        two = n if a.lower > b.upper else 0
        n = math.ceil(n * 1.1)
    assert 0 < one <= two / 2


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("impressions", [50, 500, 5000])
def test_the_bound_covers(known, impressions):
    """Users as the bound assumes them; the truth is what the policies' items are worth, looked at."""
    world = make_world(queries=3, items=6, k=4, users="pbm", seed=impressions, uniform_share=0.5, zipf=0)
    logging = world.logging_policy() if known else None
    target, baseline = swapped(world)
    weight = 1 / np.log2(np.arange(2, 6))
    attraction = world.attraction.reshape(3, 6)
    number = {item: i for i, item in enumerate(world.pairs.item_ids.texts.to_pylist())}
    worth = [
        sum(weight[k] * attraction[q, number[item]] for k, item in enumerate(ranking[:4]))
        for side in (target, baseline)
        for q, ranking in enumerate(side.values())
    ]
    truth = (sum(worth[:3]) - sum(worth[3:])) / 3
    covered, false = 0, 0
    for run in range(300):
        rows = simulate(world, impressions, np.random.default_rng(run))
        found = cr.compare(rows, target, baseline, logging=logging or "log", estimator="genspec")
        covered += found.lower is None or found.lower <= truth <= found.upper
        false += found.verdict == "baseline"
    assert truth > 0
    assert covered >= 0.94 * 300
    assert false <= 0.05 * 300
