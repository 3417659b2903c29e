"""Paired differences of every page-level estimator against per-impression influences written out with NumPy."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import direct_oracle
import numpy as np
import page_oracle
import pytest

import counterrank as cr
import worlds
from seeds import in_turn

ITEMS = "abc"
QUERIES = ("p", "q", "r", "s", "t", "u", "v")
NAMES = ("list", "wlist", "pi", "wpi", "dr", "dr-list", "rctr")
KNOWN = {q: dict.fromkeys(permutations(ITEMS, 2), 1 / 6) for q in QUERIES}


def make_log(seed: int, impressions: int = 560, clicks: bool = False) -> list[dict[str, Any]]:
    """Uniform rankings of two of three items, their rewards nearly additive; every ranking comes more than once."""
    rng = random.Random(seed)
    worth = {(q, a): rng.random() for q in QUERIES for a in ITEMS}
    rows = []
    for i in range(impressions):
        q = QUERIES[i % len(QUERIES)]
        items = list(rng.sample(ITEMS, 2))
        value = worth[q, items[0]] + 0.5 * worth[q, items[1]] + (0.2 if items[0] == "a" else 0.0)
        row: dict[str, Any] = {"query": q, "items": items}
        if clicks:
            row["clicks"] = [int(rng.random() < 0.6 * value), int(rng.random() < 0.3 * value)]
        else:
            row["reward"] = rng.gauss(value, 0.5) + 3.0
        rows.append(row)
    return rows


def make_policy(seed: int) -> dict[str, dict[tuple[str, ...], float]]:
    rng = random.Random(1000 + seed)
    out: dict[str, dict[tuple[str, ...], float]] = {}
    for q in QUERIES:
        some = rng.sample(list(permutations(ITEMS, 2)), rng.randint(1, 3))
        share = [rng.random() + 0.1 for _ in some]
        out[q] = {r: x / sum(share) for r, x in zip(some, share, strict=True)}
    return out


def given(policy: dict[str, dict[tuple[str, ...], float]]) -> Any:
    return cr.read_policy(
        worlds.to_arrow(
            [{"query": q, "items": list(r), "probability": p} for q, of in policy.items() for r, p in of.items()]
        )
    )


def features_of(seed: int) -> tuple[dict[tuple[str, str], list[float]], dict[str, list[Any]]]:
    rng = random.Random(2000 + seed)
    known = {(q, a): [rng.gauss(0, 1), rng.gauss(0, 1)] for q in QUERIES for a in ITEMS}
    table = {
        "query": [q for q, _ in known], "item": [a for _, a in known],
        "one": [x[0] for x in known.values()], "two": [x[1] for x in known.values()],
    }  # fmt: skip
    return known, table


class Side:
    """One policy's values and influences; None is the logging policy itself."""

    def __init__(self, rows: list[dict[str, Any]], policy: Any, logging: Any, predict: Any, clip: float) -> None:
        self.rows = sorted(rows, key=lambda row: row["query"])
        self.queries = np.array([row["query"] for row in self.rows])
        self.f = np.array([page_oracle.reward(row) for row in self.rows])
        self.r = np.array([predict(row["query"], tuple(row["items"])) for row in self.rows])
        self.group = np.array([f"{row['query']}{''.join(row['items'])}" for row in self.rows])
        self.same, self.shares, self.clip = policy is None, logging is None, clip
        if self.same:
            self.w = self.v = np.ones(len(self.f))
            self.e = self.by(self.queries, self.r)
            return
        known = page_oracle.shares(self.rows) if logging is None else logging
        self.e = np.array([sum(p * predict(q, r) for r, p in policy[q].items()) for q in self.queries])
        chance = [known[row["query"]].get(tuple(row["items"]), 0.0) for row in self.rows]
        shown = [policy[row["query"]].get(tuple(row["items"]), 0.0) for row in self.rows]
        self.v = np.minimum(np.array(shown) / np.array(chance), clip)
        self.free = self.shares & (np.array(shown) / np.array(chance) <= clip)
        found = page_oracle.answer(self.rows, policy, logging)
        order = np.argsort(found["queries"], kind="stable")
        self.w = found["rows"][0][order]

    @staticmethod
    def by(keys: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The mean of x over equal keys."""
        _, at = np.unique(keys, return_inverse=True)
        return (np.bincount(at, x) / np.bincount(at))[at]

    def regressed(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What a regression on pairs explains of x, and leverages."""
        out, leverage = np.zeros(len(x)), np.zeros(len(x))
        for q in np.unique(self.queries):
            mine = np.flatnonzero(self.queries == q)
            page = np.array([page_oracle.indicator(self.rows[i]["items"], list(ITEMS), 2) for i in mine])
            hat = page @ np.linalg.pinv(page.T @ page, rcond=1e-10) @ page.T
            out[mine], leverage[mine] = hat @ x[mine], np.diag(hat)
        return out, leverage

    def paged(self, x: np.ndarray, gain: float, shift: float) -> np.ndarray:
        """gain·w·(x − shift), the weights those of pi; the mean of each query is put back where they move."""
        if not self.shares:
            return gain * self.w * (x - shift)
        put = self.by(self.queries, self.w * (x - shift))
        return gain * (self.w * (x - self.regressed(x)[0]) + put)

    def listed(self, x: np.ndarray, gain: float, shift: float) -> np.ndarray:
        loose = np.where(self.free, self.v, 0.0)
        held = self.v - loose
        put = self.by(self.queries, loose * (x - shift))
        return gain * (loose * (x - self.by(self.group, x)) + put + held * (x - shift))

    def influence(self, name: str) -> tuple[float, np.ndarray, np.ndarray]:
        """The value, ψ, and the weights that few impressions tell little of."""
        f, left = self.f, self.f - self.r
        if self.same:
            one = min(1.0, self.clip) if name in ("list", "dr-list") else 1.0
            each = one * f + ((1 - one) * self.r if name == "dr-list" else 0.0)
            value = float(each.mean())
            return value, each - value, np.zeros(len(f)) if name.endswith("list") else np.ones(len(f))
        loose = np.where(self.free, self.v, 0.0)
        if name == "rctr":
            return float(f.mean()), f - f.mean(), np.zeros(len(f))
        if name in ("pi", "list"):
            w, by, moves = (self.w, self.paged, self.w) if name == "pi" else (self.v, self.listed, loose)
            value = float((w * f).mean())
            return value, by(f, 1.0, 0.0) - value, moves
        if name in ("wpi", "wlist"):
            w, by, moves = (self.w, self.paged, self.w) if name == "wpi" else (self.v, self.listed, loose)
            value = float((w * f).sum() / w.sum())
            return value, by(f, 1 / w.mean(), value), moves / w.mean()
        w, by, moves = (self.w, self.paged, self.w) if name == "dr" else (self.v, self.listed, loose)
        value = float((self.e + w * left).mean())
        return value, self.e + by(left, 1.0, 0.0) - value, moves


def wanted(name: str, one: Side, other: Side) -> tuple[float, float]:
    """The difference and its standard error, degrees of freedom put back as by HC2 or ranking by ranking."""
    (a, psi, moves), (b, phi, others) = one.influence(name), other.influence(name)
    square = float(((psi - phi) ** 2).sum())
    x = one.f - one.r if name.startswith("dr") else one.f
    weight = moves - others
    if one.shares and not (one.same and other.same):
        if name in ("pi", "wpi", "dr"):
            fit, leverage = one.regressed(x)
            square += float((weight**2 * (x - fit) ** 2 * leverage / (1 - leverage)).sum())
        elif name != "rctr":
            many = 1 / one.by(one.group, 1 / np.array([(one.group == g).sum() for g in one.group], dtype=float))
            square += float((weight**2 * (x - one.by(one.group, x)) ** 2 / (many - 1)).sum())
    n = len(x)
    return a - b, (square / n / (n - 1)) ** 0.5


@pytest.mark.parametrize(
    ("clip", "against", "logging"), in_turn([None, 1.4, 0.7], ["policy", "logging", "from logging"], ["log", "uniform"])
)
def test_influences_written_out(logging: str, against: str, clip: float | None) -> None:
    seed = len(logging) + len(against)
    rows = make_log(seed)
    features, table = features_of(seed)
    predict = direct_oracle.fit(rows, features)
    policies = [make_policy(seed), make_policy(seed + 50)]
    if against != "policy":
        policies[against != "from logging"] = None
    known = None if logging == "log" else KNOWN
    log = cr.read_log(worlds.to_arrow(rows))
    mine = ["logging" if p is None else given(p) for p in policies]
    for name in NAMES:
        limit = clip if name in ("list", "wlist", "dr-list") else None
        extra = {"features": table} if name.startswith("dr") else {}
        found = cr.compare(log, *mine, estimator=name, logging=logging, clip=limit, **extra)
        sides = [Side(rows, p, known, predict, limit or np.inf) for p in policies]
        difference, stderr = wanted(name, *sides)
        assert found.difference == pytest.approx(difference, rel=1e-9, abs=1e-11), name
        assert found.stderr == pytest.approx(stderr, rel=1e-9, abs=1e-11), name
        back = cr.compare(log, *mine[::-1], estimator=name, logging=logging, clip=limit, **extra)
        assert back.difference == pytest.approx(-found.difference, rel=1e-12, abs=1e-14), name
        assert back.stderr == pytest.approx(found.stderr, rel=1e-12), name


@pytest.mark.parametrize("against", ["policy", "logging"])
def test_dm_moves_as_its_regression_does(against: str) -> None:
    rows = make_log(3, 140)
    features, table = features_of(3)
    predict = direct_oracle.fit(rows, features)
    w = predict.w
    one, two = make_policy(3), make_policy(53) if against == "policy" else page_oracle.shares(rows)

    def value(weights: np.ndarray, policy: Any) -> float:
        models = predict.fitted(weights)
        worth = {
            q: sum(p * (models[f][0] + predict.x_of(q, r) @ models[f][1]) for r, p in policy[q].items())
            for q in QUERIES for f in [direct_oracle.fold_of(q)]
        }  # fmt: skip
        return float(weights @ [worth[row["query"]] for row in rows] / weights.sum())

    def gap(weights: np.ndarray) -> float:
        return value(weights, one) - value(weights, two)

    step, n = 1e-5, w.sum()
    psi = n * np.array([(gap(w + step * e) - gap(w - step * e)) / (2 * step) for e in np.eye(len(w))])
    found = cr.compare(
        worlds.to_arrow(rows), given(one), given(two) if against == "policy" else "logging", estimator="dm",
        features=table,
    )  # fmt: skip
    assert found.difference == pytest.approx(gap(w), rel=1e-9)
    assert found.stderr == pytest.approx(float((psi @ psi / n / (n - 1)) ** 0.5), rel=1e-5)
    assert found.model["name"] == "ridge"


@pytest.mark.parametrize(("name", "logging"), in_turn([*NAMES, "dm", "ip", "wip", "pbm", "item"], ["log", "uniform"]))
def test_nothing_differs_from_itself(name: str, logging: str) -> None:
    rows, policy = make_log(5, clicks=True), make_policy(5)
    extra = {"features": features_of(5)[1]} if name in ("dm", "dr", "dr-list") else {}
    for one, two in ((given(policy), given(policy)), ("logging", "logging")):
        found = cr.compare(worlds.to_arrow(rows), one, two, estimator=name, logging=logging, **extra)
        assert (found.difference, found.stderr, found.lower, found.upper) == (0, 0, 0, 0)
        assert found.verdict == "undecided"
        assert found.impressions_needed is None
        if found.by_query is not None:
            assert found.by_query.undecided == len(QUERIES)


@pytest.mark.parametrize("model", ["tree", "lightgbm"])
@pytest.mark.parametrize("name", ["dm", "dr", "dr-list"])
def test_other_regressions(name: str, model: str) -> None:
    rows, (features, table) = make_log(9), features_of(9)
    one, two = (
        cr.policy.PlackettLuce({q: dict(zip(ITEMS, (1.0, 0.3, 0.0), strict=True)) for q in QUERIES}, 0.7),
        "logging",
    )
    options = {"estimator": name, "features": table, "model": model, "logging": "uniform"}
    found = cr.compare(worlds.to_arrow(rows), one, two, **options)
    alone = [
        cr.evaluate(worlds.to_arrow(rows), side, estimators=name, features=table, model=model, logging="uniform")[name]
        for side in (one, two)
    ]
    assert found.difference == pytest.approx(alone[0].value - alone[1].value, abs=1e-9)
    assert 0 < found.stderr < sum(row.stderr for row in alone) + 1e-9
    same = cr.compare(worlds.to_arrow(rows), one, one, **options)
    assert (same.difference, same.stderr) == (0, 0)
    assert features
