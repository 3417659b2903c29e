"""The gate of one action against eqs. 53 to 57, term by term."""

from __future__ import annotations

import math

import numpy as np
import pytest

import counterrank as cr
from counterrank.learning.bandit import learn_actions
from learning.slow_learn import bet

RANGE = (-1.0, 3.0)
GENERAL = {"z": "b", "y": {"a": 0.5, "c": 0.5}}


def rows(seed: int, size: int = 240) -> dict[str, list]:
    rng = np.random.default_rng(seed)
    context = rng.choice(["x", "y", "z"], size)
    action, rho, reward = [], [], []
    for each in context:
        chances = {"x": [0.7, 0.3, 0.0], "y": [0.2, 0.3, 0.5], "z": [0.6, 0.2, 0.2]}[each]
        picked = int(rng.choice(3, p=chances))
        action.append("abc"[picked])
        rho.append(chances[picked])
        reward.append(float(np.clip(rng.normal([0, 1.5, 0.3][picked], 0.5), *RANGE)))
    return {"contexts": context.tolist(), "actions": action, "rewards": reward, "propensities": rho}


def literal(terms: list[float], b: float, confidence: float) -> tuple[float, float]:
    n, log = len(terms), math.log(2 / (1 - confidence))
    value = sum(terms) / n
    inner = 2 * n * log / (n - 1) * sum((term - value) ** 2 for term in terms)
    return value, 7 * b * log / (3 * (n - 1)) + math.sqrt(inner) / n


def chance(policy: object, context: str, action: str, rho: float) -> float:
    given = policy.get(context) if isinstance(policy, dict) else None
    if given is None:
        return rho
    return float(given.get(action, 0.0)) if isinstance(given, dict) else float(given == action)


@pytest.mark.parametrize("gate", ["betting", "genspec", "sea"])
@pytest.mark.parametrize("general", [None, GENERAL])
def test_the_gate_of_actions_is_that_of_the_appendix(gate: str, general: dict | None) -> None:
    log, confidence = rows(1), 0.8
    judged = np.arange(240) % 2 == 0
    options = {"general": general, "gate": gate, "confidence": confidence, "selection": judged}
    found = learn_actions(**log, reward_range=RANGE, **options)
    data = list(zip(log["contexts"], log["actions"], log["rewards"], log["propensities"], judged, strict=True))
    special: dict[str, dict[str, float]] = {}
    for context in "xyz":
        worth: dict[str, float] = {a: 0.0 for c, a, *_ in data if c == context}
        for c, a, r, rho, chosen in data:
            if c == context and not chosen:
                worth[a] += r / rho
        top = [a for a in worth if worth[a] == max(worth.values())]
        special[context] = {a: 1 / len(top) for a in top}
    other = general if found.general is not None and found.general["active"] else None

    def ends(keep: set[str], one: object, two: object) -> tuple[float, float, float]:
        every = [(c, a, r, rho, chosen) for c, a, r, rho, chosen in data if c in keep]
        mine = [row for row in every if row[4]]
        weight = [(chance(one, c, a, rho) - chance(two, c, a, rho)) / rho for c, a, _, rho, _ in mine]
        terms = [row[2] * w for row, w in zip(mine, weight, strict=True)]
        b = 3.0 / min(rho for *_, rho, _ in every)
        value, half = literal(terms, b, confidence)
        if gate == "sea":
            half = sum(
                literal([r * chance(side, c, a, rho) / rho for c, a, r, rho, _ in mine], b, confidence)[1]
                for side in (one, two)
            )
        if gate != "betting":
            return value, value - half, value + half
        reach = [(chance(one, c, a, rho) - chance(two, c, a, rho)) / rho for c, a, _, rho, _ in every]
        least = min(0.0, *(min(RANGE[0] * w, RANGE[1] * w) for w in reach))
        most = max(0.0, *(max(RANGE[0] * w, RANGE[1] * w) for w in reach))
        tiny = 0.0 if len(keep) == 3 else 1e-4
        sizes = [1.0] * len(terms)
        return (
            value,
            bet(terms, sizes, least, confidence, tiny),
            -bet([-t for t in terms], sizes, -most, confidence, tiny),
        )

    near = {"rel": 1e-9, "abs": 1e-9} if gate != "betting" else {"abs": 1e-5}
    for row in found.gate.to_pylist():
        value, lower, upper = ends({row["context"]}, special, other)
        assert row["difference"] == pytest.approx(value, rel=1e-9)
        assert row["lower"] == pytest.approx(lower, **near)
        assert row["upper"] == pytest.approx(upper, **near)
        assert (row["acts"] == "special") == (row["lower"] > 0)
    if general is not None:
        assert found.general is not None
        value, lower, upper = ends(set("xyz"), general, None)
        assert found.general["difference"] == pytest.approx(value, rel=1e-9)
        assert found.general["lower"] == pytest.approx(lower, **near)
        assert found.general["active"] == (lower > 0)


def test_rows_are_dealt_by_what_they_hold() -> None:
    log = rows(2)
    found = learn_actions(**log, reward_range=RANGE)
    order = np.random.default_rng(0).permutation(240)
    again = learn_actions(**{name: [column[i] for i in order] for name, column in log.items()}, reward_range=RANGE)
    assert found.split == again.split
    for mine, theirs in zip(found.gate.to_pylist(), again.gate.to_pylist(), strict=True):
        assert mine["acts"] == theirs["acts"]
        assert mine["lower"] == pytest.approx(theirs["lower"], rel=1e-9)


def test_clicks_on_lists_of_one_item_are_such_a_bandit() -> None:
    """With one position the terms of rankings are those of actions."""
    rng = np.random.default_rng(3)
    action = rng.choice(["a", "b"], 300, p=[0.7, 0.3])
    click = (rng.random(300) < np.where(action == "b", 0.6, 0.2)).astype(int)
    half = np.arange(300) < 150
    log = {"query": ["z"] * 300, "items": [[a] for a in action], "clicks": [[int(c)] for c in click]}
    parts = [
        {name: [v for v, kept in zip(column, mask, strict=True) if kept] for name, column in log.items()}
        for mask in (half, ~half)
    ]
    ranked = cr.learn(parts[0], selection=parts[1], gate="genspec").gate.to_pylist()[0]
    share = {a: float((action == a).mean()) for a in "ab"}
    acted = learn_actions(
        log["query"], action.tolist(), click.astype(float).tolist(), [share[a] for a in action],
        reward_range=(0, 1), gate="genspec", selection=~half,
    ).gate.to_pylist()[0]  # fmt: skip
    for name in ("difference", "lower", "upper"):
        assert ranked[name] == pytest.approx(acted[name], rel=1e-9)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reward_range": None}, "`reward_range`"),
        ({"reward_range": (0, 1)}, "outside"),
        ({"propensities": [0.0] * 240}, "propensity"),
        ({"rewards": [1.0]}, "as many"),
        ({"gate": "best"}, "gate"),
        ({"selection": [True]}, "`selection`"),
    ],
)
def test_odd_rows_are_refused(change: dict, said: str) -> None:
    with pytest.raises(cr.InputError, match=said):
        learn_actions(**{**rows(0), "reward_range": RANGE, **change})
