"""The loop: serve → export → check, evaluate, compare → learn → serve what was learnt; on simulated users."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

pytest.importorskip("sqlalchemy", reason="needs counterrank[serve]")

import counterrank as cr
from counterrank.cli import app
from counterrank.service.client import AsyncClient
from counterrank.service.store import Store
from service.played import Users, counted_ids, played, serving

PAGES, K = 2000, 3
OPTIONS = {"k": K, "randomise": 0.2, "pool": 6, "exploration": 1.0, "retrain_every": 1_000_000, "new_share": 1.0}


def command(*words: object) -> Any:
    result = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_from_serving_to_serving_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterrank.service.service.new_impression", counted_ids())
    users = Users.drawn(1, queries=6, items=6)

    async def first() -> None:
        async with serving(tmp_path, **OPTIONS) as (service, _):
            await played(service, users, PAGES)

    asyncio.run(first())
    fifth = PAGES // 5
    rates = sum(users.clicks[:fifth]) / fifth, sum(users.clicks[-fifth:]) / fifth
    assert rates[1] >= 1.1 * rates[0]

    store = Store.open(f"sqlite:///{tmp_path / 'store.db'}")
    store.fold()
    assert store.verify().to_dict()["differences"] == 0
    store.close()

    log = tmp_path / "log.parquet"
    command("log", "export", tmp_path / "store.db", "--out", log)
    table = pq.read_table(log)
    assert len(table) == PAGES
    assert sum(map(sum, table["clicks"].to_pylist())) == sum(users.clicks)

    checked = command("check", log)
    assert checked["has_item_propensities"] is True
    assert checked["least_item_propensity"] == pytest.approx(0.2 / 6)

    best = {query: users.best(query, K) for query in users.attraction}
    found = cr.evaluate(str(log), best)
    assert abs(found["ip"].value - users.worth(best)) < 5 * found["ip"].stderr
    received = {query: users.worst_first(query)[:K] for query in users.attraction}
    compared = cr.compare(str(log), best, baseline=received, estimator="ip")
    gain = users.worth(best) - users.worth(received)
    assert (
        compared.lower - (compared.upper - compared.lower) <= gain <= compared.upper + (compared.upper - compared.lower)
    )
    assert compared.verdict == "target"

    (tmp_path / "policies").mkdir()
    where = tmp_path / "policies" / "learnt"
    learnt = command("learn", log, "--out", where, "--special", "tabular", "--confidence", 0.5)
    assert learnt["special"]["active"] > 0

    async def second() -> list[int]:
        """The policy that was learnt, by name, through the client."""
        again = Users(users.attraction, users.rng)
        async with (
            serving(tmp_path, policies=str(tmp_path / "policies"), **OPTIONS) as (service, asgi),
            AsyncClient("http://service", transport=httpx.ASGITransport(app=asgi)) as client,
        ):
            setting = await client.put_policy("learnt", randomise=0.05)
            assert setting.name == "learnt"
            page = await client.rank("q0", again.worst_first("q0"))
            assert (page.policy, len(page.items)) == ("learnt", K)
            assert (await client.feedback(page.impression, page.items[:1])).counted == 1
            await played(service, again, 400)
        return again.clicks

    clicks = asyncio.run(second())
    assert sum(clicks) / len(clicks) >= 1.1 * rates[0]
    command("log", "export", tmp_path / "store.db", "--out", tmp_path / "later.parquet", "--policy", "learnt")
    later = pq.read_table(tmp_path / "later.parquet")
    assert len(later) == 401
    assert cr.evaluate(str(tmp_path / "later.parquet"), best)["ip"].value is not None
