"""Kinds of intervals of a difference, of all queries together and of each on its own."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from test_difference import ITEMS, QUERIES, features_of, given, make_log, make_policy

import counterrank as cr
import worlds
from seeds import in_turn


@pytest.mark.parametrize(
    ("name", "logging"), in_turn(["list", "wlist", "ip", "pbm", "item", "pi", "rctr"], ["log", "uniform"])
)
def test_a_query_stands_as_if_it_were_alone(name: str, logging: str) -> None:
    rows, one, two = make_log(11, 1400, clicks=True), make_policy(11), make_policy(12)
    asked = {"estimator": name, "logging": logging, "interval": "t", "examination": "reciprocal"}
    found = cr.compare(worlds.to_arrow(rows), given(one), given(two), **asked)
    wins = {"target": 0, "baseline": 0, "undecided": 0}
    bound = 0
    for row in found.per_query.to_pylist():
        q = row["query"]
        alone = cr.compare(
            worlds.to_arrow([r for r in rows if r["query"] == q]), given({q: one[q]}), given({q: two[q]}), **asked
        )
        assert row["difference"] == pytest.approx(alone.difference, abs=1e-12)
        assert row["stderr"] == pytest.approx(alone.stderr, rel=1e-9, abs=1e-12)
        if row["lower"] is not None:
            bound += 1
            assert row["lower"] == pytest.approx(alone.lower, rel=1e-9, abs=1e-12)
            assert row["upper"] == pytest.approx(alone.upper, rel=1e-9, abs=1e-12)
            if alone.diagnosis.verdict != "do not trust":
                assert row["verdict"] == alone.verdict
            assert (row["impressions_needed"] == 0) == (row["verdict"] != "undecided")
        else:
            assert row["verdict"] == "undecided"
            assert any("worth of evidence: the interval may be" in text for text in alone.warnings)
        wins[row["verdict"]] += 1
    assert bound >= 2
    counted = found.by_query
    assert (counted.target, counted.baseline, counted.undecided) == tuple(wins.values())


def test_what_has_no_error_per_query_gives_differences_alone() -> None:
    rows, table = make_log(1, clicks=True), features_of(1)[1]
    for name in ("wip", "wpi", "dm"):
        extra = {"features": table} if name == "dm" else {}
        found = cr.compare(worlds.to_arrow(rows), given(make_policy(1)), estimator=name, **extra)
        assert found.by_query is None
        assert found.per_query.column_names == ["query", "impressions", "difference"]


@pytest.mark.parametrize("name", ["list", "wlist", "ip", "wip", "pbm", "item", "pi", "wpi", "dm", "dr", "dr-list"])
def test_kinds(name: str) -> None:
    rows = make_log(2, 2800, clicks=True)
    log, sides = cr.read_log(worlds.to_arrow(rows)), (given(make_policy(2)), given(make_policy(3)))
    extra: dict[str, Any] = {"features": features_of(2)[1]} if name in ("dm", "dr", "dr-list") else {}
    got = {
        kind: cr.compare(log, *sides, estimator=name, interval=kind, logging="uniform", **extra)
        for kind in (None, "normal", "t", "bootstrap", "sequence", "hoeffding", "empirical-bernstein", "theorem3")
    }
    normal = got["normal"]
    width = normal.upper - normal.lower
    if name in ("list", "ip", "pbm", "item", "pi"):
        assert got[None].interval == "betting"
        assert got[None].upper is None or got[None].upper - got[None].lower > width
    else:
        assert got[None].interval == "normal"
        assert (got[None].lower, got[None].upper) == (normal.lower, normal.upper)
    assert width == pytest.approx(2 * 1.959963984540054 * normal.stderr)
    assert got["t"].upper - got["t"].lower == pytest.approx(width, rel=0.02)
    assert got["bootstrap"].lower == pytest.approx(normal.lower, abs=0.1 * width)
    assert got["bootstrap"].upper == pytest.approx(normal.upper, abs=0.1 * width)
    assert 1.4 < (got["sequence"].upper - got["sequence"].lower) / width < 1.8
    for kind in ("hoeffding", "empirical-bernstein"):
        if name in ("list", "ip", "pbm", "item", "pi"):
            assert got[kind].upper - got[kind].lower > width
        else:
            assert got[kind].lower is None
            assert got[kind].verdict == "undecided"
            assert any(text.startswith(f"no {kind} interval: it needs a bounded term") for text in got[kind].warnings)
    assert got["theorem3"].lower is None
    assert any("for the value of one policy" in text for text in got["theorem3"].warnings)


def test_the_width_of_a_difference_by_hand() -> None:
    """Six rankings, uniform: weights are 6 times the chance; a click is worth 1 and 0.5."""
    rows = make_log(4, 700, clicks=True)
    one, two = {q: ["a", "b"] for q in QUERIES}, {q: ["b", "c"] for q in QUERIES}
    options: dict[str, Any] = {"logging": "uniform", "weights": [1, 0.5], "interval": "hoeffding"}
    n, slack = 700, math.log(2 / 0.05)
    for name, width in (("list", 12 * 1.5), ("ip", 3 * 1.5 * 2)):  # ip: a pair's weight is 3, either way
        found = cr.compare(worlds.to_arrow(rows), one, two, estimator=name, **options)
        assert found.upper - found.difference == pytest.approx(width * math.sqrt(slack / (2 * n))), name
    # against the logging policy a weight is at most 5 and at least -1; with rewards from 1 to 3 that is 15 to -3
    priced = [{"query": r["query"], "items": r["items"], "reward": 1.0 + sum(r["clicks"])} for r in rows]
    found = cr.compare(
        worlds.to_arrow(priced), one, estimator="list", logging="uniform", interval="hoeffding", reward_range="1,3"
    )
    assert found.upper - found.difference == pytest.approx(18 * math.sqrt(slack / (2 * n)))
    with pytest.raises(cr.InputError, match="`reward_range` is 0,1, but the log has rewards from 1 to 3"):
        cr.compare(worlds.to_arrow(priced), one, estimator="list", reward_range=(0, 1))


@pytest.mark.slow
@pytest.mark.parametrize("baseline", ["policy", "logging"])
def test_intervals_cover_where_the_regression_is_right(baseline: str) -> None:
    """Rewards that are linear in features of slots: 400 logs, 95 % ± 3 %.

    Not for `dm`: with seven queries its penalty biases it, which no interval holds.
    """
    features, table = features_of(7)
    worth = {key: (0.3 * x[0] - 0.2 * x[1], 0.1 * x[0] + 0.2 * x[1]) for key, x in features.items()}
    one, two = make_policy(7), make_policy(8)
    every = [tuple(r) for r in ([a, b] for a in ITEMS for b in ITEMS if a != b)]

    def value(policy: Any) -> float:
        each = [
            sum(p * (worth[q, r[0]][0] + worth[q, r[1]][1]) for r, p in policy[q].items()) for q in QUERIES
        ]  # every query comes as often
        return float(np.mean(each))

    uniform = {q: dict.fromkeys(every, 1 / 6) for q in QUERIES}
    true = value(one) - value(two if baseline == "policy" else uniform)
    names = ("list", "wlist", "pi", "wpi", "dr", "dr-list")
    covered = dict.fromkeys(names, 0)
    sides = given(one), given(two) if baseline == "policy" else "logging"
    for run in range(400):
        rng = random.Random(run)
        rows = []
        for i in range(1400):
            q, items = QUERIES[i % 7], rng.sample(ITEMS, 2)
            rows.append(
                {"query": q, "items": items, "reward": rng.gauss(worth[q, items[0]][0] + worth[q, items[1]][1], 1.0)}
            )
        log = cr.read_log(worlds.to_arrow(rows))
        for name in names:
            extra = {"features": table} if name.startswith("d") else {}
            found = cr.compare(log, *sides, estimator=name, logging="log", **extra)
            covered[name] += found.lower <= true <= found.upper
    shares = {name: times / 400 for name, times in covered.items()}
    assert all(0.92 <= share <= 0.98 for share in shares.values()), shares
