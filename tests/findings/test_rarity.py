"""What two known policies say of the weights, by hand."""

from __future__ import annotations

import numpy as np
import pytest

import counterrank as cr
from counterrank.findings.diagnosis import Finding

LOGGING = {"query": ["q", "q"], "items": [["a"], ["b"]], "probability": [0.999, 0.001]}
TARGET = {"query": ["q", "q"], "items": [["a"], ["b"]], "probability": [0.5, 0.5]}


def log(n: int) -> dict[str, list[object]]:
    """The rare ranking was never met."""
    return {"query": ["q"] * n, "items": [["a"]] * n, "clicks": [[i % 2] for i in range(n)]}


def rarity(result: cr.Evaluation, name: str) -> Finding:
    assert result.diagnosis is not None
    return next(f for f in result.diagnosis.findings if f.key == "rarity" and name in f.estimators)


@pytest.mark.parametrize("name", ["list", "ip", "item", "pi"])
def test_a_weight_that_the_log_never_met_is_found(name: str) -> None:
    second = 0.5 * (0.5 / 0.999) + 0.5 * (0.5 / 0.001)  # E_h[w] = E_π[w²]
    third = 0.5 * (0.5 / 0.999) ** 2 + 0.5 * (0.5 / 0.001) ** 2
    result = cr.evaluate(log(1000), TARGET, logging=LOGGING, estimators=name)
    found = rarity(result, name)
    assert found.level == "do not trust"
    assert found.numbers["expected_size"] == pytest.approx(1000 / second, rel=1e-12)
    assert found.numbers["skewness"] == pytest.approx(third / second**1.5 / 1000**0.5, rel=1e-12)
    assert result.diagnosis is not None
    assert result.diagnosis.verdict == "do not trust"


def test_alike_policies_and_shares_say_nothing_bad() -> None:
    same = cr.evaluate(log(1000), {"q": ["a"]}, logging=LOGGING, estimators="list")
    assert rarity(same, "list").level == "trust"
    shares = cr.evaluate(log(1000), {"q": ["a"]}, estimators="list,ip")
    assert shares.diagnosis is not None
    assert not [f for f in shares.diagnosis.findings if f.key == "rarity"]


def test_drawn_rankings_of_a_target_that_cannot_list_its_own() -> None:
    """Three items, Plackett–Luce against uniform: E_h[w] = 6·Σ h²."""
    scores = {"query": ["q"] * 3, "item": ["a", "b", "c"], "score": [1.0, 0.0, -1.0]}
    e = np.exp([1.0, 0.0, -1.0])
    orders = [(i, j, 3 - i - j) for i in range(3) for j in range(3) if i != j]
    h = np.array([e[i] / e.sum() * e[j] / (e.sum() - e[i]) for i, j, _ in orders])
    rows = {"query": ["q"] * 600, "items": [["a", "b", "c"], ["c", "b", "a"]] * 300, "clicks": [[1, 0, 0]] * 600}
    target = cr.policy.PlackettLuce(scores)
    result = cr.evaluate(rows, target, logging="uniform", estimators="list")
    assert 600 / rarity(result, "list").numbers["expected_size"] == pytest.approx(6 * (h**2).sum(), rel=0.15)
