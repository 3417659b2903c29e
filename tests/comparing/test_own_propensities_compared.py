"""`compare` on logs whose impressions have their own propensities."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import counterrank as cr
from counterrank.interval import INTERVALS, Spread
from counterrank.statistics.histogram import Histogram
from counterrank.statistics.terms import Terms, Units

PAGES = list(itertools.permutations("abc", 2))
RATES = {"a": 0.7, "b": 0.4, "c": 0.1}
BETTER, WORSE = {"q": ["a", "b"]}, {"q": ["c", "b"]}


def a_log(number: int, seed: int, random_share: float = 0.3, start: int = 0) -> list[dict[str, Any]]:
    """A service whose base page changes all the time; with chance ε the page is drawn from all."""
    rng = random.Random(seed)
    rows = []
    for i in range(number):
        base = PAGES[(i * 7 // 50 + start) % len(PAGES)]
        page = rng.choice(PAGES) if rng.random() < random_share else base
        own = [(1 - random_share) * (base[k] == page[k]) + random_share / 3 for k in range(2)]
        clicks = [int(rng.random() < RATES[a] / (k + 1)) for k, a in enumerate(page)]
        rows.append({"query": "q", "items": list(page), "clicks": clicks, "item_propensities": own})
    return rows


def weighed(rows: list[dict[str, Any]], policy: dict[str, list[str]]) -> np.ndarray:
    wanted = np.array(policy["q"])
    return np.array([(wanted == np.array(r["items"])) / np.array(r["item_propensities"]) for r in rows])


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
def test_the_bound_is_the_bet_on_the_terms(engine: str) -> None:
    """Against the logging policy a term is Σ (w − 1)·click, which no propensity brings below −2: the least of all."""
    rows = a_log(2000, 1)
    found = cr.compare(pa.Table.from_pylist(rows), BETTER, estimator="ip", engine=engine)
    clicks = np.array([r["clicks"] for r in rows])
    terms = ((weighed(rows, BETTER) - 1) * clicks).sum(axis=1)
    assert found.difference == pytest.approx(terms.mean(), abs=1e-9)
    least = min(p for r in rows for p in r["item_propensities"])
    units = Units.of(Histogram.of(terms))
    spread = Spread(
        value=terms.mean(), stderr=terms.std(ddof=1) / len(rows) ** 0.5, impressions=len(rows),
        terms=Terms(units, units, -2.0, 2 * (1 / least - 1)),
    )  # fmt: skip
    lower, upper = INTERVALS["betting"](spread, 0.95)
    assert found.interval == "betting"
    assert found.lower == pytest.approx(lower, abs=1e-6)
    assert found.upper == pytest.approx(upper, abs=0.05)


def test_what_is_unsupported_is_what_the_mean_weight_lacks() -> None:
    rows = a_log(500, 2, random_share=0.6)
    rows = [r for r in rows if r["items"] != ["c", "b"]]  # as if that page could not be shown
    found = cr.compare(pa.Table.from_pylist(rows), WORSE, baseline=BETTER, estimator="ip")
    for side, policy in (("target", WORSE), ("baseline", BETTER)):
        wanted = max(0.0, 1 - weighed(rows, policy).mean())
        assert found.unsupported[side] == pytest.approx(wanted, abs=1e-9)
    assert found.unsupported["target"] > 0.1


def test_a_policy_of_which_nothing_came_is_not_bounded() -> None:
    rows = [r for r in a_log(300, 3) if r["items"][0] != "c" and r["items"][1] != "b"]
    found = cr.compare(pa.Table.from_pylist(rows), WORSE, estimator="ip")
    assert (found.unsupported["target"], found.lower, found.upper, found.verdict) == (1.0, None, None, "undecided")


def test_a_better_policy_is_found_from_a_log_of_a_changing_service() -> None:
    found = cr.compare(pa.Table.from_pylist(a_log(6000, 4)), BETTER, baseline=WORSE)
    assert found.verdict == "target"
    assert found.diagnosis.verdict != "do not trust"


def test_shuffled_rows_and_counted_rows_give_the_same() -> None:
    rows = a_log(400, 5)
    for r in rows:
        r["impressions"] = 3
    written = [{k: v for k, v in r.items() if k != "impressions"} for r in rows for _ in range(3)]
    random.Random(0).shuffle(written)
    one, two = (cr.compare(pa.Table.from_pylist(each), BETTER, estimator="ip") for each in (rows, written))
    for field in ("difference", "lower", "upper", "stderr"):
        assert getattr(one, field) == pytest.approx(getattr(two, field), abs=1e-9), field


@pytest.mark.slow
def test_the_bound_holds_while_the_logging_policy_changes() -> None:
    truth = sum(RATES[a] / (k + 1) for k, a in enumerate(BETTER["q"]))
    truth -= sum(RATES[a] / (k + 1) for k, a in enumerate(WORSE["q"]))
    held = 0
    for seed in range(200):
        found = cr.compare(pa.Table.from_pylist(a_log(1000, 100 + seed)), BETTER, baseline=WORSE, estimator="ip")
        held += found.lower <= truth <= found.upper
    assert held >= 186
