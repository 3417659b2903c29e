"""The client: what it sends, what it makes of the answers, and that a second try is the first one's twin."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from counterrank.errors import InputError
from counterrank.service import calls
from counterrank.service.client import AsyncClient, Client, Feedback, Rank, ServiceError, Unreachable

PLACED = {
    "item": "b", "position": 1, "score": 0.5, "mean": 0.4, "bonus": 0.1, "impressions": 3, "clicks": 1, "exposure": 2.5,
    "prior": [1.0, 4.0], "new": True, "propensity": 0.9, "why": "because", "later": "a field of tomorrow",
}  # fmt: skip
PAGE = {
    "impression": "i1", "query": "q", "policy": "ebrank", "model": None, "as_of": 7, "randomise": 0.05, "pool": 2,
    "candidates": 2, "explored": False, "propensity": 0.95, "ranking": [PLACED], "later": 1,
}  # fmt: skip
RECEIPT = {"duplicate": False, "late": False, "counted": 1, "sequence": 8}
Handler = Callable[[httpx.Request], httpx.Response]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "PAUSE", 0.0)
    monkeypatch.setattr(calls, "LONGEST", 0.0)


class Both:
    """Either client, called alike."""

    def __init__(self, kind: str, handler: Handler, **options: Any) -> None:
        made = Client if kind == "plain" else AsyncClient
        self.client: Any = made("http://service/", transport=httpx.MockTransport(handler), **options)
        self.plain = kind == "plain"

    def __call__(self, name: str, *args: Any, **options: Any) -> Any:
        found = getattr(self.client, name)(*args, **options)
        return found if self.plain else asyncio.run(found)


@pytest.fixture(params=["plain", "asynchronous"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_page_and_its_feedback(kind: str) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=PAGE if request.url.path == "/rank" else RECEIPT)

    call = Both(kind, answer, token="secret")  # noqa: S106
    page = call("rank", "q", ["a", ("b", {"x": 1.5})], k=1, user=7)
    assert (page.impression, page.items, page.ranking[0].prior, page.fail_open) == ("i1", ["b"], (1.0, 4.0), False)
    receipt = call("feedback", page.impression, ["b"])
    assert (receipt.counted, receipt.sequence) == (1, 8)
    sent = [json.loads(each.content) for each in seen]
    assert {name: sent[0][name] for name in ("query", "items", "k", "user")} == {
        "query": "q", "items": ["a", {"id": "b", "features": {"x": 1.5}}], "k": 1, "user": 7,
    }  # fmt: skip
    assert len(sent[0]["request"]) == 32
    assert "defer" not in sent[0]
    assert len(sent[1].pop("event")) == 32
    assert sent[1] == {"impression": "i1", "clicks": ["b"]}
    assert {each.headers["authorization"] for each in seen} == {"Bearer secret"}


@pytest.mark.parametrize("trouble", ["lost", 429, 503, 502])
def test_a_second_try_sends_the_same_bytes(kind: str, trouble: str | int) -> None:
    bodies: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(request.content)
        if len(bodies) < 3:
            if trouble == "lost":
                raise httpx.ReadTimeout("nothing came", request=request)
            return httpx.Response(int(trouble), headers={"retry-after": "1"}, json={"error": {"code": "x"}})
        return httpx.Response(200, json=PAGE)

    assert Both(kind, answer)("rank", "q", ["a"]).impression == "i1"
    assert len(bodies) == 3
    assert len(set(bodies)) == 1


def test_every_call_has_an_id_of_its_own(kind: str) -> None:
    bodies: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(200, json=RECEIPT)

    call = Both(kind, answer)
    call("feedback", "i1"), call("feedback", "i1"), call("feedback", "i1", event="mine")
    assert len({body["event"] for body in bodies}) == 3
    assert bodies[2]["event"] == "mine"


def test_refusals_are_not_tried_again(kind: str) -> None:
    tries = 0

    def answer(request: httpx.Request) -> httpx.Response:
        nonlocal tries
        tries += 1
        return httpx.Response(422, json={"error": {"code": "invalid", "message": "empty", "field": "items"}})

    with pytest.raises(ServiceError, match="422 invalid: empty") as error:
        Both(kind, answer)("rank", "q", [])
    assert (error.value.status, error.value.code, error.value.field, tries) == (422, "invalid", "items", 1)


def test_no_answer_at_all(kind: str) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    call = Both(kind, answer, tries=2)
    with pytest.raises(Unreachable, match="POST /rank: no answer after 2 tries"):
        call("rank", "q", ["a"])
    assert call("ready") is False


def test_the_last_trouble_is_said(kind: str) -> None:
    refused = {"error": {"code": "unavailable", "message": "the store is away", "field": None}}
    with pytest.raises(ServiceError, match="503 unavailable: the store is away"):
        Both(kind, lambda request: httpx.Response(503, json=refused), tries=2)("policy")


def test_an_answer_that_is_no_json(kind: str) -> None:
    with pytest.raises(ServiceError, match="not JSON"):
        Both(kind, lambda request: httpx.Response(200, text="<html>"))("policy")


def test_many_at_once(kind: str) -> None:
    wrong = {"status": 404, "error": {"code": "unknown", "message": "no such impression", "field": "impression"}}

    def answer(request: httpx.Request) -> httpx.Response:
        found = [{"status": 200, **(PAGE if "rank" in request.url.path else RECEIPT)}, wrong]
        return httpx.Response(200, json=found)

    call = Both(kind, answer)
    page, refusal = call("rank_many", [Rank(query="q", items=["a"]), Rank(query="q", items=["b"])])
    assert (page.impression, refusal.status) == ("i1", 404)
    receipt, refusal = call("feedback_many", [Feedback(impression="i1"), Feedback(impression="i2")])
    assert (receipt.counted, refusal.code) == (1, "unknown")


def test_items_and_policies(kind: str) -> None:
    seen: list[tuple[str, str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append((request.method, request.url.raw_path.decode(), json.loads(request.content or b"null")))
        setting = {"name": "ebrank", "exploration": 0.0, "randomise": 0.0, "epoch": 3, "at": None}
        shapes = {"/items": {"stored": 1}, "/policy": setting}
        return httpx.Response(
            200, json=shapes.get(request.url.path, {"id": "a/b", "query": "é", "features": {"x": 2.0}})
        )

    call = Both(kind, answer)
    assert call("put_items", {"a/b": {"x": 2.0}}, query="é") == 1
    assert call("item", "a/b", query="é") == {"x": 2.0}
    assert call("put_policy", exploration=0, randomise=0).epoch == 3
    assert call("policy").name == "ebrank"
    assert call("dry_run", "new")["name"] == "ebrank"
    assert seen == [
        ("PUT", "/items", {"items": [{"id": "a/b", "query": "é", "features": {"x": 2.0}}]}),
        ("GET", "/items/a%2Fb?query=%C3%A9", None),
        ("PUT", "/policy", {"exploration": 0, "randomise": 0}),
        ("GET", "/policy", None),
        ("PUT", "/policy", {"name": "new", "dry_run": True}),
    ]


def test_what_cannot_be_sent_is_said_before_it_is(kind: str) -> None:
    call = Both(kind, lambda request: pytest.fail("nothing is to be sent"))
    with pytest.raises(InputError, match="cannot be sent as JSON"):
        call("rank", "q", [("a", {"x": float("nan")})])


@pytest.mark.parametrize("url", ["service", "ftp://service", "http://", ""])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(InputError, match="expected one such as"):
        Client(url)
