"""Clusters and terms by query, on every engine and from every form, against ten lines of NumPy."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterrank as cr
from counterrank.engine import Embedded, open_engine
from counterrank.errors import InputError
from counterrank.estimate import ESTIMATORS
from counterrank.interval import query_bounds
from counterrank.judging.evaluate import finished
from counterrank.setting.plan import plan_for
from counterrank.setting.question import Question
from worlds import write_rows

TARGET = {"q": ["a", "b"], "r": ["b", "a"], "s": ["a", "c"]}
ENGINES = ["duckdb", "ibis", "reread"]  # the last reads the log once more for the second pass


def made(n: int = 900, clusters: int = 60, seed: int = 3) -> dict[str, list[Any]]:
    """Three queries, two of three items shown, users with moods; some rows stand for several impressions."""
    rng = np.random.default_rng(seed)
    user, mood = (rng.random(n) ** 3 * clusters).astype(int), rng.random(clusters)
    items = [rng.permutation(["a", "b", "c"])[:2].tolist() for _ in range(n)]
    clicks = [
        [int(rng.random() < 0.1 + 0.8 * mood[u] * (i == "a")) for i in page]
        for u, page in zip(user, items, strict=True)
    ]
    return {
        "query": rng.choice(["q", "r", "s"], n, p=[0.5, 0.3, 0.2]).tolist(),
        "items": items,
        "clicks": clicks,
        "impressions": rng.integers(1, 4, n).tolist(),
        "cluster": [f"u{u}" for u in user],
    }


def terms(log: dict[str, list[Any]]) -> np.ndarray:
    """`ip` where the logging policy is uniform: two of three items, so that every (item, position) has 1/3."""
    rows = zip(log["query"], log["items"], log["clicks"], strict=True)
    return np.array([3.0 * sum(c for c, i, h in zip(k, a, TARGET[q], strict=True) if i == h) for q, a, k in rows])


def run(log: Any, engine: Any, by_query: tuple[str, ...] = ()) -> tuple[Any, Any]:
    question = Question.ask(cr.read_log(log), cr.read_policy(TARGET), logging="uniform")
    estimator = ESTIMATORS["ip"]
    counted = (Embedded(cache_bytes=0) if engine == "reread" else open_engine(engine)).count(
        question.log, plan_for(estimator.needs, question)
    )
    [evidence] = question.evidences(counted, frozenset(estimator.needs))
    done, _ = finished({"ip": estimator.estimate(evidence)}, evidence, counted, by_query=by_query)
    return counted, done["ip"]


@pytest.mark.parametrize("engine", ENGINES)
def test_standard_errors_are_by_cluster(engine: str) -> None:
    log = made()
    n, t = np.array(log["impressions"], dtype=float), terms(log)
    mean = n @ t / n.sum()
    _, code = np.unique(log["cluster"], return_inverse=True)
    sums = np.bincount(code, n * (t - mean))
    number = len(sums)
    counted, estimate = run(log, engine)
    stderr = np.sqrt(estimate.second_moment / n.sum() / (n.sum() - 1))
    assert estimate.value == pytest.approx(mean, rel=1e-9)
    assert stderr == pytest.approx(np.sqrt(number / (number - 1) * (sums @ sums)) / n.sum(), rel=1e-9)
    sizes = np.bincount(code, n)
    assert counted.clusters.number == number
    assert counted.clusters.impressions == n.sum()
    assert counted.clusters.sizes.tolist() == np.unique(sizes).tolist()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("clustered", [False, True])
def test_terms_by_query_are_those_of_the_rows(engine: str, clustered: bool) -> None:
    log = made()
    if not clustered:
        del log["cluster"]
    n, t = np.array(log["impressions"], dtype=float), terms(log)
    _, estimate = run(log, engine, by_query=("ip",))
    units = estimate.query_terms().for_lower
    for q, name in enumerate(sorted(TARGET)):
        mine = np.array(log["query"]) == name
        got = units.queries == q
        if clustered:
            _, code = np.unique(np.array(log["cluster"])[mine], return_inverse=True)
            size, total = np.bincount(code, n[mine]), np.bincount(code, (n * t)[mine])
        else:
            size, total = np.ones(int(n[mine].sum())), np.repeat(t[mine], n[mine].astype(int))
        assert units.counts[got].sum() == len(size)
        for s in np.unique(size):
            assert units.sums[got & (units.sizes == s)].sum() == pytest.approx(total[size == s].sum(), rel=1e-9)
        assert len(np.unique(units.buckets[got & (units.sizes == 1)])) == len(np.unique(total[size == 1]))


def test_engines_agree_and_bounds_of_queries_hold_their_values() -> None:
    log = made()
    found = [run(log, engine, by_query=("ip",))[1] for engine in ("duckdb", "ibis", "reread")]
    bounds = [query_bounds(each.query_terms(), 0.9) for each in found]
    for lower, upper in bounds:
        assert lower == pytest.approx(bounds[0][0], rel=1e-9)
        assert upper == pytest.approx(bounds[0][1], rel=1e-9)
        assert (lower < found[0].per_query).all()
        assert (found[0].per_query < upper).all()


@pytest.mark.slow  # the expressions are those that Ibis runs in every run
@pytest.mark.spark
def test_spark_agrees(spark: Any) -> None:
    log = made()
    wanted, got = (run(log, engine, by_query=("ip",))[1] for engine in ("duckdb", spark))
    assert got.second_moment == pytest.approx(wanted.second_moment, rel=1e-9)
    ours, theirs = (each.query_terms().for_lower for each in (wanted, got))
    assert theirs.buckets.tolist() == ours.buckets.tolist()
    assert theirs.sizes.tolist() == ours.sizes.tolist()
    assert theirs.counts.tolist() == ours.counts.tolist()
    assert theirs.sums == pytest.approx(ours.sums, rel=1e-9)


def long_form(log: dict[str, list[Any]]) -> list[dict[str, Any]]:
    rows = []
    for i, (query, items, clicks) in enumerate(zip(log["query"], log["items"], log["clicks"], strict=True)):
        for k, (item, click) in enumerate(zip(items, clicks, strict=True)):
            row = {"impression": i, "query": query, "position": k + 1, "item": item, "click": click}
            rows.append(row | {"impressions": log["impressions"][i], "cluster": log["cluster"][i]})
    return rows


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
@pytest.mark.parametrize("form", ["jsonl", "csv", "long.jsonl", "parquet"])
def test_every_form_has_clusters(engine: str, form: str, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    log = made(120)
    rows = [dict(zip(log, values, strict=True)) for values in zip(*log.values(), strict=True)]
    path = tmp_path / f"log.{form}"
    if form == "parquet":
        pq.write_table(pa.table(log), path)
    elif form == "csv":
        with path.open("w", newline="") as file:
            out = csv.DictWriter(file, list(log))
            out.writeheader()
            out.writerows(row | {c: json.dumps(row[c]) for c in ("items", "clicks")} for row in rows)
    else:
        chosen = rows if form == "jsonl" else long_form(log)
        path.write_text("".join(json.dumps(row) + "\n" for row in chosen))
    asked = {"logging": "uniform", "estimators": "ip", "engine": engine}
    wanted, got = (cr.evaluate(each, TARGET, **asked)["ip"] for each in (log, path))
    assert got.stderr == pytest.approx(wanted.stderr, rel=1e-9)
    assert got.value == pytest.approx(wanted.value, rel=1e-9)


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
def test_a_row_without_a_cluster_is_bad(engine: str, tmp_path: Path) -> None:
    log = made(50)
    log["cluster"][7] = None
    with pytest.raises(InputError, match="cluster is missing"):
        cr.evaluate(log, TARGET, engine=engine, estimators="ip")
    aside = cr.read_log(log, bad_rows=tmp_path / "bad.jsonl")
    assert cr.evaluate(aside, TARGET, engine=engine, estimators="ip").reading.rejected == 1


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
@pytest.mark.parametrize("value", ["true", "[1]", '{"a": 1}', "1.5", '""', "NaN"])
def test_what_is_no_id_is_no_cluster(value: str, engine: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    row = '{"query": "q", "items": ["a", "b"], "clicks": [1, 0], "cluster": %s}\n'
    path.write_text(row % 7 + row % '"7"' + row % value)
    with pytest.raises(InputError, match="row 3: cluster is missing or no id"):
        cr.evaluate(path, {"q": ["a"]}, engine=engine, estimators="ip")


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
@pytest.mark.parametrize("form", ["jsonl", "long.jsonl", "parquet"])
def test_seven_is_one_cluster_however_it_is_written(form: str, engine: str, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / f"log.{form}"
    log = made(60) | {"cluster": [7.0, 8] * 30, "impressions": [1] * 60}
    rows = [dict(zip(log, values, strict=True)) for values in zip(*log.values(), strict=True)]
    if form == "parquet":
        pq.write_table(pa.table(log), path)
    else:
        chosen = rows if form == "jsonl" else long_form(log)
        text = "".join(json.dumps(row) + "\n" for row in chosen)
        path.write_text(text.replace("7.0", '"7"', 9))
    assert any("2 clusters" in note for note in cr.check(path, engine=engine).notes)


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_a_column_may_be_the_cluster_beside_what_it_is(form: str, engine: str, tmp_path: Path) -> None:
    """A cluster may be a query or a day; a list is none."""
    rows = [{"query": f"q{i % 3}", "items": ["a", "b"][:: 1 - i % 2 * 2], "clicks": [i % 2, 0], "day": i % 4}
            for i in range(24)]  # fmt: skip
    path = write_rows(rows, tmp_path, "log", form)
    for column, told in (("query", "3 clusters"), ("day", "4 clusters")):
        found = cr.check(cr.read_log(path, cluster=column), engine=engine)
        assert any(told in note for note in found.notes)
        assert found.facts["days"] == 4
    for column in ("items", "clicks"):
        with pytest.raises(InputError, match=f"'{column}' is to be both {column} and cluster"):
            cr.read_log(path, cluster=column)


def test_each_impression_a_cluster_is_no_clusters() -> None:
    log = made(300)
    log["impressions"] = [1] * 300
    log["cluster"] = list(range(300))
    alone = cr.read_log(log, ignore="cluster")
    for interval in ("normal", "betting"):
        asked = {"logging": "uniform", "estimators": "ip", "interval": interval}
        one, other = (cr.evaluate(each, TARGET, **asked)["ip"] for each in (log, alone))
        assert (one.stderr, one.lower, one.upper) == pytest.approx((other.stderr, other.lower, other.upper), rel=1e-9)


def test_estimators_by_rankings_say_that_they_have_no_error() -> None:
    found = cr.evaluate(made(), TARGET, logging="uniform", estimators="list,pi")
    for row in found.rows:
        assert row.value is not None
        assert row.stderr is None
        assert any("which do not tell clusters apart" in text for text in row.warnings)
    assert any("standard errors are by cluster: 60 clusters" in note for note in found.notes)


def test_large_clusters_are_capped_and_it_is_said() -> None:
    log = made(900)
    log["cluster"] = ["whale" if i < 60 else f"u{i}" for i in range(900)]
    row = cr.evaluate(log, TARGET, logging="uniform", estimators="ip", interval="betting")["ip"]
    assert row.lower is not None
    assert any("count in the bets as" in text for text in row.warnings)


def test_the_column_may_have_another_name() -> None:
    log = made(200)
    wanted = cr.evaluate(log, TARGET, logging="uniform", estimators="ip")["ip"].stderr
    log["user"] = log.pop("cluster")
    assert cr.evaluate(log, TARGET, logging="uniform", estimators="ip", cluster="user")["ip"].stderr == wanted
    gap = cr.compare(log, TARGET, estimator="ip", logging="uniform", interval="betting", cluster="user")
    assert any("standard errors are by cluster" in note for note in gap.notes)
    facts = cr.check(log, cluster="user").facts
    assert facts["clusters"] == len(set(log["user"]))
    assert facts["largest_cluster"] == max(
        sum(n for n, each in zip(log["impressions"], log["user"], strict=True) if each == user) for user in log["user"]
    )
    with pytest.raises(InputError, match="comes too late"):
        cr.evaluate(cr.read_log(log), TARGET, cluster="user")
