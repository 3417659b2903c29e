"""A dry run is a comparison on the service's own log, of every kind of policy, the order as received included."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterrank as cr
from counterrank.policy import Linear
from counterrank.service.dry_run import judge
from counterrank.service.received import Received
from counterrank.service.store import Store
from service.service_worlds import given, shown, written
from service.serving import Worker, worker

FIELDS = {
    "estimator", "interval", "unit", "difference", "lower", "upper", "confidence", "verdict", "trust",
    "impressions_needed", "covered", "unsupported", "separate", "notes",
}  # fmt: skip
NAMES = ["logging", "ebrank", "pessimistic", "listed", "scored"]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dry runs in this process: another one would take seconds to begin."""

    async def judged(job: dict[str, Any]) -> bytes:
        return (await asyncio.to_thread(judge, json.loads(json.dumps(job)))).encode()

    monkeypatch.setattr("counterrank.service.dry_run._judged", judged)


def policies(folder: Path) -> str:
    cr.read_policy({"q": ["c", "a"], "other": ["x"]}).save(folder / "listed")
    Linear(["height"], [1.0]).save(folder / "scored")
    return str(folder)


def dry(served: Worker, name: str) -> Any:
    reply = served.call("PUT", "/policy", {"name": name, "dry_run": True})
    assert reply.status == 200, reply.content
    assert set(reply.json) >= FIELDS
    assert served.service.setting.name == "ebrank"
    return reply.json


@pytest.mark.usefixtures("here")
def test_every_policy_can_be_judged(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    rng = np.random.default_rng(3)
    with worker(tmp_path, randomise=0.6, policies=policies(tmp_path / "policies")) as served:
        registered = [{"id": item, "features": {"height": i}} for i, item in enumerate("abc")]
        assert served.call("PUT", "/items", {"items": registered}).status == 200
        served.service.random.seed(5)
        for turn in range(120):
            page = served.rank("q", ["b", "a", "c"] if turn % 3 else ["a", "c", "b"], k=2)
            clicks = [each["item"] for each in page["ranking"] if each["item"] == "c" and rng.random() < 0.9]
            served.feedback(page["impression"], f"e{turn}", clicks)
        found = {name: dry(served, name) for name in NAMES}
    assert {name: each["impressions"] for name, each in found.items()} == dict.fromkeys(NAMES, 120)
    assert found["logging"]["queries"] == 2  # two orders came
    assert found["listed"]["separate"]["target"]["value"] == pytest.approx(0.9, abs=0.2)


@pytest.mark.usefixtures("here")
def test_without_evidence_it_cannot_tell(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    with worker(tmp_path, policies=policies(tmp_path / "policies")) as served:
        for name in NAMES:
            found = dry(served, name)
            assert (found["verdict"], found["difference"], found["lower"]) == ("undecided", None, None)
            assert "nothing was shown" in found["notes"][0]
        served.rank("q")
        assert "no query" in dry(served, "scored")["notes"][0]  # nothing has features


def test_the_order_received_is_worth_what_plain_weighing_says(tmp_path: Path) -> None:
    """Of two orders of one query, which come by turns: Σ click·1[it stands where it came]/chance, by hand."""
    rng = np.random.default_rng(11)
    terms = []
    with worker(tmp_path, randomise=0.5) as served:
        served.service.random.seed(2)
        for turn in range(150):
            came = ["a", "b", "c", "d"] if rng.random() < 0.5 else ["d", "b", "a", "c"]
            answer = served.rank("q", came, k=2)
            page = answer["ranking"]
            clicks = [each["item"] for each in page if rng.random() < (0.6 if each["item"] in "ad" else 0.2)]
            chances = {each["item"]: each["propensity"] for each in page if came[each["position"] - 1] == each["item"]}
            terms.append(sum(1 / chances[item] for item in clicks if item in chances))
            served.feedback(answer["impression"], f"e{turn}", clicks)
        received = Received()
        served.service.store.export(tmp_path / "log.parquet", change=received)
    assert sorted(map(tuple, received.policy.values())) == [("a", "b"), ("d", "b")]
    judged = cr.evaluate(tmp_path / "log.parquet", received.policy, estimators=["ip"])
    assert judged["ip"].value == pytest.approx(np.mean(terms), rel=1e-9)


def test_names_of_orders_are_nobody_elses() -> None:
    received = Received(most=4)
    rows = [("q", "ab"), ("q (2)", "ab"), ("q", "ba"), ("q", "ab"), ("q", "cb"), ("q", "bc"), ("r", None)]
    names = []
    for query, came in rows:
        row = received({"query": query, "received": None if came is None else list(came)})
        names.append(None if row is None else row["query"])
    assert names == ["q", "q (2)", "q (3)", "q", "q (4)", None, None]
    assert received.policy == {"q": ["a", "b"], "q (2)": ["a", "b"], "q (3)": ["b", "a"], "q (4)": ["c", "b"]}
    assert (received.beyond, received.unknown) == (1, 1)
    assert len(received.notes) == 3


def test_an_erased_item_is_gone_from_what_came(url: str, tmp_path: Path) -> None:
    store = Store.open(url)
    page = shown(items=["a", "b"], received=("secret", "a"), impression="1.0")
    same = shown(items=["a", "b"], impression="2.3")
    old = shown(items=["a", "b"], impression="3.1")  # of a store that did not keep what came
    written(store, page, same, old, given(page.impression, "a"))
    store.erase(item="secret")
    with store.database.reading() as connection:
        kept = connection.exec_driver_sql("SELECT received FROM impressions ORDER BY sequence").scalars().all()
    assert kept == ['[null,"a"]', None, None]
    assert store.verify().differences == 0
    received = Received()
    store.export(tmp_path / "log.parquet", change=received)
    assert received.unknown == 1
    assert list(received.policy.values()) == [["(erased from what came, 1)", "a"], ["a", "b"]]
    store.close()


def test_a_dry_run_has_a_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with worker(tmp_path, randomise=0.5) as served:
        served.rank()
        monkeypatch.setattr("counterrank.service.dry_run.SECONDS", 0.01)
        reply = served.call("PUT", "/policy", {"name": "pessimistic", "dry_run": True})
        assert (reply.status, reply.code) == (422, "too_long")
        assert served.service.setting.name == "ebrank"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pessimistic", "logging"])
def test_it_runs_in_a_process_of_its_own(tmp_path: Path, name: str) -> None:
    with worker(tmp_path, randomise=0.5) as served:
        for turn in range(40):
            page = served.rank("q", ["a", "b", "c"], k=2)
            served.feedback(page["impression"], f"e{turn}", [page["ranking"][turn % 2]["item"]])
        assert dry(served, name)["impressions"] == 40
