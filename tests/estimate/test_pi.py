"""`pi` and `wpi` against an enumeration, and the laws they obey."""

from __future__ import annotations

import json
import random
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import page_oracle
import pytest
from threadpoolctl import threadpool_info

import counterrank as cr
import oracle
from counterrank.engine import Embedded
from counterrank.estimate.pseudoinverse import uniform as pi_uniform
from counterrank.estimate.pseudoinverse.pinv import pseudoinverse
from counterrank.interval import deviation
from counterrank.judging.distance import WORK, too_much
from rounding import allowed

FIELDS = ("effective_sample_size", "unsupported")
EXTRA = ("sigma2", "rho", "rho_bar", "kappa")


def make_rows(rng: random.Random, ragged: bool, rewards: bool, queries: int = 3) -> list[dict[str, Any]]:
    rows = []
    for q in range(queries):
        items = [f"i{a}" for a in range(rng.randint(2, 5))]
        depth = rng.randint(1, min(3, len(items)))
        for _ in range(rng.randint(1, 40)):
            shown = rng.sample(items, rng.randint(1, depth) if ragged else depth)
            row = {"query": f"q{q}", "items": shown, "impressions": rng.choice([1, 1, 2, 5])}
            row |= {"reward": rng.gauss(1, 2)} if rewards else {"clicks": [int(rng.random() < 0.5) for _ in shown]}
            rows.append(row)
    return rows


def make_target(rng: random.Random, rows: list[dict[str, Any]], new_item: bool) -> page_oracle.Policy:
    target = {}
    for q in {row["query"] for row in rows}:
        items = sorted({a for row in rows if row["query"] == q for a in row["items"]}) + ["new"] * new_item
        lists = [tuple(rng.sample(items, len(items))) for _ in range(rng.randint(1, 3))]
        target[q] = {r: 1 / len(set(lists)) for r in set(lists)}
    return target


def as_table(policy: page_oracle.Policy) -> cr.policy.Table:
    flat = [(q, list(r), p) for q, of in policy.items() for r, p in of.items()]
    return cr.policy.Table([q for q, _, _ in flat], [r for _, r, _ in flat], [p for _, _, p in flat])


def check(
    rows: list[dict[str, Any]], target: Any, listed: page_oracle.Policy, logging: Any, known: page_oracle.Policy | None
) -> None:
    got = cr.evaluate(as_log(rows), target, estimators="pi,wpi", logging=logging)
    want = page_oracle.answer(rows, listed, known)
    row = got["pi"]
    assert row.value == pytest.approx(want["pi"], abs=1e-9, rel=1e-9)
    assert got.value("wpi") == (None if want["wpi"] is None else pytest.approx(want["wpi"], abs=1e-8, rel=1e-8))
    for name in FIELDS:
        assert getattr(row, name) == pytest.approx(want[name], abs=1e-9, rel=1e-8), name
    for name in EXTRA:
        assert getattr(row.distance, name) == pytest.approx(want[name], abs=1e-9, rel=1e-8), name
    if known is not None:
        w, f, t, _, _ = want["rows"]
        psi = w * f - want["pi"]
        n = t.sum()
        assert row.stderr == pytest.approx(((psi**2 * t).sum() / n / (n - 1)) ** 0.5, rel=1e-7)


def as_log(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.mark.parametrize("seed", range(40))
def test_shares_of_the_log(seed: int) -> None:
    rng = random.Random(seed)
    rows = make_rows(rng, ragged=seed % 2 == 1, rewards=seed % 3 == 0)
    target = make_target(rng, rows, new_item=seed % 5 == 0)
    check(rows, as_table(target), target, "log", None)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["uniform", "table", "plackett-luce", "ties", "mixture"])
def test_given_logging_policies(kind: str, seed: int) -> None:
    rng = random.Random(seed)
    rows = make_rows(rng, ragged=False, rewards=seed % 2 == 0)
    target = make_target(rng, rows, new_item=False)
    items = {q: sorted({a for row in rows if row["query"] == q for a in row["items"]}) for q in target}
    scores = [
        {"query": q, "item": a, "score": rng.gauss(0, 1) if kind != "ties" else 0.0} for q in items for a in items[q]
    ]
    dealt = {q: {s["item"]: s["score"] for s in scores if s["query"] == q} for q in items}
    uniform = oracle.uniform(items)
    luce = oracle.scores(scores, 0.7)
    logging: Any
    if kind == "uniform":
        logging, known = "uniform", uniform
    elif kind == "table":
        known = {q: {r: rng.random() for r in permutations(items[q])} for q in items}
        known = {q: {r: p / sum(of.values()) for r, p in of.items()} for q, of in known.items()}
        logging = as_table(known)
    elif kind == "plackett-luce":
        logging, known = cr.policy.PlackettLuce(dealt, 0.7), luce
    elif kind == "ties":
        logging, known = cr.policy.Scores.from_dict(dealt), uniform
    else:
        some = {q: {tuple(items[q]): 1.0} for q in items}
        logging = cr.policy.Mixture(as_table(some), 0.4, cr.policy.PlackettLuce(dealt, 0.7))
        known = oracle.mixture([(0.6, some), (0.4, luce)])
    check(rows, as_table(target), target, logging, known)


@pytest.mark.parametrize("logging", ["log", "uniform"])
@pytest.mark.parametrize("seed", range(6))
def test_the_logging_policy_is_worth_the_logs_mean(seed: int, logging: str) -> None:
    rng = random.Random(seed)
    rows = make_rows(rng, ragged=True, rewards=True)
    times = np.array([row["impressions"] for row in rows])
    mean = float((times * [row["reward"] for row in rows]).sum() / times.sum())
    got = cr.evaluate(as_log(rows), "logging", logging=logging, estimators="pi,wpi,rctr")
    for name in ("pi", "wpi"):
        assert got.value(name) == pytest.approx(mean, rel=1e-14)
        assert got[name].stderr == pytest.approx(got["rctr"].stderr)
    assert (got["pi"].distance.sigma2, got["pi"].distance.rho) == (1.0, 1.0)
    if logging == "log":  # the same policy, given as a table
        again = cr.evaluate(as_log(rows), as_table(page_oracle.shares(rows)), estimators="pi,wpi", logging="log")
        for name in ("pi", "wpi"):
            assert again.value(name) == pytest.approx(mean, rel=1e-10)
        assert again["pi"].distance.sigma2 == pytest.approx(1)
        assert again["pi"].distance.rho == pytest.approx(1)


@pytest.mark.parametrize("logging", ["log", "uniform"])
@pytest.mark.parametrize("seed", range(8))
def test_one_position_is_ips(seed: int, logging: str) -> None:
    rng = random.Random(seed)
    rows = [row | {"items": row["items"][:1], "clicks": row["clicks"][:1]} for row in make_rows(rng, False, False)]
    target = as_table(make_target(rng, rows, new_item=seed % 2 == 0))
    got = cr.evaluate(as_log(rows), target, estimators="list,wlist,pi,wpi", logging=logging)
    for plain, page in (("list", "pi"), ("wlist", "wpi")):
        assert got.value(page) == (None if got.value(plain) is None else pytest.approx(got.value(plain), rel=1e-10))
        if got[plain].stderr is not None:
            assert got[page].stderr == pytest.approx(got[plain].stderr, rel=1e-7)
        assert got[page].effective_sample_size == pytest.approx(got[plain].effective_sample_size)


@pytest.mark.parametrize("m", range(1, 8))
def test_closed_forms_of_uniform_logging(m: int) -> None:
    rng = np.random.default_rng(m)
    for length in range(1, m + 1):
        a, j = (x.ravel() for x in np.mgrid[:m, :length])
        gamma = np.where((a[:, None] != a) & (j[:, None] != j), 1 / (m * max(m - 1, 1)), 0.0)
        np.fill_diagonal(gamma, 1 / m)
        q = rng.random((m, length))
        by_matrix = np.linalg.pinv(gamma, rcond=1e-12, hermitian=True)
        assert pi_uniform.solved(q).ravel() == pytest.approx(by_matrix @ q.ravel(), abs=1e-10)
        assert pi_uniform.times(q).ravel() == pytest.approx(gamma @ q.ravel(), abs=1e-12)
        assert pseudoinverse(gamma)[0] == pytest.approx(by_matrix, abs=1e-9)


def additive_world(
    rng: np.random.Generator, m: int, length: int
) -> tuple[dict[str, Any], dict[tuple[str, ...], float]]:
    """Every ranking as often as a known policy shows it, and its expected reward."""
    items = [f"i{a}" for a in range(m)]
    phi = rng.normal(size=(m, length))
    lists = list(permutations(range(m), length))
    worth = {tuple(items[a] for a in r): float(sum(phi[a, k] for k, a in enumerate(r))) for r in lists}
    times = rng.integers(1, 9, len(lists))
    log = {
        "query": ["q"] * len(lists), "items": [list(r) for r in worth], "reward": list(worth.values()),
        "impressions": times.tolist(),
    }  # fmt: skip
    return log, worth


@pytest.mark.parametrize(("m", "length"), [(3, 2), (4, 2), (4, 4), (5, 3)])
def test_unbiased_on_additive_rewards_where_the_product_form_is_not(m: int, length: int) -> None:
    """A log with every ranking in proportion is its own expectation."""
    rng = np.random.default_rng(m * 10 + length)
    log, worth = additive_world(rng, m, length)
    lists = list(worth)
    best = lists[int(rng.integers(len(lists)))]
    total = sum(log["impressions"])
    known = as_table({"q": {r: t / total for r, t in zip(lists, log["impressions"], strict=True)}})
    for logging in ("log", known):
        got = cr.evaluate(log, {"q": list(best)}, estimators="pi,wpi", logging=logging)
        assert got.value("pi") == pytest.approx(worth[best], abs=1e-10)
        assert got.value("wpi") == pytest.approx(worth[best], abs=1e-9)
    seen = {(a, k): 0.0 for r in lists for k, a in enumerate(r)}
    for r, t in zip(lists, log["impressions"], strict=True):
        for k, a in enumerate(r):
            seen[a, k] += t / total
    product = sum(
        t / total * worth[r] * (1 - length + sum((best[k] == a) / seen[a, k] for k, a in enumerate(r)))
        for r, t in zip(lists, log["impressions"], strict=True)
    )
    assert abs(product - worth[best]) > 1e-3


def test_influence_with_estimated_shares_is_the_regressions() -> None:
    """Σψ² = Σ w²e²/(1 − h) + Σ (qᵀφ − V)², from the enumeration's residuals and leverages."""
    rng = random.Random(5)
    rows = make_rows(rng, ragged=True, rewards=True, queries=4)
    for q in range(4):  # enough rows that no impression is fitted alone
        rows += [dict(row, reward=rng.gauss(0, 1)) for row in rows if row["query"] == f"q{q}" for _ in range(4)]
    target = make_target(rng, rows, new_item=False)
    got = cr.evaluate(as_log(rows), as_table(target), estimators="pi,wpi")
    want = page_oracle.answer(rows, target)
    w, f, t, y, h = want["rows"]
    n = t.sum()
    ids = np.array(want["queries"])
    for name, shift, value, scale in (
        ("pi", 0.0, want["pi"], 1.0), ("wpi", want["wpi"], 0.0, (w * t).sum() / n),
    ):  # fmt: skip
        noise = (w**2 * (f - y) ** 2 * t / (1 - h)).sum()
        back = 0.0
        for q in set(ids):
            mine = ids == q
            size = t[mine].sum()
            back += size * ((w * (f - shift) * t)[mine].sum() / size - value) ** 2
        second = (noise + back) / scale**2
        assert got[name].stderr == pytest.approx((second / n / (n - 1)) ** 0.5, rel=1e-6), name


def test_deviation_and_json() -> None:
    log = {"query": ["q"] * 4, "items": [["a", "b"], ["b", "a"]] * 2, "clicks": [[1, 0], [0, 1]] * 2}
    got = cr.evaluate(log, {"q": ["a", "b"]}, estimators="pi,wpi,rctr", weights="dcg")
    pi, wpi, rctr = json.loads(got.to_json())["estimates"]
    largest = 1 + 1 / np.log2(3)
    assert pi["deviation"] == pytest.approx(deviation(2.0, 2.0, 4, 0.95, largest))
    assert (pi["sigma2"], pi["rho"], pi["rho_bar"], pi["kappa"]) == pytest.approx((2.0, 2.0, 2.0, 1.0))
    assert wpi["deviation"] is None
    assert "sigma2" not in rctr
    assert "page" not in pi
    assert any("shares" in text for text in pi["warnings"])
    assert got.to_arrow()["sigma2"].to_pylist() == pytest.approx([2.0, 2.0, None])
    wide = cr.evaluate(log, {"q": ["a", "b"]}, estimators="pi", reward_range="-10,2")
    assert wide["pi"].distance.deviation == pytest.approx(deviation(2.0, 2.0, 4, 0.95, 10))
    known = cr.evaluate(log, {"q": ["a", "b"]}, estimators="pi", reward_range="-10,2", logging="uniform")
    assert known["pi"].distance.deviation == pytest.approx(deviation(2.0, 2.0, 4, 0.95, 10))
    with pytest.raises(cr.errors.InputError, match="`reward_range`"):
        cr.evaluate(log, {"q": ["a", "b"]}, reward_range="1")


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
def test_the_range_of_rewards_is_that_of_the_log_unless_it_is_given(engine: str) -> None:
    """Rewards of queries that the target does not have are not counted."""
    log = {
        "query": [*"qqqq", "other"], "items": [["a", "b"], ["b", "a"]] * 2 + [["a", "b"]],
        "reward": [1.5, 0.5, 0.2, -1.0, 99.0],
    }  # fmt: skip
    row = cr.evaluate(log, {"q": ["a", "b"]}, estimators="pi", engine=engine)["pi"]
    assert row.distance.deviation == pytest.approx(deviation(2.0, 2.0, 4, 0.95, 1.5))
    assert any("smallest and the largest logged reward, -1 and 1.5" in text for text in row.warnings)
    given = cr.evaluate(log, {"q": ["a", "b"]}, estimators="pi", reward_range=(-2, 2), engine=engine)["pi"]
    assert given.distance.deviation == pytest.approx(deviation(2.0, 2.0, 4, 0.95, 2))
    assert not any("logged reward" in text for text in given.warnings)
    flat = cr.evaluate(log | {"reward": [1.0] * 5}, {"q": ["a", "b"]}, estimators="pi", engine=engine)["pi"]
    assert flat.distance.deviation is None
    assert any("`reward_range`" in text for text in flat.warnings)


@pytest.mark.parametrize("seed", range(5))
def test_a_constant_added_to_all_rewards_is_added_to_the_value(seed: int) -> None:
    """With shares from the log and a supported target, weights average 1."""
    rng = random.Random(seed)
    rows = make_rows(rng, ragged=False, rewards=True)
    target = as_table(page_oracle.shares(rows))
    plain = cr.evaluate(as_log(rows), target, estimators="pi")["pi"]
    more = cr.evaluate(as_log([row | {"reward": row["reward"] + 7} for row in rows]), target, estimators="pi")["pi"]
    assert more.value == pytest.approx(plain.value + 7, abs=1e-9)


def test_what_the_log_cannot_tell_is_said() -> None:
    log = {"query": ["q"] * 3, "items": [["a", "b"]] * 3, "clicks": [[1, 0], [0, 0], [1, 1]]}
    got = cr.evaluate(log, {"q": ["b", "c"]}, estimators="pi,wpi", clip=5)
    assert got.value("pi") == 0
    assert got.value("wpi") is None
    assert got["pi"].unsupported == pytest.approx(1)
    assert got["pi"].clipped == 0
    assert any("cannot tell" in text for text in got["pi"].warnings)
    assert any("`clip` does not apply" in text for text in got["pi"].warnings)
    # Γ is 1 in all four entries of (a, 1) and (b, 2), and q is 1 at (a, 1) and (c, 2)
    half = cr.evaluate(log, {"q": ["a", "c"]}, estimators="pi")["pi"]
    assert half.value == pytest.approx(0.5)  # half of the log's mean, 3 clicks in 3 impressions
    assert half.unsupported == pytest.approx(1 - 0.5 / 2)


def test_rare_rankings_are_named() -> None:
    scores = {"q": {"a": 0.0, "b": -12.0, "c": -24.0}}
    log = {"query": ["q"] * 2, "items": [["a", "b"], ["a", "c"]], "reward": [1.0, 0.0]}
    row = cr.evaluate(log, {"q": ["c", "b"]}, estimators="pi", logging=cr.policy.PlackettLuce(scores, 1.0))["pi"]
    assert any("'q'" in text and "condition" in text for text in row.warnings)
    assert row.distance.rho > 1e6


def test_drawn_pair_marginals_come_with_their_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    rows = make_rows(rng, ragged=False, rewards=True)
    target = as_table(make_target(rng, rows, new_item=False))
    items = {row["query"]: {} for row in rows}
    for row in rows:
        items[row["query"]] |= {a: 0.1 * int(a[1:]) for a in row["items"]}
    logging = cr.policy.PlackettLuce(items, 1.0)
    exact = cr.evaluate(as_log(rows), target, estimators="pi", logging=logging)["pi"]
    monkeypatch.setattr("counterrank.policy.sets.feasible", lambda m, k: False)
    drawn = cr.evaluate(as_log(rows), target, estimators="pi", logging=logging)["pi"]
    said = next(text for text in drawn.warnings if "drawn" in text)
    assert "standard error" in said
    assert 0 < abs(drawn.value - exact.value) < 4 * float(said.split("error of ")[1].split(",")[0])


@pytest.mark.parametrize("rewards", [False, True])
@pytest.mark.parametrize("engine", [Embedded(), Embedded(cache_bytes=0), "ibis"], ids=["memory", "disk", "groups"])
def test_blocks_of_queries_and_rows_on_disk_change_nothing(
    engine: Any, rewards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(11)
    rows = make_rows(rng, ragged=True, rewards=rewards, queries=12)
    rng.shuffle(rows)
    target = as_table(make_target(rng, rows, new_item=False))
    whole = cr.evaluate(as_log(rows), target, estimators="pi,wpi")
    monkeypatch.setattr("counterrank.estimate.pseudoinverse.gamma.BLOCK", 100)
    monkeypatch.setattr("counterrank.estimate.pseudoinverse.gamma.QUICK", 100)
    monkeypatch.setattr("counterrank.engine.pages.CHUNK_ROWS", 7)
    monkeypatch.setattr("counterrank.log.parts.BATCH_ROWS", 31)
    parts = cr.evaluate(as_log(rows), target, estimators="pi,wpi", engine=engine)
    for name in ("pi", "wpi"):
        assert parts.value(name) == pytest.approx(whole.value(name), rel=1e-12)
        assert parts[name].stderr == pytest.approx(whole[name].stderr, rel=1e-9)
        assert parts[name].distance.rho == pytest.approx(whole[name].distance.rho)


def test_eigenvalues_decide_where_pivots_do_not() -> None:
    """Two items that are nearly always shown together: the pivots leave a doubt, the eigenvalues do not."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    gamma = basis @ np.diag([1.0, 0.5, 0.1, 1e-8, 0.0, 0.0]) @ basis.T
    found, condition = pseudoinverse(gamma)
    assert condition == pytest.approx(1e8, rel=1e-5)
    assert gamma @ found @ gamma == pytest.approx(gamma, abs=allowed(condition))


def test_small_matrices_are_not_shared_between_threads_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ranking so rare that eigenvalues must decide: threads that have threads of their own would only wait."""
    threads = set()

    def eigh(matrix: np.ndarray) -> Any:
        threads.update(info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas")
        return real(matrix)

    real = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", eigh)
    log = {
        "query": ["q"] * 3, "items": [["a", "b"], ["d", "c"], ["a", "c"]], "reward": [1.0, 2.0, 3.0],
        "impressions": [10**9, 10**9, 1],
    }  # fmt: skip
    assert cr.evaluate(log, {"q": ["a", "c"]}, estimators="pi").value("pi") == pytest.approx(3.0, abs=1e-4)
    assert threads == {1}


def test_matrices_that_would_take_long_are_left_out_unless_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(2)
    clicks, rewards = (make_rows(rng, ragged=False, rewards=kind) for kind in (False, True))
    target = as_table(make_target(rng, clicks, new_item=False) | make_target(rng, rewards, new_item=False))
    for rows in (clicks, rewards):
        assert {"pi", "wpi"} <= {row.estimator for row in cr.evaluate(as_log(rows), target).rows}
    monkeypatch.setitem(WORK, "clicks", 1.0)
    few = cr.evaluate(as_log(clicks), target)
    assert not {"pi", "wpi"} & {row.estimator for row in few.rows}
    assert any("pi, wpi left out: 3 matrices" in note and "`estimators`" in note for note in few.notes)
    assert cr.evaluate(as_log(clicks), target, estimators="pi").value("pi") is not None
    assert "pi" in {row.estimator for row in cr.evaluate(as_log(rewards), target).rows}
    uniform = cr.evaluate(as_log(clicks), target, logging="uniform")  # a closed form needs no matrix
    assert "pi" in {row.estimator for row in uniform.rows}


def test_ten_thousand_queries_of_two_hundred_items_at_ten_positions_are_too_much() -> None:
    """The work is foreseen from the counts alone; a query with few impressions needs a small matrix."""
    for impressions, reason in ((5000, "10,000 matrices of up to 2,000 rows"), (40, None)):
        counts = SimpleNamespace(
            pages=(), impressions=np.full(10_000, impressions),
            cells=SimpleNamespace(starts=np.arange(2_000_001) * 10),
            pairs=SimpleNamespace(
                starts=np.arange(10_001) * 200, sizes=np.full(10_000, 200),
                lengths=np.full(10_000, 10 if reason else 11),
            ),
        )  # fmt: skip
        said = too_much(SimpleNamespace(counts=counts, shares=True, of_clicks=True))
        assert (said is None) if reason is None else (reason in said)
