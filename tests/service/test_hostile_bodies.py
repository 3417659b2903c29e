"""Bodies that nobody should send: every answer is in the 200s or 400s, in our shape, and the store stays sound."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

from service.serving import Reply, Worker, worker

TOGETHER = 50
DEEP = "\x01deep\x01"  # stands for a value that json.dumps cannot write
NASTY: list[Any] = [
    None, True, False, 0, -1, 1, 2.5, -0.0, 1e308, 5e-324, 10**30, -(10**400), float("nan"), float("inf"), "", " ",
    "\0",
    "a\0b", "\ud800", "\udc00x", "\U0001f600" * 10, "é" * 600, "x" * 1025, "x" * 5000, "../x", "'; DROP TABLE meta; --",
    "\u202e", "\ufeff", "null", "NaN", [], {}, [[]], [None], ["a", "a"], ["a", 1, "1"], [{}],
    [{"id": "a"}, {"id": "a"}],
    {"id": {}}, {"": ""}, {"a": {"a": {"a": []}}}, list(range(2000)), ["x" * 1000] * 3,
    {"id": "a", "features": {"\0": 1}},
    {"id": "a", "features": {"x": "1"}}, {"id": "a", "features": {"x": float("nan")}}, DEEP,
]  # fmt: skip
RANK: dict[str, Any] = {
    "query": "q", "items": ["a", "b", {"id": "c", "features": {"x": 1.5}}], "k": 2, "user": "u", "segment": "s",
    "request": "r", "defer": False,
}  # fmt: skip
FEEDBACK: dict[str, Any] = {"impression": "i", "event": "e", "clicks": ["a"], "reward": 0.5, "at": 1.7e9}
ITEMS: dict[str, Any] = {"items": [{"id": "a", "query": "q", "features": {"x": 1.0, "y": -2}}]}
BODIES: list[tuple[str, str, Any]] = [
    ("POST", "/rank", RANK),
    ("POST", "/feedback", FEEDBACK),
    ("POST", "/batch/rank", [RANK, {"query": "r", "items": [1, 2]}]),
    ("POST", "/batch/feedback", [FEEDBACK, FEEDBACK]),
    ("PUT", "/items", ITEMS),
    ("PUT", "/policy", {"name": "ebrank", "exploration": 20, "randomise": 0.05}),
]
HUGE = [
    b"[" * 100_000, b"[" * 50_000 + b"]" * 50_000, b'{"a":' * 50_000 + b"1" + b"}" * 50_000, b"1" * 100_000,
    b'"' * 99_999,
    json.dumps({"query": "q", "items": [str(i) for i in range(100_000)]}).encode(),
    json.dumps({"query": "q", "items": list(range(1000)), "k": 100}).encode(),
    b'{"query": "q", "items": ["' + b"a" * 2_000_000 + b'"]}', b"\xff" * 1000, b"\xef\xbb\xbf{}", b"", b" ", b"null",
]  # fmt: skip


def changed(rng: random.Random, value: Any) -> Any:
    """A value with something else somewhere in it."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        name = rng.choice(list(value))
        rest = {key: each for key, each in value.items() if key != name}
        how = rng.random()
        if how < 0.1:
            return rest
        if how < 0.2:
            return value | {rng.choice(["", "\0", "k", "__proto__", "x" * 2000]): rng.choice(NASTY)}
        return rest | {name: changed(rng, value[name])}
    if isinstance(value, list) and value and rng.random() < 0.6:
        at = rng.randrange(len(value))
        return rng.choice(
            [[*value[:at], changed(rng, value[at]), *value[at + 1 :]], [*value, value[at]], value[:at], value * 40]
        )
    return rng.choice(NASTY)


def body_of(rng: random.Random, value: Any, number: int) -> bytes:
    """A body, sometimes good, mostly with something wrong in its values or in its bytes."""
    for _ in range(rng.randrange(4)):
        value = changed(rng, value)
    if rng.random() < 0.3 and isinstance(value, dict):
        value = value | {name: f"{value[name]}{number}" for name in ("request", "event") if name in value}
    text = json.dumps(value).replace(json.dumps(DEEP), "[" * 400 + "]" * rng.choice([399, 400, 401]))
    found = bytearray(text.encode())
    for _ in range(rng.randrange(4) if rng.random() < 0.3 else 0):
        at = rng.randrange(len(found) + 1)
        found[at : at + rng.randrange(3)] = bytes(rng.randrange(256) for _ in range(rng.randrange(3)))
    return bytes(found[: rng.randrange(len(found) + 1)] if rng.random() < 0.05 else found)


def sound(reply: Reply, what: Any) -> None:
    assert 200 <= reply.status < 500, (what, reply.content)
    if reply.status >= 400:
        assert set(reply.json["error"]) == {"code", "message", "field"}, what


def tried(served: Worker, requests: int, seed: int) -> dict[int, int]:
    """How many answers had each status."""
    rng = random.Random(seed)
    seen: dict[int, int] = {}

    async def together(begin: int) -> None:
        asked = []
        for number in range(begin, begin + TOGETHER):
            method, path, value = rng.choice(BODIES)
            if path == "/feedback" and shown and rng.random() < 0.7:
                value = value | {"impression": rng.choice(shown)}
            asked.append((method, path, body_of(rng, value, number)))
        replies = await asyncio.gather(*(served.request(*each) for each in asked))
        for what, reply in zip(asked, replies, strict=True):
            sound(reply, what)
            seen[reply.status] = seen.get(reply.status, 0) + 1
            if reply.status == 200 and what[1] == "/rank":
                shown.append(reply.json["impression"])
        del shown[:-100]

    shown: list[str] = []
    for begin in range(0, requests, TOGETHER):
        served.run(together(begin))
    for number, body in enumerate(HUGE):
        for method, path, _ in BODIES if requests > 1000 else BODIES[number % 6 : number % 6 + 1]:
            sound(served.call(method, path, body), (path, body[:100]))
    assert served.rank("fine", ["a", "b"])["ranking"]
    verified = served.service.store.verify()
    assert verified.differences == 0
    return seen


def test_no_body_breaks_it(tmp_path: Path) -> None:
    with worker(tmp_path) as served:
        assert {200, 400, 404, 422} <= set(tried(served, 150, seed=1))


@pytest.mark.slow
def test_ninety_thousand_bodies_do_not_break_it(tmp_path: Path) -> None:
    """With what test_schema.py makes up, a hundred thousand."""
    with worker(tmp_path) as served:
        assert sum(tried(served, 90_000, seed=2).values()) == 90_000
