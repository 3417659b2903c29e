"""Each line of the contract's table of errors, by a test of its own; all have one shape."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterrank.service.events import Away
from service.serving import Reply, Worker, worker

GOOD: dict[str, Any] = {"query": "q", "items": ["a", "b"]}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with worker(tmp_path_factory.mktemp("errors"), max_items=50, max_body="20000") as found:
        yield found


def refused(reply: Reply, status: int, field: str | None = None) -> None:
    assert reply.status == status, reply.content
    error = reply.json["error"]
    assert set(error) == {"code", "message", "field"}
    assert error["message"]
    assert error["code"]
    if field is not None:
        assert error["field"] == field


@pytest.mark.parametrize(
    "body", [b"", b"{", b"nonsense", b'{"query": "q", "items": ["a"]', b"\xff\xfe", b'{"query": 5, ']
)
def test_400_not_json(served: Worker, body: bytes) -> None:
    for path in ("/rank", "/feedback", "/batch/rank", "/batch/feedback"):
        refused(served.call("POST", path, body), 400)
    for path in ("/items", "/policy"):
        refused(served.call("PUT", path, body), 400)


def test_400_or_422_for_what_is_nested_deeply(served: Worker) -> None:
    """What never ends is no JSON; what does is JSON of another shape."""
    refused(served.call("POST", "/rank", b"[" * 19_000), 400)
    refused(served.call("POST", "/rank", b'{"a":' * 3_000 + b"1" + b"}" * 2_999), 400)
    refused(served.call("POST", "/rank", b"[" * 9_000 + b"]" * 9_000), 422)
    refused(served.call("POST", "/feedback", b'{"a":' * 3_000 + b"1" + b"}" * 3_000), 422)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"query": 5}, "query"), ({"query": None}, "query"), ({"query": "x" * 1025}, "query"),
        ({"items": "ab"}, "items"),
        ({"items": [True]}, "items[0]"), ({"items": [1.5]}, "items[0]"), ({"items": [None]}, "items[0]"),
        ({"items": [["a"]]}, "items[0]"), ({"items": [{"features": {}}]}, "items[0].id"), ({"items": [""]}, "items[0]"),
        ({"items": ["a\0"]}, "items[0]"), ({"items": ["x" * 1025]}, "items[0]"), ({"items": [int("9" * 3000)]}, None),
        ({"items": [{"id": "a", "features": {"x": "1"}}]}, None),
        ({"items": [{"id": "a", "features": {"x": True}}]}, None),
        ({"k": "3"}, "k"), ({"k": 2.5}, "k"), ({"k": True}, "k"), ({"user": 1.5}, "user"), ({"defer": 1}, "defer"),
        ({"request": ""}, "request"), ({"query": "\0"}, "query"),
    ],
)  # fmt: skip
def test_422_wrong_types(served: Worker, changed: dict[str, Any], field: str | None) -> None:
    refused(served.call("POST", "/rank", GOOD | changed), 422, field)


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999"])
def test_422_nan(served: Worker, number: bytes) -> None:
    body = b'{"query": "q", "items": [{"id": "a", "features": {"x": %b}}]}' % number
    refused(served.call("POST", "/rank", body), 422)
    shown = served.rank()["impression"].encode()
    refused(
        served.call("POST", "/feedback", b'{"impression": "%b", "event": "e", "reward": %b}' % (shown, number)), 422
    )
    refused(served.call("PUT", "/policy", b'{"exploration": %b}' % number), 422)


def test_422_half_a_character(served: Worker) -> None:
    refused(served.call("POST", "/rank", b'{"query": "q", "items": ["\\ud800"]}'), 422)
    refused(served.call("POST", "/rank", b'{"query": "\\udc00", "items": ["a"]}'), 422)


@pytest.mark.parametrize("items", [["a", "a"], [7, "7"], ["a", {"id": "a"}], [7, {"id": 7}]])
def test_422_repeated_ids(served: Worker, items: list[Any]) -> None:
    refused(served.call("POST", "/rank", {"query": "q", "items": items}), 422, "items")


def test_422_empty_list(served: Worker) -> None:
    refused(served.call("POST", "/rank", {"query": "q", "items": []}), 422, "items")


@pytest.mark.parametrize("k", [0, -1, 101, 10**30])
def test_422_k(served: Worker, k: int) -> None:
    refused(served.call("POST", "/rank", GOOD | {"k": k}), 422, "k")


def test_422_more_than_max_items(served: Worker) -> None:
    assert served.call("POST", "/rank", {"query": "q", "items": list(range(50))}).status == 200
    refused(served.call("POST", "/rank", {"query": "q", "items": list(range(51))}), 422, "items")


def test_422_item_that_is_not_on_the_page(served: Worker) -> None:
    shown = served.rank()["impression"]
    body = {"impression": shown, "event": "not there", "clicks": ["z"]}
    refused(served.call("POST", "/feedback", body), 422, "clicks")


@pytest.mark.parametrize("name", ["../x", "a/b", "..", ".", "", "a\\b", "/etc"])
def test_422_policy_name(served: Worker, name: str) -> None:
    refused(served.call("PUT", "/policy", {"name": name}), 422, "name")


@pytest.mark.parametrize(
    "body", [{}, {"exploration": -1}, {"randomise": 1.5}, {"randomise": -0.1}, {"exploration": "1"}]
)
def test_422_policy(served: Worker, body: dict[str, Any]) -> None:
    refused(served.call("PUT", "/policy", body), 422)


def test_404_unknown_policy(served: Worker) -> None:
    refused(served.call("PUT", "/policy", {"name": "nobody"}), 404, "name")
    refused(served.call("PUT", "/policy", {"name": "nobody", "dry_run": True}), 404, "name")


def test_404_unknown_impression(served: Worker) -> None:
    refused(served.call("POST", "/feedback", {"impression": "none", "event": "e"}), 404, "impression")


def test_404_unknown_item_and_path(served: Worker) -> None:
    refused(served.call("GET", "/items/none"), 404)
    for path in ("/none", "/rank/", "/items/", "//", "/batch"):
        refused(served.call("GET", path), 404)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/rank"), ("PUT", "/feedback"), ("POST", "/policy"), ("DELETE", "/items/a"), ("POST", "/")],
)
def test_405_wrong_method(served: Worker, method: str, path: str) -> None:
    reply = served.call(method, path)
    refused(reply, 405)
    assert reply.headers["allow"]


def test_409_request_and_event_with_another_body(served: Worker) -> None:
    first = served.call("POST", "/rank", GOOD | {"request": "r-409"})
    again = served.call("POST", "/rank", b'{"request":"r-409", "items" : ["a","b"],"query":"q"}')
    assert again.content == first.content
    refused(served.call("POST", "/rank", GOOD | {"request": "r-409", "k": 1}), 409, "request")
    shown = first.json["impression"]
    assert served.feedback(shown, "e-409", ["a"])["counted"] == 1
    assert served.feedback(shown, "e-409", ["a"])["duplicate"]
    body = {"impression": shown, "event": "e-409", "clicks": []}
    refused(served.call("POST", "/feedback", body), 409, "event")


def test_413_body_too_large(served: Worker) -> None:
    body = json.dumps(GOOD | {"user": "x" * 30000}).encode()
    refused(served.call("POST", "/rank", body), 413)
    refused(served.call("POST", "/rank", body, chunks=4096), 413)
    refused(served.call("PUT", "/items", body, chunks=4096), 413)


def test_503_while_the_store_is_away(served: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(event: Any) -> Any:
        raise Away("no such machine db.example with password x")

    monkeypatch.setattr(served.service.store, "show", gone)
    monkeypatch.setattr(served.service.store, "give", gone)
    for path, body in (("/rank", GOOD), ("/feedback", {"impression": "i", "event": "e"})):
        reply = served.call("POST", path, body)
        refused(reply, 503)
        assert int(reply.headers["retry-after"]) >= 1
        assert "password" not in reply.content.decode()
    monkeypatch.setattr(served.service, "store_away", True)
    reply = served.call("GET", "/readyz")
    refused(reply, 503)
    assert reply.headers["retry-after"]


def test_fail_open_answers_in_the_order_received(tmp_path: Path) -> None:
    async def gone(event: Any) -> Any:
        raise Away("away")

    with worker(tmp_path, fail_open=True) as served:
        served.service.store.show = gone
        found = served.rank(items=["c", "a", "b"])
        assert found["fail_open"]
        assert [each["item"] for each in found["ranking"]] == ["c", "a", "b"]
        refused(served.call("POST", "/feedback", {"impression": found["impression"], "event": "e"}), 404)


TOKENS = "ranker-token rank\nfeedback-token feedback\n# a line of words\nadmin-token rank,feedback,admin\n"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    folder = tmp_path_factory.mktemp("tokens")
    (folder / "tokens").write_text(TOKENS)
    with worker(folder, tokens=str(folder / "tokens")) as found:
        yield found


def test_401_no_token(guarded: Worker) -> None:
    for token in (None, "wrong", "ranker-token2", ""):
        reply = guarded.call("POST", "/rank", GOOD, token)
        refused(reply, 401)
        assert reply.headers["www-authenticate"] == "Bearer"
    for path in ("/policy", "/metrics", "/live.json", "/items/a"):
        refused(guarded.call("GET", path), 401)
    for path in ("/healthz", "/readyz", "/docs", "/openapi.json", "/"):
        assert guarded.call("GET", path).status == 200


def test_403_token_that_lacks_the_right(guarded: Worker) -> None:
    assert guarded.call("POST", "/rank", GOOD, "ranker-token").status == 200
    refused(guarded.call("POST", "/rank", GOOD, "feedback-token"), 403)
    refused(guarded.call("POST", "/feedback", {"impression": "i", "event": "e"}, "ranker-token"), 403)
    refused(guarded.call("PUT", "/policy", {"randomise": 0.0}, "ranker-token"), 403)
    refused(guarded.call("PUT", "/items", {"items": []}, "feedback-token"), 403)
    assert guarded.call("PUT", "/items", {"items": []}, "admin-token").status == 200


def test_429_too_many_requests(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(TOKENS)
    with worker(tmp_path, tokens=str(tmp_path / "tokens"), rate=0.5) as served:
        assert served.call("POST", "/rank", b"{", "admin-token").status == 400
        reply = served.call("POST", "/rank", b"{", "admin-token")
        refused(reply, 429)
        assert 1 <= int(reply.headers["retry-after"]) <= 2
        assert served.call("POST", "/rank", b"{", "ranker-token").status == 400  # each token has its own rate
        assert served.call("GET", "/healthz").status == 200


def test_403_for_a_page_of_another_site_where_no_tokens_are_set(served: Worker) -> None:
    host = (b"host", b"127.0.0.1:8080")
    for path in ("/rank", "/feedback"):
        refused(served.call("POST", path, GOOD, more=[host, (b"origin", b"http://elsewhere.example")]), 403)
    assert served.call("POST", "/rank", GOOD, more=[host, (b"origin", b"http://127.0.0.1:8080")]).status == 200
