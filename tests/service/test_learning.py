"""Retraining, replicas, alarms and the demo's users: what a service learns, and when it rings."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from counterrank.errors import InputError
from counterrank.service.alarms import collapsed
from counterrank.service.batch import pack
from counterrank.service.below import Below, agrees, marked
from counterrank.service.demo import Users
from counterrank.service.retrain import rollback, train
from service.conftest import postgres_url
from service.serving import Worker, worker


def items(answer: dict[str, Any]) -> list[str]:
    return [each["item"] for each in answer["ranking"]]


def play(served: Worker, users: Users, pages: int) -> list[int]:
    """How many clicks each page got."""
    found: list[int] = []
    served.service.random.seed(7)  # and all pages of some users are shown before any is clicked: one outcome

    async def several(begin: int) -> None:
        asked = [users.ask() for _ in range(begin, min(begin + 20, pages))]
        answers = await asyncio.gather(*(served.request("POST", "/rank", body | {"k": 5}) for _, body in asked))
        shown = [json.loads(answer.content) for answer in answers]
        clicks = [users.clicks(query, items(page)) for (query, _), page in zip(asked, shown, strict=True)]
        given = [
            {"impression": page["impression"], "event": page["impression"], "clicks": clicked}
            for page, clicked in zip(shown, clicks, strict=True)
        ]
        done = await asyncio.gather(*(served.request("POST", "/feedback", each) for each in given))
        assert {each.status for each in done} == {200}
        found.extend(map(len, clicks))

    for begin in range(0, pages, 20):  # users that come together share a commit
        served.run(several(begin))
    return found


def test_a_retrained_prior_serves_and_can_be_taken_back(tmp_path: Path) -> None:
    users = Users(3)
    with worker(tmp_path, randomise=0.3, new_share=1.0) as served:
        assert served.call("PUT", "/items", {"items": users.items()}).status == 200
        play(served, users, 400)
        store = served.service.store
        told = train(store, "log", "exposure")
        served.run(served.service.follow_model())
        found = served.rank("query-0", [f"item-{i}" for i in range(30)])
        assert found["model"] == "1" == str(told["version"])
        priors = {
            each["item"]: each["prior"][0]
            for each in served.rank("query-1", [f"item-{i}" for i in range(30)], k=30)["ranking"]
        }
        means = np.array([priors[f"item-{i}"] for i in range(30)])
        assert np.corrcoef(means, users.attraction[1])[0, 1] > 0.3  # features tell something
        train(store, "log", "exposure")
        assert [m.version for m in store.models() if m.active] == [2]
        assert rollback(store) == 1
        served.run(served.service.follow_model())
        assert served.rank()["model"] == "1"
        with pytest.raises(InputError, match="earlier"):
            rollback(store)
        store.add_model({"policy.json": b"{}"}, {})  # one that cannot be read changes nothing
        served.run(served.service.follow_model())
        assert served.rank()["model"] == "1"


def test_without_evidence_nothing_is_trained(tmp_path: Path) -> None:
    with worker(tmp_path) as served:
        with pytest.raises(InputError, match="no evidence"):
            train(served.service.store, "log", "exposure")
        assert served.service.store.models() == []


def test_clicks_rise_as_it_learns(tmp_path: Path) -> None:
    with worker(tmp_path) as served:
        clicks = play(served, Users(5), 1500)
    assert sum(clicks[-300:]) >= 1.1 * sum(clicks[:300])


def test_two_replicas_on_one_postgresql_agree(tmp_path: Path, postgres: Any) -> None:
    url = postgres_url(postgres)
    for name in ("one", "two", "alone"):
        (tmp_path / name).mkdir()
    options: dict[str, Any] = {"store": url, "randomise": 0.0}
    with (
        worker(tmp_path / "one", **options) as one,
        worker(tmp_path / "two", **options) as two,
        worker(tmp_path / "alone", randomise=0.0) as alone,
    ):
        for turn in range(30):
            served = (one, two)[turn % 2]
            page = items(served.rank("q", list("abcdefgh"), k=4))
            shown = served.rank("r", page, k=4)
            last = served.feedback(shown["impression"], f"e{turn}", items(shown)[:1])
        for served in (one, two):
            served.run(served.service.follow())
        mine, theirs = (served.rank("r", list("abcdefgh"), defer=True) for served in (one, two))
        assert min(mine["as_of"], theirs["as_of"]) >= last["sequence"]
        assert mine["ranking"] == theirs["ranking"]
        assert two.service.store.verify().differences == 0
        one.call("PUT", "/policy", {"exploration": 0, "randomise": 0, "name": "logging"})
        assert two.rank("q", ["b", "a"])["policy"] == "logging"  # the store refuses what was made before
        assert alone.service.setting.name == "ebrank"


def test_agreement_with_the_order_received_is_in_the_name() -> None:
    assert agrees(marked("x", [0, 1, 2])) == 0b111
    assert agrees(marked("x", [1, 0, 2])) == 0b100
    assert agrees("imported") == agrees("a.zz") == 0


@pytest.mark.parametrize(("better", "rings"), [(0.6, True), (0.0, False)])
def test_the_alarm_rings_when_the_order_received_is_better(better: float, rings: bool) -> None:
    """Two items, one place: the received one is clicked `better` more often than the one that is served."""
    rng, below = np.random.default_rng(7), Below()
    randomise, ring = 0.4, False
    for _ in range(4000):
        received = rng.random() < randomise / 2
        chance = randomise / 2 if received else 1 - randomise / 2
        below.shown()
        if rng.random() < 0.3 + better * received:
            below.clicked("x.1" if received else "x.0", pack([chance]), [1])
    ring = below.alarm()["active"]
    assert ring == rings
    assert below.sum / below.pages == pytest.approx(better if better else 0.0, abs=0.15)


def test_exploration_that_collapsed() -> None:
    assert collapsed(0, 5000, 0.05)
    assert not collapsed(240, 5000, 0.05)
    assert not collapsed(0, 500, 0.05)  # too few to tell
    assert not collapsed(0, 5000, 0.0)  # none was wanted
