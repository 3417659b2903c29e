"""`dm` against an enumeration, and what it says."""

from __future__ import annotations

import json
import random
from typing import Any

import direct_oracle
import numpy as np
import page_oracle
import pytest
from test_pi import as_log, as_table
from typer.testing import CliRunner

import counterrank as cr
import oracle
from counterrank.cli import app
from counterrank.errors import InputError

MODELS = ("ridge", "lasso", "tree", "lightgbm")


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterrank.regress.boosted.MOST", 60)


def make_rows(
    rng: random.Random, ragged: bool = False, rewards: bool = True, queries: int = 8, most: int = 5
) -> list[dict[str, Any]]:
    """Every query with its own items; rewards may depend on features."""
    rows = []
    for q in range(queries):
        items = [f"i{a}" for a in range(rng.randint(2, most))]
        depth = min(3, len(items))
        for _ in range(rng.randint(5, 30)):
            shown = rng.sample(items, rng.randint(1, depth) if ragged else depth)
            row = {"query": f"q{q}", "items": shown, "impressions": rng.choice([1, 1, 2, 5])}
            row |= {"reward": rng.gauss(1, 2)} if rewards else {"clicks": [int(rng.random() < 0.5) for _ in shown]}
            rows.append(row)
    return rows


def make_target(rng: random.Random, rows: list[dict[str, Any]], new_item: bool) -> page_oracle.Policy:
    """One to three rankings of each query."""
    target = {}
    for q in sorted({row["query"] for row in rows}):
        items = sorted({a for row in rows if row["query"] == q for a in row["items"]}) + ["new"] * new_item
        lists = sorted({tuple(rng.sample(items, len(items))) for _ in range(rng.randint(1, 3))})
        target[q] = {r: 1 / len(lists) for r in lists}
    return target


def make_features(rng: random.Random, rows: list[dict[str, Any]], *also: page_oracle.Policy) -> direct_oracle.Features:
    pairs = {(row["query"], a) for row in rows for a in row["items"]}
    pairs |= {(q, a) for policy in also for q, of in policy.items() for r in of for a in r}
    return {pair: [rng.gauss(0, 1), float(rng.random() < 0.5), 3.0] for pair in sorted(pairs)}


def as_features(features: direct_oracle.Features) -> dict[str, list[Any]]:
    columns = {"query": [q for q, _ in features], "item": [a for _, a in features]}
    width = len(next(iter(features.values())))
    return columns | {f"f{c}": [row[c] for row in features.values()] for c in range(width)}


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
@pytest.mark.parametrize("seed", range(6))
def test_ridge_by_normal_equations(seed: int, engine: str) -> None:
    rng = random.Random(seed)
    rows = make_rows(rng, ragged=seed % 2 == 1, rewards=seed % 3 > 0)
    target = make_target(rng, rows, new_item=seed % 3 == 2)
    features = make_features(rng, rows, target)
    got = cr.evaluate(as_log(rows), as_table(target), estimators="dm", features=as_features(features), engine=engine)
    value, stderr = direct_oracle.dm(rows, target, direct_oracle.fit(rows, features))
    row = got["dm"]
    assert row.value == pytest.approx(value, abs=1e-9)
    assert row.stderr == pytest.approx(stderr, rel=1e-5)
    assert (row.clipped, row.unsupported) == (0.0, 0.0)
    assert row.effective_sample_size == sum(r["impressions"] for r in rows)
    per_query = dict(zip(*(got.per_query[name].to_pylist() for name in ("query", "dm")), strict=True))
    worth = direct_oracle.expected(rows, target, direct_oracle.fit(rows, features))
    assert per_query == pytest.approx(worth, abs=1e-9)


@pytest.mark.parametrize("kind", ["plackett-luce", "ties", "uniform"])
def test_targets_that_cannot_be_listed(kind: str) -> None:
    """Exact for a linear model, drawn with its error said for a tree."""
    rng = random.Random(1)
    rows = make_rows(rng)
    items = {
        q: sorted({a for r in rows if r["query"] == q for a in r["items"]}) for q in sorted({r["query"] for r in rows})
    }
    features = make_features(rng, rows)
    scores = {q: {a: rng.gauss(0, 1) for a in of} for q, of in items.items()}
    flat = [{"query": q, "item": a, "score": s} for q, of in scores.items() for a, s in of.items()]
    listed = oracle.scores(flat, 0.7) if kind == "plackett-luce" else oracle.uniform(items)
    target = {
        "plackett-luce": cr.policy.PlackettLuce(scores, 0.7), "uniform": "uniform",
        "ties": cr.policy.Scores.from_dict({q: dict.fromkeys(of, 0.0) for q, of in items.items()}),
    }[kind]  # fmt: skip
    linear = cr.evaluate(as_log(rows), target, estimators="dm", features=as_features(features))
    value, _ = direct_oracle.dm(rows, listed, direct_oracle.fit(rows, features))
    assert linear.value("dm") == pytest.approx(value, abs=1e-9)
    tree = [
        cr.evaluate(as_log(rows), policy, estimators="dm", features=as_features(features), model="tree")
        for policy in (target, as_table(listed))
    ]
    drawn = [text for text in tree[0]["dm"].warnings if "was drawn" in text]
    assert len(drawn) == 1
    assert "1000 rankings a query" in drawn[0]
    assert not any("was drawn" in text for text in tree[1]["dm"].warnings)
    error = float(drawn[0].split("standard error of ")[1].split(",")[0])
    assert abs(tree[0].value("dm") - tree[1].value("dm")) <= 4 * error + 1e-12
    assert tree[0]["dm"].stderr ** 2 == pytest.approx(tree[1]["dm"].stderr ** 2 + error**2, rel=0.2)


def world(rng: np.random.Generator, queries: int = 60, rows: int = 40, jump: bool = False) -> Any:
    """Rewards from the features of both slots; with `jump` by a threshold that no line follows."""
    log: dict[str, list[Any]] = {"query": [], "items": [], "reward": []}
    features: dict[str, list[Any]] = {"query": [], "item": [], "f": []}
    truth, best = [], {}
    for q in range(queries):
        f = rng.normal(size=4)
        features["query"] += [f"q{q}"] * 4
        features["item"] += list("abcd")
        features["f"] += f.tolist()
        worth = (np.abs(f) > 0.7).astype(float) if jump else f
        for _ in range(rows):
            a, b = rng.permutation(4)[:2]
            log["query"].append(f"q{q}")
            log["items"].append(["abcd"[a], "abcd"[b]])
            log["reward"].append(float(worth[a] + 0.5 * worth[b] + rng.normal(0, 0.3)))
        order = np.argsort(-np.abs(f) if jump else -f)
        best[f"q{q}"] = ["abcd"[a] for a in order[:2]]
        truth.append(worth[order[0]] + 0.5 * worth[order[1]])
    return log, features, best, float(np.mean(truth))


@pytest.mark.parametrize("model", MODELS)
def test_finds_the_truth_where_the_model_is_right(model: str) -> None:
    log, features, best, truth = world(np.random.default_rng(3), jump=model in ("tree", "lightgbm"))
    got = cr.evaluate(log, best, estimators="dm,rctr", features=features, model=model)
    assert got.value("dm") == pytest.approx(truth, abs=0.1)
    assert abs(got.value("rctr") - truth) > 0.3
    assert got.model["name"] == model
    assert got.model["r2"] > 0.6
    assert got.model["folds"] == 5
    assert any(f"{model} (" in text and "explains" in text for text in got["dm"].warnings)


def test_r2_is_of_queries_not_seen() -> None:
    rng = random.Random(4)
    rows = make_rows(rng)
    features = make_features(rng, rows)
    got = cr.evaluate(as_log(rows), "logging", estimators="dm", features=as_features(features))
    predict = direct_oracle.fit(rows, features)
    left = direct_oracle.mean(direct_oracle.left_over(rows, predict), lambda row: row["reward"] ** 2)
    average = direct_oracle.mean(rows, page_oracle.reward)
    spread = direct_oracle.mean(rows, lambda row: (row["reward"] - average) ** 2)
    assert got.model["r2"] == pytest.approx(1 - left / spread, abs=1e-9)
    noise = cr.evaluate(as_log(rows), "logging", estimators="dm", features=as_features(features))
    assert got.model["r2"] > 0 or any("no better than the mean" in text for text in noise["dm"].warnings)


def test_the_origin_of_rewards_does_not_matter() -> None:
    log, features, best, _ = world(np.random.default_rng(0), queries=10)
    log["reward"] = [round(r * 2**20) / 2**20 for r in log["reward"]]  # so that adding rounds nothing away
    far = log | {"reward": [r + 2**20 for r in log["reward"]]}
    for model in MODELS:
        near = cr.evaluate(log, best, estimators="dm,dr,dr-list", features=features, model=model)
        shifted = cr.evaluate(far, best, estimators="dm,dr,dr-list", features=features, model=model)
        for row in near.rows:
            assert shifted.value(row.estimator) - 2**20 == pytest.approx(row.value, abs=1e-5), model
            assert shifted[row.estimator].stderr == pytest.approx(row.stderr, abs=1e-5)


def test_items_without_features_get_the_mean() -> None:
    rng = random.Random(2)
    rows = make_rows(rng)
    target = make_target(rng, rows, new_item=True)
    features = {pair: row for pair, row in make_features(rng, rows).items() if pair != ("q1", "i0")}
    got = cr.evaluate(as_log(rows), as_table(target), estimators="dm", features=as_features(features))
    assert got.value("dm") == pytest.approx(
        direct_oracle.dm(rows, target, direct_oracle.fit(rows, features))[0], abs=1e-9
    )
    total, gone, lost = 0, 0, 0.0
    for row in rows:
        total += row["impressions"] * len(row["items"])
        gone += row["impressions"] * ((row["query"], "i0") == ("q1", "i0") and "i0" in row["items"])
    depth = {q: max(len(r["items"]) for r in rows if r["query"] == q) for q in target}
    share = {}
    for q, of in target.items():
        cells = [(a, p) for r, p in page_oracle.cut(of, depth[q]).items() for a in r]
        share[q] = sum(p for a, p in cells if (q, a) not in features) / sum(p for _, p in cells)
    lost = direct_oracle.mean(rows, lambda row: share[row["query"]])
    assert got["dm"].unsupported == pytest.approx(lost)
    assert (
        f"{gone / total:.1%} of the items that the log shows and {lost:.1%} of those that the target shows have no "
        "features: each column's mean stands in"
    ) in got["dm"].warnings


def test_features_that_match_nothing() -> None:
    log = {"query": ["q"], "items": [["a"]], "reward": [1.0]}
    features = {"query": ["z"], "item": ["a"], "f": [1.0]}
    with pytest.raises(InputError, match="none of the log's items has features"):
        cr.evaluate(log, {"q": ["a"]}, estimators="dm", features=features)


def test_one_query() -> None:
    """Nothing is left to cross-fit on."""
    rows = [row for row in make_rows(random.Random(0)) if row["query"] == "q3"]
    target = make_target(random.Random(0), rows, False)
    features = make_features(random.Random(0), rows)
    got = cr.evaluate(as_log(rows), as_table(target), estimators="dm", features=as_features(features))
    assert got.value("dm") == pytest.approx(
        direct_oracle.dm(rows, target, direct_oracle.fit(rows, features))[0], abs=1e-9
    )
    assert any("fitted on the very rewards it explains" in text for text in got["dm"].warnings)
    for model in MODELS:
        assert cr.evaluate(as_log(rows), "logging", features=as_features(features), model=model).value("dr") is not None


def test_integer_ids_and_weighted_clicks() -> None:
    rng = random.Random(6)
    rows = make_rows(rng, ragged=True, rewards=False)
    features = make_features(rng, rows)
    target = make_target(rng, rows, False)
    theta = [1 / np.log2(k + 2) for k in range(2)]
    cut = [row | {"items": row["items"][:2], "reward": sum(t * c for t, c in zip(theta, row["clicks"], strict=False))}
           for row in rows]  # fmt: skip
    value, _ = direct_oracle.dm(cut, target, direct_oracle.fit(cut, features))
    number = lambda text: int(text[1:]) + 7  # noqa: E731
    options: dict[str, Any] = {"estimators": "dm", "weights": "dcg", "top": 2, "metric": "clicks"}
    plain = cr.evaluate(as_log(rows), as_table(target), features=as_features(features), **options)
    assert plain.value("dm") == pytest.approx(value, abs=1e-9)
    mapped = as_features({(q, str(number(a))): row for (q, a), row in features.items()})
    mapped["item"] = [int(a) for a in mapped["item"]]
    log = as_log([row | {"items": [number(a) for a in row["items"]]} for row in rows])
    policy = as_table({q: {tuple(str(number(a)) for a in r): p for r, p in of.items()} for q, of in target.items()})
    assert cr.evaluate(log, policy, features=mapped, **options).value("dm") == pytest.approx(value, abs=1e-9)


def test_clip_and_defaults() -> None:
    log, features, best, _ = world(np.random.default_rng(0), queries=10)
    got = cr.evaluate(log, best, features=features, clip=2.0)
    assert [row.estimator for row in got.rows] == ["list", "wlist", "rctr", "pi", "wpi", "dm", "dr", "dr-list"]
    assert "`clip` does not apply: no impression is weighted" in got["dm"].warnings
    assert any("`clip` does not apply" in text for text in got["dr"].warnings)
    assert got["dr-list"].clipped == got["list"].clipped > 0
    assert any("biased towards the model's word" in text for text in got["dr-list"].warnings)
    clicks = {"query": log["query"], "items": log["items"], "clicks": [[1, 0]] * len(log["query"])}
    names = [row.estimator for row in cr.evaluate(clicks, best, features=features).rows]
    assert names == ["list", "wlist", "ip", "wip", "pbm", "item", "rctr", "pi", "wpi", "dm", "dr", "dr-list"]
    assert cr.evaluate(log, best).model is None
    assert any(
        "features are not used: rctr" in text
        for text in cr.evaluate(log, best, estimators="rctr", features=features).notes
    )


def test_messages_of_the_command_line(tmp_path: Any) -> None:
    log, features, best, _ = world(np.random.default_rng(0), queries=10)
    (tmp_path / "log.jsonl").write_text(
        "\n".join(json.dumps(dict(zip(log, row, strict=True))) for row in zip(*log.values(), strict=True))
    )
    (tmp_path / "new.jsonl").write_text("\n".join(json.dumps({"query": q, "items": r}) for q, r in best.items()))
    lines = [f"{q},{a},{f}" for q, a, f in zip(*features.values(), strict=True)]
    (tmp_path / "f.csv").write_text("\n".join(["query,item,f", *lines]))

    def run(*more: str) -> Any:
        paths = ["evaluate", f"{tmp_path}/log.jsonl", "--target", f"{tmp_path}/new.jsonl"]
        return CliRunner().invoke(app, [*paths, *more])

    got = run("--features", f"{tmp_path}/f.csv", "--model", "lasso", "--estimator", "dm,dr", "--json")
    assert got.exit_code == 0, got.output
    answer = json.loads(got.stdout)
    assert answer["model"]["name"] == "lasso"
    want = cr.evaluate(log, best, features=features, model="lasso").value("dm")
    assert answer["estimates"][0]["value"] == pytest.approx(want, rel=1e-12)
    for more, words in (
        (["--estimator", "dr,ip"], "dr needs features of items: add --features FILE"),
        (["--model", "tree"], "--model tree is a regression on features: add --features FILE"),
        (["--features", f"{tmp_path}/f.csv", "--model", "rigde"], "unknown model 'rigde': did you mean 'ridge'"),
    ):
        failed = run(*more)
        assert failed.exit_code != 0
        assert words in str(failed.exception) or words in failed.output
