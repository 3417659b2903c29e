"""A worker of the service in this process: requests go through its ASGI application, without a socket."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterrank.service.settings import Settings
from counterrank.service.worker import Job, made, running

SECRET = "ab" * 32


@dataclass
class Reply:
    status: int
    content: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


class Worker:
    def __init__(self, service: Any, app: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.service, self.app, self.loop = service, app, loop

    def call(
        self, method: str, path: str, body: Any = None, token: str | None = None, chunks: int | None = None,
        more: Sequence[tuple[bytes, bytes]] = (),
    ) -> Reply:  # fmt: skip
        return self.run(self.request(method, path, body, token, chunks, more))

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(120)

    async def request(
        self, method: str, path: str, body: Any = None, token: str | None = None, chunks: int | None = None,
        more: Sequence[tuple[bytes, bytes]] = (),
    ) -> Reply:  # fmt: skip
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        headers = [] if token is None else [(b"authorization", f"Bearer {token}".encode())]
        headers += more
        if chunks is None:
            headers.append((b"content-length", str(len(content)).encode()))
        size = chunks or max(len(content), 1)
        parts = [content[i : i + size] for i in range(0, max(len(content), 1), size)]
        path, _, query = path.partition("?")
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": query.encode(),
            "headers": headers, "http_version": "1.1", "scheme": "http", "server": ("127.0.0.1", 80),
            "client": ("127.0.0.1", 1), "root_path": "", "asgi": {"version": "3.0"},
        }  # fmt: skip
        sent: list[Any] = []

        async def receive() -> Any:
            if parts:
                return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        found = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
        return Reply(sent[0]["status"], b"".join(each.get("body", b"") for each in sent[1:]), found)

    def rank(self, query: str = "q", items: Any = ("a", "b", "c"), **more: Any) -> Any:
        reply = self.call("POST", "/rank", {"query": query, "items": list(items), **more})
        assert reply.status == 200, reply.content
        return reply.json

    def feedback(self, impression: str, event: str, clicks: Any = (), **more: Any) -> Any:
        reply = self.call(
            "POST", "/feedback", {"impression": impression, "event": event, "clicks": list(clicks), **more}
        )
        assert reply.status == 200, reply.content
        return reply.json


@contextmanager
def worker(
    folder: Path, *, store: str | None = None, number: int = 0, shared: str = "shared", **options: Any
) -> Iterator[Worker]:
    """A worker over a store in a folder, with an event loop in a thread of its own."""
    settings = Settings(**{"retrain_every": 0, "store": store or f"sqlite:///{folder}/store.db"} | options)
    service, app = made(Job(settings, SECRET, str(folder / shared), number, -1, False))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    context = running(service)
    asyncio.run_coroutine_threadsafe(context.__aenter__(), loop).result(120)
    try:
        yield Worker(service, app, loop)
    finally:
        asyncio.run_coroutine_threadsafe(context.__aexit__(None, None, None), loop).result(120)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()
