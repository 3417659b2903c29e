"""Connections: what goes the short way is answered as by the long one, in order, however it comes in pieces."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from counterrank.service.app import App
from counterrank.service.lines import AHEAD, Line, plain
from counterrank.service.routes import ROUTES
from counterrank.service.tokens import read_tokens
from service.serving import worker


class Short:
    """Answers with the body that came, in capitals, after a while."""

    most = 1 << 20
    refuses = b"no"

    async def straight(self, scope: Any, body: bytes) -> tuple[bytes, bool]:
        await asyncio.sleep(0.001)
        found = b"short " + body.upper()
        return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(found), found), body != self.refuses


async def long(scope: Any, receive: Any, send: Any) -> None:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await asyncio.sleep(0.001)
    found = b"long " + body.upper()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(found))]})
    await send({"type": "http.response.body", "body": found})


def post(body: bytes, path: str = "/rank", more: bytes = b"") -> bytes:
    return b"POST %b HTTP/1.1\r\nhost: x\r\n%bcontent-length: %d\r\n\r\n%b" % (path.encode(), more, len(body), body)


def talk(work: Callable[[int, Any], Awaitable[Any]], keep: float = 5.0) -> Any:
    """What `work` does with a server of such lines, of which it gets the port and the state."""

    async def run() -> Any:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            await long(scope, receive, send)

        app.straight = {"/rank": Short()}  # type: ignore[attr-defined]
        config = uvicorn.Config(
            app, lifespan="off", log_config=None, access_log=False, server_header=False, date_header=False, ws="none",
            proxy_headers=False, timeout_keep_alive=keep,  # type: ignore[arg-type]
        )  # fmt: skip
        config.load()
        state = uvicorn.server.ServerState()
        made = await asyncio.get_running_loop().create_server(lambda: Line(config, state, {}), "127.0.0.1", 0)
        try:
            return await asyncio.wait_for(work(made.sockets[0].getsockname()[1], state), 30)
        finally:
            made.close()

    return asyncio.run(run())


async def said(port: int, pieces: list[bytes], answers: int, end: bool = False) -> list[bytes]:
    """The bodies of so many answers to what is sent in pieces; `end`: then the other side closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)
    found = []
    for _ in range(answers):
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        found.append(await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0])))
    if end:
        assert await reader.read() == b""
    writer.close()
    return found


def test_requests_are_answered_in_order_whatever_their_way_and_pieces() -> None:
    rng = random.Random(4)
    whole = [
        (post(b"a"), b"short A"), (post(b"b", more=b"Connection: keep-alive\r\n"), b"short B"),
        (post(b"c", "/other"), b"long C"), (post(b"d", "/rank?x=1"), b"long D"),
        (b"POST /rank HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\ne\r\n0\r\n\r\n", b"long E"),
        (b"GET /rank HTTP/1.1\r\n\r\n", b"long "), (post(b""), b"short "), (post(b"f" * 3000), b"short " + b"F" * 3000),
        (post(b"g" * (AHEAD + 1)), b"long " + b"G" * (AHEAD + 1)), (post(b"h", more=b"a: \xe4\r\n"), b"long H"),
    ]  # fmt: skip

    async def work(port: int, state: Any) -> None:
        for turn in range(60):
            chosen = [rng.choice(whole) for _ in range(rng.randint(1, 6))]
            content = b"".join(each for each, _ in chosen)
            cuts = sorted(rng.randrange(len(content) + 1) for _ in range(rng.randint(0, 5) if turn % 3 else 0))
            pieces = [content[a:b] for a, b in zip([0, *cuts], [*cuts, len(content)], strict=True)]
            found = await said(port, pieces, len(chosen))
            assert [each.split(b" ")[1] for each in found] == [answer.split(b" ")[1] for _, answer in chosen]
            if len(chosen) == 1 and not cuts:
                assert found == [chosen[0][1]]  # behind others, or in pieces, either way will do
        one = post(b"xyz")
        assert await said(port, [one[i : i + 1] for i in range(len(one))], 1) in ([b"short XYZ"], [b"long XYZ"])

    talk(work)


@pytest.mark.parametrize(
    "bad",
    [
        b"POST /rank HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        b"POST /rank HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\nab",
        b"POST /rank HTTP/1.1\r\nhost: x\r\ncontent-length : 1\r\n\r\na",
        b"POST /rank HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
        b"POST /rank HTTP/1.1\r\nhost: x\r\n continued: y\r\ncontent-length: 1\r\n\r\na",
        b"POST /rank HTTP/1.1\r\nhost: x\ncontent-length: 1\r\n\r\na",
        b"POST /rank HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\na",
        b"POST /rank HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 1\r\n\r\na",
        b"POST /rank HTTP/1.0\r\nhost: x\r\ncontent-length: 1\r\n\r\na",
        b"POST /rank HTTP/1.1\r\nhost: x\r\na: \x00\r\ncontent-length: 1\r\n\r\na",
        b"POST /rank HTTP/1.1\r\nhost: x\r\n\r\n",
        b"POST  /rank HTTP/1.1\r\ncontent-length: 1\r\n\r\na",
    ],
)
def test_what_is_not_plain_is_left_to_the_strict_parser(bad: bytes) -> None:
    assert plain(bad, {"/rank": Short()}) is None


def test_a_line_ends_when_it_is_idle_refused_or_told_to() -> None:
    async def work(port: int, state: Any) -> None:
        assert await said(port, [post(b"a")], 1, end=True) == [b"short A"]  # nothing was asked for long
        assert await said(port, [post(b"no")], 1, end=True) == [b"short NO"]
        waiting = asyncio.create_task(said(port, [post(b"b")], 1, end=True))
        while not state.tasks:
            await asyncio.sleep(0)
        for each in list(state.connections):
            each.shutdown()  # what is being answered is
        assert await waiting == [b"short B"]
        await asyncio.sleep(0.01)
        assert not state.connections and not state.tasks  # noqa: PT018
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(post(b"gone"))
        await asyncio.sleep(0)
        writer.transport.abort()
        await asyncio.sleep(0.05)
        assert not state.connections and not state.tasks  # noqa: PT018

    talk(work, keep=0.2)


def test_the_short_way_answers_as_the_long_one_does(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("good-token-of-ours rank\nother-token-of-ours feedback\n", encoding="utf-8")
    with worker(tmp_path, tokens=str(tokens), max_items=3) as served:
        app = App(served.service, read_tokens(str(tokens)), "rank", ROUTES["/rank"])
        good = [(b"authorization", b"Bearer good-token-of-ours")]
        bodies: list[tuple[list[tuple[bytes, bytes]], bytes]] = [
            (good, b'{"query": "q", "items": ["a", "b"]}'), (good, b"{"), (good, b"[]"), (good, b'{"query": "q"}'),
            (good, b'{"query": "q", "items": ["a", "a"]}'), (good, b'{"query": "q", "items": ["a", "b", "c", "d"]}'),
            ([], b"{}"), ([(b"authorization", b"Bearer other-token-of-ours")], b"{}"),
        ]  # fmt: skip
        statuses = []
        for headers, body in bodies:
            reply = served.run(served.request("POST", "/rank", body, more=headers))
            scope = {"type": "http", "method": "POST", "path": "/rank", "query_string": b"", "headers": headers}
            answered, keep = served.run(app.straight(scope, body))
            head, _, content = answered.partition(b"\r\n\r\n")
            lines = head.decode().split("\r\n")
            status = int(lines[0].split(" ")[1])
            told = dict(line.split(": ", 1) for line in lines[1:])
            statuses.append(status)
            assert (status, keep, told["content-length"]) == (reply.status, True, str(len(content)))
            if status == 200:
                assert set(json.loads(content)) == set(reply.json)
                assert told["content-type"] == reply.headers["content-type"]
            else:
                assert (told, json.loads(content)) == (reply.headers, reply.json)
        assert statuses == [200, 400, 422, 422, 422, 422, 401, 403]

        async def broken(call: Any) -> Any:
            raise RuntimeError("a bug")

        app.operations = {"POST": type(ROUTES["/rank"]["POST"])(broken, "rank")}
        scope = {"type": "http", "method": "POST", "path": "/rank", "query_string": b"", "headers": good}
        answered, _ = served.run(app.straight(scope, b"{}"))
        assert answered.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in answered
        assert b"a bug" not in answered
