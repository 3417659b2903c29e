"""Best policies under an estimator: equal to the program as HiGHS solves it whole, and worth what `evaluate` says."""

import subprocess
import sys
import time
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linear_sum_assignment, linprog

import counterrank as cr
from counterrank.optimizing.programs.assign import assign
from counterrank.optimizing.programs.birkhoff import rankings_of
from counterrank.optimizing.programs.exposure import best_exposure
from counterrank.optimizing.programs.transport import best_marginals
from counterrank.simulate import make_world, simulate

ESTIMATOR = {
    "lp-list": "list", "lp-ip": "ip", "lp-pbm": "pbm", "lp-item": "item", "ips": "list", "ip-ips": "ip", "pi": "pi"
}  # fmt: skip
CLIPS = [None, 0.5, 1.5, 6.0]


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    world = make_world(queries=4, items=5, k=3, users="pbm", seed=1)
    return simulate(world, 400, np.random.default_rng(0)).drop_columns(["propensity"])


def whole_program(lists: list[tuple[list[str], list[int]]], by: str, clip: float | None) -> float:
    """One query's program over the chances of all rankings, with an auxiliary variable per clipped weight (§4.3)."""
    items = sorted({a for shown, _ in lists for a in shown})
    length, n = max(len(shown) for shown, _ in lists), len(lists)
    logged = sorted({tuple(shown) for shown, _ in lists})
    space = sorted({*permutations(items, length), *logged})
    terms: dict[Any, tuple[float, float]] = {}  # weighted clicks, and the logging policy's chance or exposure
    looks = {"lp-pbm": [1 / (k + 1) for k in range(length)], "lp-item": [1.0] * length}.get(by, [])
    for shown, clicks in lists:
        for k, (a, c) in enumerate(zip(shown, clicks, strict=True)):
            key, seen = (a, 1 / n * looks[k]) if looks else ((a, k), 1 / n)
            if by == "lp-list":
                key, seen = tuple(shown), 1 / n / len(shown)
            f, chance = terms.get(key, (0.0, 0.0))
            terms[key] = f + c, chance + seen
    keys = list(terms)
    matrix = np.zeros((len(keys), len(space) + len(keys)))  # c(key)·π(key) − Σ h(A) ≤ 0
    for j, key in enumerate(keys):
        matrix[j, len(space) + j] = terms[key][1]
        for i, ranking in enumerate(space):
            if by == "lp-list":
                matrix[j, i] = -float(ranking == key)
            elif looks:
                matrix[j, i] = -looks[ranking.index(key)] if key in ranking else 0.0
            else:
                matrix[j, i] = -float(len(ranking) > key[1] and ranking[key[1]] == key[0])
    found = linprog(
        -np.concatenate([np.zeros(len(space)), [terms[key][0] for key in keys]]),
        A_ub=matrix, b_ub=np.zeros(len(keys)),
        A_eq=np.concatenate([np.ones(len(space)), np.zeros(len(keys))])[None], b_eq=[1],
        bounds=[(0, None)] * len(space) + [(0, clip)] * len(keys),
    )  # fmt: skip
    return float(-found.fun)


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("by", ["lp-list", "lp-ip", "lp-pbm", "lp-item"])
def test_a_program_is_solved_as_the_paper_writes_it(rows: pa.Table, by: str, clip: float | None) -> None:
    total = 0.0
    for query in set(rows["query"].to_pylist()):
        lists = [(r["items"], r["clicks"]) for r in rows.to_pylist() if r["query"] == query]
        total += whole_program(lists, by, clip)
    found = cr.optimize(rows, by=by, clip=clip, examination="reciprocal", holdout="none")
    assert found.value == pytest.approx(total / rows.num_rows, abs=1e-9)


@pytest.mark.parametrize("extra", [{}, {"logging": "uniform"}, {"k": 2, "weights": "dcg"}], ids=str)
@pytest.mark.parametrize("by", ESTIMATOR)
def test_the_value_is_the_estimators_value_of_the_policy(rows: pa.Table, by: str, extra: dict[str, Any]) -> None:
    for clip in CLIPS:
        found = cr.optimize(rows, by=by, clip=clip, **extra)
        asked = {("top" if name == "k" else name): value for name, value in extra.items()}
        name = ESTIMATOR[by]
        judged = cr.evaluate(rows, found.policy, estimators=name, clip=None if name == "pi" else clip, **asked)
        assert judged.value(name) == pytest.approx(found.value, abs=1e-9)
        sums = np.bincount(found.queries, found.probability if found.probability is not None else None)
        assert sums == pytest.approx(1.0, abs=1e-9)


def test_propensities_of_the_log_are_used_for_lists() -> None:
    world = make_world(queries=3, items=4, k=2, users="cm", seed=2)
    rows = simulate(world, 300, np.random.default_rng(1), days=3, drift=0.5)  # several propensities of one ranking
    for by in ("lp-list", "ips"):
        for clip in CLIPS:
            found = cr.optimize(rows, by=by, clip=clip)
            judged = cr.evaluate(rows, found.policy, estimators="list", clip=clip)
            assert judged.value("list") == pytest.approx(found.value, abs=1e-9)


def test_baselines_choose_by_hand() -> None:
    log = {
        "query": ["q"] * 5,
        "items": [["a", "b"], ["a", "b"], ["a", "b"], ["b", "c"], ["c", "a"]],
        "clicks": [[1, 0], [1, 0], [0, 0], [1, 0], [0, 1]],
    }
    assert cr.optimize(log, by="ips").policy.rank("q") == [
        "b",
        "c",
    ]  # a click a page; so has (c, a), which is later as text
    # b at 1 and a at 2 were clicked whenever shown, so was nothing else
    assert cr.optimize(log, by="ip-ips").policy.rank("q") == ["b", "a"]
    # with M = 1 weights are 1: a at 1 has two clicks
    assert cr.optimize(log, by="ips", clip=1.0).policy.rank("q") == ["a", "b"]


def test_assignment_is_scipys() -> None:
    rng = np.random.default_rng(0)
    for trial in range(200):
        length = int(rng.integers(1, 6))
        size = length + int(rng.integers(0, 8))
        values = rng.normal(size=(size, length)) if trial % 2 else rng.integers(0, 3, (size, length)).astype(float)
        chosen = assign(values, np.array([0, size]), np.array([length]))[0]
        assert len(set(chosen.tolist())) == length
        a, k = linear_sum_assignment(-values)
        assert values[chosen, np.arange(length)].sum() == pytest.approx(values[a, k].sum(), abs=1e-9)


@pytest.mark.parametrize("kind", ["exposure", "marginals"])
def test_chances_fill_every_position_and_split_into_rankings(kind: str) -> None:
    rng = np.random.default_rng(3)
    for trial in range(200):
        length = int(rng.integers(1, 6))
        size = length + int(rng.integers(0, 6))
        starts, lengths, allowed = np.array([0, size]), np.array([length]), np.ones(size, dtype=bool)
        height = [0.1, 0.5, 2.0][trial % 3]
        if kind == "exposure":
            looks = np.ones(length) if trial % 4 == 0 else rng.random(length)
            worth, cap, liked = rng.integers(0, 4, size) * rng.random(size), rng.random(size) * height, rng.random(size)
            shown = best_exposure(worth, cap, liked, allowed, looks, starts, lengths=lengths)
        else:
            worth, cap, liked = (rng.random((size, length)) for _ in range(3))
            shown = best_marginals(worth * (worth > 0.3), cap * height, liked, allowed, starts, lengths)
        assert shown.sum(axis=0) == pytest.approx(1, abs=1e-9)
        assert shown.sum(axis=1).max() <= 1 + 1e-9
        _, rankings, chance = rankings_of(starts, shown, lengths)
        back = np.zeros_like(shown)
        for ranking, p in zip(rankings, chance, strict=True):
            assert len(set(ranking.tolist())) == length
            back[ranking, np.arange(length)] += p
        np.testing.assert_allclose(back, shown, atol=1e-9)


def test_candidates_narrow_what_is_shown(rows: pa.Table) -> None:
    names = sorted({a for shown in rows["items"].to_pylist() for a in shown})
    queries = sorted(set(rows["query"].to_pylist()))
    few = dict.fromkeys(queries[1:], names[:3])
    for by in ("lp-ip", "lp-item", "ip-ips", "pi"):
        found = cr.optimize(rows, by=by, clip=2.0, candidates=few)
        assert {a for shown in found.to_arrow()["items"].to_pylist() for a in shown} == set(names[:3])
        assert sorted(set(found.to_arrow()["query"].to_pylist())) == queries[1:]
        assert any("1 query of the log" in note for note in found.notes)


def test_candidates_that_leave_nothing_are_refused(rows: pa.Table) -> None:
    nobody = {"nobody": ["nothing"]}
    for by in ESTIMATOR:
        with pytest.raises(cr.InputError, match="candidates"):
            cr.optimize(rows, by=by, candidates=nobody)


def test_no_click_at_all_keeps_the_most_logged() -> None:
    log = {"query": ["q"] * 3, "items": [["a", "b"], ["b", "a"], ["b", "a"]], "clicks": [[0, 0]] * 3}
    for by in ESTIMATOR:
        found = cr.optimize(log, by=by)
        assert found.policy.rank("q") == ["b", "a"], by
        assert found.value == 0


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"by": "lp-ip", "k": 4}, "longest list has 3"),
        ({"by": "lp-ip", "k": 0}, "from 1 to"),
        ({"by": "lp-ip", "k": 10**10}, "from 1 to"),
        ({"by": "lp-list", "clip": -1}, "positive number"),
        ({"by": "lp-item", "metric": "reward"}, "credits single clicks"),
        ({"by": "lp-itm"}, "did you mean 'lp-item'"),
        ({"by": "lp-ip", "features": "x.csv"}, "`features` is not an option of `by=lp-ip`"),
    ],
)
def test_bad_options_are_refused(rows: pa.Table, options: dict[str, Any], hint: str) -> None:
    with pytest.raises(cr.InputError, match=hint):
        cr.optimize(rows, **options)


def test_hundreds_of_queries_of_a_hundred_lists_take_seconds() -> None:
    rng = np.random.default_rng(5)
    order = np.argsort(rng.gumbel(size=(300, 100, 20)) + rng.normal(size=(300, 1, 20)), axis=2)[:, :, :5]
    clicks = (rng.random(order.shape) < 0.2).astype(np.int8)
    flat = pa.array([f"i{a}" for a in range(20)]).take(pa.array(order.ravel()))
    log = pa.table(
        {
            "query": np.repeat(np.arange(300), 100),
            "items": pa.FixedSizeListArray.from_arrays(flat, 5).cast(pa.list_(pa.string())),
            "clicks": pa.FixedSizeListArray.from_arrays(pa.array(clicks.ravel()), 5).cast(pa.list_(pa.int8())),
        }
    )
    started = time.process_time()
    for by in ("lp-list", "lp-ip", "lp-pbm", "lp-item"):
        cr.optimize(log, by=by, clip=5.0)
    assert time.process_time() - started < 6


def test_rewards_of_pages_may_be_negative_where_one_list_is_chosen() -> None:
    log = {"query": ["q"] * 4, "items": [["a", "b"], ["b", "a"]] * 2, "reward": [-1.0, -3.0, -2.0, -1.0]}
    found = cr.optimize(log, by="ips")
    assert found.policy.rank("q") == ["a", "b"]
    assert found.value == pytest.approx(cr.evaluate(log, found.policy, estimators="list").value("list"))
    assert found.value == pytest.approx(-1.5)
    with pytest.raises(cr.InputError, match="rewards below 0"):
        cr.optimize(log, by="lp-list")
    shifted = {**log, "reward": [r + 3 for r in log["reward"]]}
    assert cr.optimize(shifted, by="lp-list").value == pytest.approx(1.5)


def test_rounding_makes_no_rankings() -> None:
    """Where no cap binds one ranking is best. Differences of looks far down are as small as errors of sums."""
    size, rng = 400, np.random.default_rng(0)
    worth, looks = rng.binomial(30, 0.1, size) / 30, 1 / np.arange(1, size + 1)
    ends, whole = np.array([0, size]), np.array([size])
    free, any_item = np.full(size, np.inf), np.ones(size, dtype=bool)
    shown = best_exposure(worth, free, rng.random(size), any_item, looks, ends, lengths=whole)
    assert len(rankings_of(ends, shown, whole)[2]) == 1
    assert worth @ (shown @ looks) == pytest.approx(np.sort(worth)[::-1] @ looks, abs=1e-9)


LITTLE = """
import resource
import numpy as np
from counterrank.optimizing.programs.birkhoff import rankings_of
resource.setrlimit(resource.RLIMIT_DATA, (2 * 10**9, 2 * 10**9))
size = 2000
order, shifted = np.random.default_rng(0).permutation(size), np.arange(size)
shown = np.zeros((size, size))
for k in range(3):
    shown[np.roll(order, k), shifted] = [0.5, 0.3, 0.2][k]
queries, rows, chances = rankings_of(np.array([0, size]), shown, np.array([size]))
assert np.allclose(chances, [0.5, 0.3, 0.2]), chances
assert (rows[0] == order).all()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_rankings_of_two_thousand_items_take_little_memory() -> None:
    done = subprocess.run([sys.executable, "-c", LITTLE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
