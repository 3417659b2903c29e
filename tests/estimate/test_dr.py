"""`dr` and `dr-list` against an enumeration, and the laws they obey."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import direct_oracle
import numpy as np
import page_oracle
import pytest
from test_dm import MODELS, as_features, few_trees, make_features, make_rows, make_target, world  # noqa: F401 - a fixture
from test_pi import as_log, as_table

import counterrank as cr
import oracle

LOGGINGS = ("log", "uniform", "table", "plackett-luce")


def logging_of(
    kind: str, rng: random.Random, rows: list[dict[str, Any]], target: page_oracle.Policy | None = None
) -> tuple[Any, page_oracle.Policy | None]:
    """As `evaluate` takes it, and listed."""
    items = {
        q: sorted({a for r in rows if r["query"] == q for a in r["items"]}) for q in sorted({r["query"] for r in rows})
    }
    if kind == "log":
        return "log", None
    if kind == "uniform":
        shown = {q: sorted({*of, *(a for r in (target or {}).get(q, ()) for a in r)}) for q, of in items.items()}
        return "uniform", oracle.uniform(shown)
    if kind == "table":
        raw = {q: {r: rng.random() + 0.1 for r in permutations(of)} for q, of in items.items()}
        known = {q: {r: p / sum(of.values()) for r, p in of.items()} for q, of in raw.items()}
        return as_table(known), known
    scores = {q: {a: rng.gauss(0, 1) for a in of} for q, of in items.items()}
    flat = [{"query": q, "item": a, "score": s} for q, of in scores.items() for a, s in of.items()]
    return cr.policy.PlackettLuce(scores, 0.7), oracle.scores(flat, 0.7)


@pytest.mark.parametrize("kind", LOGGINGS)
@pytest.mark.parametrize("seed", range(5))
def test_the_formula_written_out(seed: int, kind: str) -> None:
    rng = random.Random(seed)
    rows = make_rows(rng, ragged=kind == "log" and seed % 2 == 1, rewards=seed % 2 == 0, most=4)
    target = make_target(rng, rows, new_item=seed == 3)
    logging, known = logging_of(kind, rng, rows, target)
    features = make_features(rng, rows, target)
    clip = 1.7 if seed == 4 else None
    got = cr.evaluate(
        as_log(rows), as_table(target), estimators="dr,dr-list,pi,list", logging=logging, clip=clip,
        features=as_features(features), engine="ibis" if seed == 1 else "duckdb",
    )  # fmt: skip
    predict = direct_oracle.fit(rows, features)
    value, stderr = direct_oracle.dr(rows, target, predict, known)
    assert got.value("dr") == pytest.approx(value, rel=1e-9, abs=1e-9)
    if stderr is not None:
        assert got["dr"].stderr == pytest.approx(stderr, rel=1e-9, abs=1e-9)
    value, stderr = direct_oracle.dr_list(rows, target, predict, known, clip or np.inf)
    assert got.value("dr-list") == pytest.approx(value, abs=1e-9)
    if stderr is not None and got["dr-list"].stderr is not None:
        assert got["dr-list"].stderr == pytest.approx(stderr, abs=1e-9)
    for name, plain in (("dr", "pi"), ("dr-list", "list")):
        for field in ("effective_sample_size", "clipped", "unsupported", "distance"):
            same = getattr(got[name], field), getattr(got[plain], field)
            if field != "distance":
                assert same[0] == pytest.approx(same[1], rel=1e-9)
            elif name == "dr":
                assert same[0].sigma2 == pytest.approx(same[1].sigma2)
                assert same[0].deviation is None
        if got[name].unsupported > 1e-9:
            assert any("word of the regression stands alone" in text for text in got[name].warnings)


@pytest.mark.parametrize("logging", ["log", "uniform"])
@pytest.mark.parametrize("model", MODELS)
def test_the_logging_policy_is_worth_the_logs_mean(model: str, logging: str) -> None:
    rng = random.Random(7)
    rows = make_rows(rng, ragged=True)
    features = as_features(make_features(rng, rows))
    average = direct_oracle.mean(rows, page_oracle.reward)
    names = "dr,dr-list,rctr"
    got = cr.evaluate(as_log(rows), "logging", estimators=names, logging=logging, features=features, model=model)
    for name in ("dr", "dr-list"):
        assert got.value(name) == pytest.approx(average, abs=1e-12)
        assert got[name].stderr == pytest.approx(got["rctr"].stderr, rel=1e-9)
    if logging == "log":  # the same policy, given as a table
        shares = as_table(page_oracle.shares(rows))
        again = cr.evaluate(as_log(rows), shares, estimators=names, logging="log", features=features, model=model)
        for name in ("dr", "dr-list"):
            assert again.value(name) == pytest.approx(average, abs=1e-9)


def test_a_clip_below_one_of_the_logging_policy() -> None:
    """Every weight is the clip: V = mean of clip·r + (1 − clip)·r̂."""
    rng = random.Random(1)
    rows = make_rows(rng)
    features = make_features(rng, rows)
    options: dict[str, Any] = {"estimators": "dr-list", "clip": 0.25, "features": as_features(features)}
    row = cr.evaluate(as_log(rows), "logging", **options)["dr-list"]
    predict = direct_oracle.fit(rows, features)

    def mixed(r: dict[str, Any]) -> float:
        return 0.25 * r["reward"] + 0.75 * predict(r["query"], tuple(r["items"]))

    value = direct_oracle.mean(rows, mixed)
    n = sum(r["impressions"] for r in rows)
    spread = direct_oracle.mean(rows, lambda r: (mixed(r) - value) ** 2)
    assert row.value == pytest.approx(value, abs=1e-9)
    assert row.stderr == pytest.approx((spread / (n - 1)) ** 0.5, abs=1e-9)
    assert row.clipped == 1


@pytest.mark.parametrize("model", ["ridge", "lasso"])
def test_a_linear_model_changes_nothing_where_shares_tell_all(model: str) -> None:
    """pi reproduces what is a sum over pairs, and a linear r̂ is one."""
    rng = random.Random(3)
    rows = make_rows(rng)
    features = as_features(make_features(rng, rows))
    target = {q: {max(of, key=of.get): 1.0} for q, of in page_oracle.shares(rows).items()}
    got = cr.evaluate(as_log(rows), as_table(target), estimators="pi,dr", features=features, model=model)
    assert got["pi"].unsupported == 0
    assert got.value("dr") == pytest.approx(got.value("pi"), abs=1e-9)
    other = cr.evaluate(
        as_log(rows), as_table(target), estimators="pi,dr", features=features, model=model, logging="uniform"
    )
    assert abs(other.value("dr") - other.value("pi")) > 1e-3


@pytest.mark.parametrize("model", ["tree", "ridge"])
def test_residuals_of_any_model(model: str) -> None:
    """dr = dm + pi on what the model leaves: predictions are read off `dm` of single rankings."""
    rng = random.Random(11)
    rows = make_rows(rng, most=3)
    features = as_features(make_features(rng, rows))
    target = make_target(rng, rows, new_item=False)
    shown = {q: sorted({tuple(r["items"]) for r in rows if r["query"] == q}) for q in target}
    depth = {q: len(of[0]) for q, of in shown.items()}
    lists = {q: sorted({*of, *page_oracle.cut(target[q], depth[q])}) for q, of in shown.items()}
    said: dict[tuple[str, tuple[str, ...]], float] = {}
    for j in range(max(map(len, lists.values()))):  # the j-th ranking of every query at once
        sure = {q: of[j % len(of)] for q, of in lists.items()}
        table = {q: list(r) for q, r in sure.items()}
        got = cr.evaluate(as_log(rows), table, estimators="dm", features=features, model=model).per_query
        for q, value in zip(got["query"].to_pylist(), got["dm"].to_pylist(), strict=True):
            said[q, sure[q]] = value

    def predict(query: str, ranking: tuple[str, ...]) -> float:
        return said[query, ranking]

    def said_of_target(rows, target, predict) -> float:
        worth = direct_oracle.expected(rows, target, predict)
        return direct_oracle.mean(rows, lambda row: worth[row["query"]])

    for kind in ("log", "uniform"):
        logging, known = logging_of(kind, rng, rows)
        got = cr.evaluate(
            as_log(rows), as_table(target), estimators="dm,dr,dr-list", features=features, model=model, logging=logging
        )
        assert got.value("dm") == pytest.approx(said_of_target(rows, target, predict), abs=1e-9)
        assert got.value("dr") == pytest.approx(direct_oracle.dr(rows, target, predict, known)[0], abs=1e-9)
        want = direct_oracle.dr_list(rows, target, predict, known, np.inf)[0]
        assert got.value("dr-list") == pytest.approx(want, abs=1e-9)


def test_a_perfect_model_leaves_no_noise() -> None:
    """What is left is how queries differ."""
    log, features, best, truth = world(np.random.default_rng(0), queries=30, rows=50)
    place = {(q, a): f for q, a, f in zip(*features.values(), strict=True)}
    clean = [place[q, r[0]] + 0.5 * place[q, r[1]] for q, r in zip(log["query"], log["items"], strict=True)]
    got = cr.evaluate(
        log | {"reward": clean}, best, estimators="dm,dr,dr-list,pi,list", features=features, logging="uniform"
    )
    for name in ("dm", "dr", "dr-list"):
        assert got.value(name) == pytest.approx(truth, abs=1e-4)
        assert got[name].stderr == pytest.approx(got["dm"].stderr, rel=1e-3)
    assert got["pi"].stderr > 1.3 * got["dr"].stderr
    assert got["list"].stderr > 2 * got["dr-list"].stderr


def test_propensities_are_the_weights_of_dr_list() -> None:
    rng = random.Random(5)
    rows = make_rows(rng, most=4)
    _, known = logging_of("plackett-luce", rng, rows)
    depth = {q: max(len(r["items"]) for r in rows if r["query"] == q) for q in known}
    for row in rows:
        row["propensity"] = page_oracle.cut(known[row["query"]], depth[row["query"]])[tuple(row["items"])]
    target = make_target(rng, rows, new_item=False)
    features = make_features(rng, rows)
    got = cr.evaluate(as_log(rows), as_table(target), estimators="dr-list,dr", features=as_features(features))
    predict = direct_oracle.fit(rows, features)
    assert got.value("dr-list") == pytest.approx(
        direct_oracle.dr_list(rows, target, predict, known, np.inf)[0], abs=1e-9
    )
    assert got.value("dr") == pytest.approx(direct_oracle.dr(rows, target, predict)[0], abs=1e-9)


def test_no_ranking_of_the_targets_was_logged() -> None:
    log = {"query": ["q", "p"] * 4, "items": [["a", "b"]] * 8, "reward": [1.0, 2.0] * 4}
    features = {"query": list("qqpp"), "item": list("abab"), "f": [1.0, 2.0, 3.0, 4.0]}
    got = cr.evaluate(log, {"q": ["b", "a"], "p": ["b", "a"]}, features=features)
    row = got["dr-list"]
    assert row.value == pytest.approx(got.value("dm"))
    assert row.stderr is None
    assert row.unsupported == 1
    assert any("the value is the word of the regression alone" in text for text in row.warnings)


def additive_log(rng: np.random.Generator, worth: np.ndarray, chance: dict[tuple[int, ...], float], n: int) -> Any:
    """n impressions of each query; the reward is a sum over pairs, plus noise."""
    lists = list(chance)
    p = np.array(list(chance.values()))
    log: dict[str, list[Any]] = {"query": [], "items": [], "reward": []}
    for q in range(len(worth)):
        for g in rng.choice(len(lists), n, p=p):
            log["query"].append(f"q{q}")
            log["items"].append([f"i{a}" for a in lists[g]])
            log["reward"].append(float(sum(worth[q, a, k] for k, a in enumerate(lists[g])) + rng.normal(0, 0.5)))
    return log


@pytest.mark.slow
@pytest.mark.parametrize("model", ["ridge", "tree"])
def test_unbiased_though_the_model_is_wrong(model: str) -> None:
    """Features say nothing of the worth of pairs; a known policy logs. Nor does the interval lie."""
    rng = np.random.default_rng(5)
    worth = rng.normal(size=(10, 4, 2))
    lists = list(permutations(range(4), 2))
    p = rng.dirichlet(np.full(len(lists), 3.0))
    chance = dict(zip(lists, p, strict=True))
    known = as_table({f"q{q}": {tuple(f"i{a}" for a in r): c for r, c in chance.items()} for q in range(10)})
    features = {
        "query": [f"q{q}" for q in range(10) for _ in range(4)], "item": [f"i{a}" for _ in range(10) for a in range(4)],
        "f": rng.normal(size=40).tolist(), "g": rng.normal(size=40).tolist(),
    }  # fmt: skip
    best = [max(lists, key=lambda r: worth[q, r[0], 0] + worth[q, r[1], 1]) for q in range(10)]
    target = {f"q{q}": [f"i{a}" for a in r] for q, r in enumerate(best)}
    truth = float(np.mean([worth[q, a, 0] + worth[q, b, 1] for q, (a, b) in enumerate(best)]))
    runs = 200 if model == "ridge" else 80
    for logging in (known, "log"):
        found, inside, model_alone = [], 0, []
        for _ in range(runs):
            log = additive_log(rng, worth, chance, 60)
            got = cr.evaluate(log, target, estimators="dm,dr", features=features, model=model, logging=logging)
            row = got["dr"]
            if row.unsupported > 0:
                continue
            found.append(row.value)
            model_alone.append(got.value("dm"))
            inside += row.lower <= truth <= row.upper
        error = np.std(found) / len(found) ** 0.5
        assert len(found) > 0.8 * runs
        assert abs(np.mean(found) - truth) < 3.5 * error
        assert abs(np.mean(model_alone) - truth) > 10 * error
        # queries are as they are in every log, so that an interval for drawn queries covers as often, or more
        assert inside / len(found) > 0.95 - 3 * (0.95 * 0.05 / len(found)) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dr", "dr-list"])
@pytest.mark.parametrize("logging", ["log", "uniform"])
def test_the_interval_covers(name: str, logging: str) -> None:
    """Queries are drawn with each log, and rewards follow features in part."""
    rng = np.random.default_rng(9)
    inside, runs = 0, 300
    size = 400 if logging == "uniform" else 20  # shares must tell of every ranking
    impressions = 3000 if name == "dr-list" else 1500  # so that a few hundred impressions carry weight
    pool = rng.normal(size=(size, 4))
    truth = float(np.mean(np.sort(pool, axis=1)[:, -1] ** 2 + 0.5 * np.sort(pool, axis=1)[:, -2]))
    lists = list(permutations(range(4), 2))
    for _ in range(runs):
        drawn = rng.integers(0, size, impressions)
        shown = [lists[g] for g in rng.integers(0, len(lists), impressions)]
        reward = [pool[q, a] ** 2 + 0.5 * pool[q, b] + rng.normal(0, 1) for q, (a, b) in zip(drawn, shown, strict=True)]
        log = {"query": [f"q{q}" for q in drawn], "items": [[f"i{a}" for a in r] for r in shown], "reward": reward}
        features = {
            "query": [f"q{q}" for q in range(size) for _ in range(4)],
            "item": [f"i{a}" for _ in range(size) for a in range(4)], "f": pool.ravel().tolist(),
        }  # fmt: skip
        target = {f"q{q}": [f"i{a}" for a in np.argsort(-pool[q])[:2]] for q in set(drawn.tolist())}
        row = cr.evaluate(
            log, target, estimators=name, features=features, logging=logging,
            candidates={f"q{q}": [f"i{a}" for a in range(4)] for q in range(size)},
        )[name]  # fmt: skip
        inside += row.lower <= truth <= row.upper
    share = inside / runs
    assert 0.912 <= share <= 0.985, share  # three standard errors
