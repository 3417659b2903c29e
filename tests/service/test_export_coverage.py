"""The log of a service judges other policies: intervals hold the truth, while the served policy kept changing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import counterrank as cr
from service.serving import Worker, worker

QUERIES, ITEMS, K, PAGES = 2, 5, 2, 600
LOOKS = 1 / np.log2(np.arange(K) + 2)


def served_log(served: Worker, attraction: np.ndarray, rng: np.random.Generator, path: Path) -> None:
    """Pages for position-based users, who click; the posterior learns all the time."""

    async def shown(query: int) -> Any:
        body = {"query": f"q{query}", "items": [f"i{i}" for i in range(ITEMS)], "k": K}
        return (await served.request("POST", "/rank", body)).json

    async def answered(turn: int, query: int, answer: Any) -> None:
        page = [int(each["item"][1:]) for each in answer["ranking"]]
        hits = rng.random(K) < LOOKS * attraction[query, page]
        clicks = [f"i{item}" for item, hit in zip(page, hits, strict=True) if hit]
        given = {"impression": answer["impression"], "event": f"e{turn}", "clicks": clicks}
        assert (await served.request("POST", "/feedback", given)).status == 200

    async def several(begin: int) -> None:
        queries = rng.integers(QUERIES, size=20).tolist()
        answers = await asyncio.gather(*map(shown, queries))
        await asyncio.gather(*map(answered, range(begin, begin + 20), queries, answers))

    for begin in range(0, PAGES, 20):
        served.run(several(begin))
    served.service.store.export(path)


def judged(folder: Path, seed: int) -> dict[str, tuple[float, float, float]]:
    """Of one service: lower, upper and truth, by estimator."""
    rng = np.random.default_rng(seed)
    attraction = rng.uniform(0.05, 0.9, size=(QUERIES, ITEMS))
    target = {f"q{q}": [f"i{i}" for i in rng.permutation(ITEMS)[:K]] for q in range(QUERIES)}
    chosen = np.array([[int(item[1:]) for item in target[f"q{q}"]] for q in range(QUERIES)])
    truth = float(np.mean([LOOKS @ attraction[q, chosen[q]] for q in range(QUERIES)]))
    with worker(folder, randomise=0.4, new_share=1.0) as served:
        served.service.random.seed(seed)
        served_log(served, attraction, rng, folder / "log.parquet")
    log = pq.read_table(folder / "log.parquet").drop(["cluster"])  # no users: each page is one of its own
    found = cr.evaluate(log, target, estimators="ip,list")
    return {name: (found[name].lower, found[name].upper, truth) for name in ("ip", "list")}


def test_one_service_is_judged_from_its_export(tmp_path: Path) -> None:
    """One draw, always the same: the interval is three times as wide as the one that should hold the truth."""
    for name, (lower, upper, truth) in judged(tmp_path, 1).items():
        assert upper - lower > 0, name
        assert abs((lower + upper) / 2 - truth) < 1.5 * (upper - lower), name


@pytest.mark.slow
def test_a_hundred_services_are_judged_rightly(tmp_path: Path) -> None:
    right = {"ip": 0, "list": 0}
    for seed in range(100):
        folder = tmp_path / str(seed)
        folder.mkdir()
        for name, (lower, upper, truth) in judged(folder, seed).items():
            right[name] += lower <= truth <= upper
    assert min(right.values()) >= 90, right
