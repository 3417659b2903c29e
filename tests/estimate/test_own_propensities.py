"""`ip` and `wip` where each impression has its own propensities: against enumeration and plain loops."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import counterrank as cr

ITEMS = ("a", "b", "c")
PAGES = list(itertools.permutations(ITEMS, 2))
ATTRACTION = {"a": 0.9, "b": 0.5, "c": 0.2}
LOOKS = (1.0, 0.6)
TARGET = {"q": {("b", "a"): 0.7, ("c", "b"): 0.3}, "r": {("a", "c"): 1.0}}
ROWS = [{"query": q, "items": list(page), "probability": p} for q, of in TARGET.items() for page, p in of.items()]


def chance_at(policy: dict[tuple[str, ...], float], item: str, k: int) -> float:
    return sum(p for page, p in policy.items() if page[k] == item)


def loggers(number: int, seed: int = 0) -> list[dict[tuple[str, ...], float]]:
    """A logging policy of its own for each impression."""
    rng = np.random.default_rng(seed)
    drawn = rng.dirichlet(np.ones(len(PAGES)), number) * 0.8 + 0.2 / len(PAGES)
    return [dict(zip(PAGES, map(float, each), strict=True)) for each in drawn]


def row(query: str, page: tuple[str, ...], clicks: Any, policy: dict[tuple[str, ...], float]) -> dict[str, Any]:
    own = [chance_at(policy, item, k) for k, item in enumerate(page)]
    return {"query": query, "items": list(page), "clicks": list(clicks), "propensity": policy[page],
            "item_propensities": own}  # fmt: skip


def a_log(number: int = 300, seed: int = 1, ragged: bool = True) -> list[dict[str, Any]]:
    rng, made = random.Random(seed), loggers(number, seed)
    rows = []
    for i, policy in enumerate(made):
        page = rng.choices(PAGES, [policy[p] for p in PAGES])[0]
        clicks = [int(rng.random() < ATTRACTION[item] * LOOKS[k]) for k, item in enumerate(page)]
        rows.append(row("qr"[i % 2], page, clicks, policy))
        if ragged and i % 7 == 0:  # a shorter page: the chances of its items are what they were
            rows[-1] = {name: v[:1] if isinstance(v, list) else v for name, v in rows[-1].items()}
    return rows


def weights(rows: list[dict[str, Any]], clip: float = math.inf) -> list[list[float]]:
    return [
        [min(chance_at(TARGET[r["query"]], a, k) / p, clip)
         for k, (a, p) in enumerate(zip(r["items"], r["item_propensities"], strict=True))]
        for r in rows
    ]  # fmt: skip


def slow_ip(rows: list[dict[str, Any]], clip: float = math.inf) -> dict[str, float]:
    w = weights(rows, clip)
    terms = np.array([sum(x * c for x, c in zip(of, r["clicks"], strict=True)) for of, r in zip(w, rows, strict=True)])
    mean = np.array([np.mean(of) for of in w])
    raw = [x for of in weights(rows) for x in of]
    return {
        "value": terms.mean(), "stderr": terms.std(ddof=1) / math.sqrt(len(rows)),
        "effective_sample_size": mean.sum() ** 2 / (mean**2).sum(), "clipped": np.mean([x > clip for x in raw]),
        "unsupported": max(0.0, 1 - float(np.mean(raw))),
    }  # fmt: skip


def slow_wip(rows: list[dict[str, Any]], clip: float = math.inf) -> float:
    w, value = weights(rows, clip), 0.0
    for k in range(2):
        some = [i for i, r in enumerate(rows) if len(r["items"]) > k]
        top, bottom = sum(w[i][k] * rows[i]["clicks"][k] for i in some), sum(w[i][k] for i in some)
        value += len(some) / len(rows) * top / bottom
    return value


def target() -> pa.Table:
    return pa.Table.from_pylist(ROWS)


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
@pytest.mark.parametrize("clip", [None, 1.2, 3.0])
def test_plain_loops_agree(engine: str, clip: float | None) -> None:
    rows = a_log()
    found = cr.evaluate(pa.Table.from_pylist(rows), target(), estimators="ip,wip", clip=clip, engine=engine)
    bound = clip or math.inf
    for field, wanted in slow_ip(rows, bound).items():
        assert getattr(found["ip"], field) == pytest.approx(wanted, abs=1e-9), field
    assert found.value("wip") == pytest.approx(slow_wip(rows, bound), abs=1e-9)


def test_unbiased_though_the_logging_policy_changes_from_impression_to_impression() -> None:
    """By enumeration: the value over all pages and clicks of three impressions, each logged by a policy of its own,
    is what the target is worth to users of the position-based model."""
    made = loggers(3, seed=5)
    whole: dict[str, float] = {"ip": 0.0, "list": 0.0}
    truth = 0.0
    for page, p in TARGET["q"].items():
        truth += p * sum(ATTRACTION[item] * LOOKS[k] for k, item in enumerate(page))
    for policy in made:  # the value is a mean over impressions, so that one at a time will do
        for page, shown in policy.items():
            rates = [ATTRACTION[item] * LOOKS[k] for k, item in enumerate(page)]
            for clicks in itertools.product((0, 1), repeat=2):
                chance = shown * math.prod(r if c else 1 - r for r, c in zip(rates, clicks, strict=True))
                one = pa.Table.from_pylist([row("q", page, clicks, policy)])
                found = cr.evaluate(one, pa.Table.from_pylist(ROWS[:2]), estimators="ip,list")
                for name in whole:
                    whole[name] += chance * found.value(name) / len(made)
    assert whole == pytest.approx({"ip": truth, "list": truth}, abs=1e-9)


def test_judging_the_logging_policy_gives_the_mean() -> None:
    rows = a_log()
    found = cr.evaluate(pa.Table.from_pylist(rows), "logging", estimators="ip,wip")
    mean = np.mean([sum(r["clicks"]) for r in rows])
    assert found.value("ip") == pytest.approx(mean, abs=1e-12)
    assert found.value("wip") == pytest.approx(mean, abs=1e-12)


def test_a_constant_column_is_the_policy_given() -> None:
    """Where every impression was logged by one policy, its propensities and the policy itself weigh alike."""
    policy = loggers(1, seed=9)[0]
    rng = random.Random(4)
    rows = []
    for _ in range(200):
        page = rng.choices(PAGES, [policy[p] for p in PAGES])[0]
        rows.append(row("q", page, [int(rng.random() < 0.5) for _ in page], policy))
    log = pa.Table.from_pylist(rows)
    given = pa.Table.from_pylist([{"query": "q", "items": list(p), "probability": c} for p, c in policy.items()])
    one = cr.evaluate(log, pa.Table.from_pylist(ROWS[:2]), estimators="ip,wip")
    two = cr.evaluate(log, pa.Table.from_pylist(ROWS[:2]), estimators="ip,wip", logging=given)
    for name in ("ip", "wip"):
        for field in ("value", "stderr", "effective_sample_size"):
            assert getattr(one[name], field) == pytest.approx(getattr(two[name], field), abs=1e-9), (name, field)


def test_each_column_serves_its_own_estimators() -> None:
    rows = a_log(ragged=False)
    both, names = pa.Table.from_pylist(rows), "list,ip,pbm"
    one = cr.evaluate(both, target(), estimators=names)
    shares = cr.evaluate(both, target(), estimators=names, logging="log")
    of_items = cr.evaluate(both.drop_columns("propensity"), target(), estimators=names)
    of_lists = cr.evaluate(both.drop_columns("item_propensities"), target(), estimators=names)
    assert one.value("ip") == of_items.value("ip") != shares.value("ip")
    assert one.value("list") == of_lists.value("list") != shares.value("list")
    assert of_items.value("list") == pytest.approx(shares.value("list"), abs=1e-12)
    assert of_lists.value("ip") == pytest.approx(shares.value("ip"), abs=1e-12)
    assert one.value("pbm") == pytest.approx(shares.value("pbm"), abs=1e-12)


def test_a_cut_leaves_the_first_positions_their_own_propensities() -> None:
    rows = a_log(ragged=False)
    found = cr.evaluate(pa.Table.from_pylist(rows), target(), estimators="ip", top=1)
    cut = [{name: v[:1] if isinstance(v, list) else v for name, v in r.items()} for r in rows]
    assert found.value("ip") == pytest.approx(slow_ip(cut)["value"], abs=1e-9)


def test_a_log_that_is_read_twice_gives_the_same() -> None:
    from counterrank.engine import Embedded

    log = pa.Table.from_pylist(a_log())
    kept = cr.evaluate(log, target(), estimators="ip,wip", clip=2.0)
    again = cr.evaluate(log, target(), estimators="ip,wip", clip=2.0, engine=Embedded(cache_bytes=0))
    for name in ("ip", "wip"):
        for field in ("value", "stderr", "effective_sample_size", "clipped", "unsupported"):
            assert getattr(kept[name], field) == pytest.approx(getattr(again[name], field), abs=1e-9), field


def test_extreme_propensities_are_answered() -> None:
    rows = [row("q", page, (1, 1), loggers(1)[0]) for page in PAGES for _ in range(3)]
    for r in rows:
        r["item_propensities"] = [5e-324, 1e-200]
    found = cr.evaluate(pa.Table.from_pylist(rows), pa.Table.from_pylist(ROWS[:2]), estimators="ip,wip,list")
    assert found["ip"].value is None or math.isfinite(found["ip"].value)
    assert cr.compare(pa.Table.from_pylist(rows), pa.Table.from_pylist(ROWS[:2])).verdict in ("undecided", "target")
