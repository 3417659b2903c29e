"""Values that cannot be, policies that were learnt from the log, and assumptions that nobody could test."""

from __future__ import annotations

import numpy as np
import pytest

import counterrank as cr
from counterrank.findings.diagnosis import Finding


def found(result: cr.Evaluation, key: str, name: str) -> Finding:
    [one] = [f for f in result.diagnosis.findings if f.key == key and name in f.estimators]
    return one


def test_more_clicks_than_any_page_has() -> None:
    """One click a page at most, and weights of 10: b is clicked each time, of 1,000 impressions 200."""
    log = {
        "query": ["q"] * 3, "items": [["a"], ["a"], ["b"]], "clicks": [[1], [0], [1]], "impressions": [100, 700, 200]
    }  # fmt: skip
    logging = {"query": ["q", "q"], "items": [["a"], ["b"]], "probability": [0.9, 0.1]}
    result = cr.evaluate(log, {"q": ["b"]}, estimators="ip", logging=logging)
    assert result.value("ip") == pytest.approx(2.0)
    said = found(result, "possible", "ip")
    assert (said.level, said.numbers["most"]) == ("do not trust", 1.0)
    assert "no page of the log is worth more than 1" in said.words
    fair = cr.evaluate(log, {"q": ["b"]}, estimators="ip", logging="log")
    assert found(fair, "possible", "ip").level == "trust"


def pages(seed: int, n: int, taste: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Some queries are asked often, others hardly ever; five of eight items by Plackett–Luce."""
    rng = np.random.default_rng(seed)
    share = np.arange(1, len(taste) + 1) ** -0.3
    query = rng.choice(len(taste), n, p=share / share.sum())
    scores = 0.5 * np.log(taste / (1 - taste)) + np.random.default_rng(9).standard_normal(taste.shape)
    shown = np.argsort(-(scores[query] + rng.gumbel(size=(n, 8))), axis=1)[:, :5]
    clicks = rng.random((n, 5)) < taste[query[:, None], shown] / np.arange(1, 6)
    return query, shown, clicks


def learnt(query: np.ndarray, shown: np.ndarray, clicks: np.ndarray, queries: int) -> dict:
    """Items by clicks for each look."""
    looks, hits = np.zeros((2, queries, 8))
    np.add.at(looks, (query[:, None], shown), np.broadcast_to(1 / np.arange(1, 6), shown.shape))
    np.add.at(hits, (query[:, None], shown), clicks)
    order = np.argsort(-(hits + 1) / (looks + 5), axis=1, kind="stable")[:, :5]
    return {f"q{q}": [f"i{i}" for i in row] for q, row in enumerate(order.tolist())}


def test_a_policy_learnt_from_this_very_log_is_named() -> None:
    """And one learnt from another log of the same world is not."""
    named = {"here": 0, "elsewhere": 0}
    runs = 12
    for seed in range(runs):
        taste = np.random.default_rng(seed).beta(1.0, 4.0, (300, 8))
        here, elsewhere = pages(100 + seed, 5000, taste), pages(500 + seed, 5000, taste)
        query, shown, clicks = here
        log = {
            "query": [f"q{q}" for q in query],
            "items": [[f"i{i}" for i in row] for row in shown.tolist()],
            "clicks": clicks.astype(int).tolist(),
        }
        for name, rows in (("here", here), ("elsewhere", elsewhere)):
            said = cr.evaluate(log, learnt(*rows, 300), estimators="ip").diagnosis.findings
            named[name] += any(f.key == "fitted" and f.level != "trust" for f in said)
    assert named["here"] >= 0.75 * runs
    assert named["elsewhere"] == 0


def test_what_cannot_be_tested_does_not_favour_the_stronger_assumption() -> None:
    """Forty impressions: too thin to test either; item claims more evidence, pbm assumes less."""
    rng = np.random.default_rng(3)
    shown = np.argsort(rng.random((40, 4)), axis=1)[:, :3]
    log = {"query": ["q"] * 40, "items": shown.tolist(), "clicks": (rng.random((40, 3)) < 0.2).astype(int).tolist()}
    result = cr.evaluate(log, {"q": [0, 1, 2]}, estimators="pbm,item")
    levels = {name: found(result, "click-model", name) for name in ("pbm", "item")}
    assert all(each.numbers["untested"] for each in levels.values())
    assert result["item"].effective_sample_size > result["pbm"].effective_sample_size
    assert result.diagnosis.estimator == "pbm"
