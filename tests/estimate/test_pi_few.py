"""Queries with fewer impressions than coordinates: a smaller matrix gives the same numbers."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import page_oracle
import pytest
from test_pi import EXTRA, FIELDS, as_log, as_table

import counterrank as cr


def few_rows(rng: random.Random, ragged: bool) -> list[dict[str, Any]]:
    """Wide pages, few of them, some twice; the last query has many."""
    rows = []
    for q, size in enumerate([1, 2, 5, 9, 60]):
        items = [f"i{a}" for a in range(rng.randint(5, 7))]
        for _ in range(size):
            shown = rng.sample(items, rng.randint(1, 4) if ragged else 4)
            rows += [
                {"query": f"q{q}", "items": shown, "reward": rng.gauss(1, 2), "impressions": rng.choice([1, 1, 2])}
                for _ in range(rng.choice([1, 1, 2]))
            ]
    rng.shuffle(rows)
    return rows


def a_target(rng: random.Random, rows: list[dict[str, Any]], logged: bool) -> page_oracle.Policy:
    out = {}
    for q in {row["query"] for row in rows}:
        lists = [tuple(row["items"]) for row in rows if row["query"] == q]
        some = set(rng.sample(lists, min(2, len(lists)))) if logged else {tuple(rng.sample(lists[0], len(lists[0])))}
        out[q] = {ranking: 1 / len(some) for ranking in some}
    return out


@pytest.mark.parametrize("seed", range(24))
def test_a_smaller_matrix_gives_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    rows = few_rows(rng, ragged=seed % 2 == 0)
    target = a_target(rng, rows, logged=seed % 3 > 0)
    small = cr.evaluate(as_log(rows), as_table(target), estimators="pi,wpi")
    monkeypatch.setattr(
        "counterrank.estimate.pseudoinverse.gamma.few_impressions",
        lambda counts: np.zeros(len(counts.impressions), dtype=bool),
    )
    large = cr.evaluate(as_log(rows), as_table(target), estimators="pi,wpi")
    want = page_oracle.answer(rows, target)
    assert small.value("pi") == pytest.approx(want["pi"], abs=1e-9, rel=1e-9)
    for name in FIELDS:
        assert getattr(small["pi"], name) == pytest.approx(want[name], abs=1e-9, rel=1e-8), name
    for name in EXTRA:
        assert getattr(small["pi"].distance, name) == pytest.approx(want[name], abs=1e-9, rel=1e-8), name
    for name in ("pi", "wpi"):
        if large.value(name) is not None:
            assert small.value(name) == pytest.approx(large.value(name), abs=1e-9, rel=1e-9)
            assert small[name].stderr == pytest.approx(large[name].stderr, rel=1e-6, abs=1e-9)


def test_eigenvalues_decide_where_pivots_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, were all pivots in doubt."""
    rng = random.Random(1)
    rows = few_rows(rng, ragged=True)
    target = a_target(rng, rows, logged=True)

    def in_doubt(first: int, last: int, few: Any, *others: Any) -> None:
        others[-1].rank[few[first:last]] = -1

    monkeypatch.setattr("counterrank.estimate.pseudoinverse.few.factor_all", in_doubt)
    row = cr.evaluate(as_log(rows), as_table(target), estimators="pi")["pi"]
    want = page_oracle.answer(rows, target)
    assert row.value == pytest.approx(want["pi"], abs=1e-9, rel=1e-9)
    assert row.distance.sigma2 == pytest.approx(want["sigma2"], rel=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_differences_are_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    rows = [row | {"clicks": [int(rng.random() < 0.5) for _ in row["items"]]} for row in few_rows(rng, ragged=False)]
    target, other = (as_table(a_target(rng, rows, logged=True)) for _ in range(2))
    baseline = other if seed % 2 else "logging"
    log = as_log(rows)
    log.pop("reward")
    small = cr.compare(log, target, baseline=baseline, estimator="pi")
    monkeypatch.setattr(
        "counterrank.estimate.pseudoinverse.gamma.few_impressions",
        lambda counts: np.zeros(len(counts.impressions), dtype=bool),
    )
    large = cr.compare(log, target, baseline=baseline, estimator="pi")
    assert small.difference == pytest.approx(large.difference, rel=1e-9, abs=1e-9)
    assert (small.lower, small.upper) == pytest.approx((large.lower, large.upper), rel=1e-6)


def test_slots_whose_pairs_few_pages_hold_are_as_uniform_as_they_are() -> None:
    """Four pages hold each two items of different positions once: Γ is that of uniform pages, and κ is 1."""
    pages = [["a0", "b0", "c0"], ["a0", "b1", "c1"], ["a1", "b0", "c1"], ["a1", "b1", "c0"]]
    log = {"query": ["q"] * 4, "items": pages, "reward": [1.0, 2.0, 3.0, 4.0]}
    target = cr.policy.Slots(["q"] * 6, [1, 1, 2, 2, 3, 3], ["a0", "a1", "b0", "b1", "c0", "c1"])
    row = cr.evaluate(log, target, estimators="pi")["pi"]
    assert row.distance.kappa == pytest.approx(1.0)
    assert row.value == pytest.approx(2.5)
