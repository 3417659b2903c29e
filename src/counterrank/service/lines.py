"""Connections of a worker: pages and feedback go a short way, all else goes through uvicorn's own protocol.

A request that is whole, plain and for one of the paths that are asked all the time is answered by its application at
once, in one write. Whatever differs in any way (another path, a header that says how bodies or connections are to be
handled, a head in pieces, a line that is not as it should be) is left to uvicorn, whose parser is strict.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Protocol

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_START = re.compile(rb"POST (/[a-z]+) HTTP/1\.1\r\n")
_HEADS = re.compile(rb"(?:[A-Za-z0-9-]{1,64}:[\x20-\x7e]*\r\n){1,64}\r\n")
_LONGEST = 8192  # bytes of a head
_NOT_PLAIN = frozenset((b"transfer-encoding", b"expect", b"upgrade", b"connection", b"content-encoding"))
_KEPT = (b"connection", b"keep-alive")
_HEAD = b"HTTP/1.1 2"
AHEAD = 65536  # bytes of a body that goes the short way, and that may wait behind a request


class Straight(Protocol):
    """An application that answers a request which is there as a whole."""

    most: int  # bytes of a body

    async def straight(self, scope: Any, body: bytes) -> tuple[bytes, bool]:
        """The answer as it goes over the line, and whether the connection may be kept."""


class Together:
    """A transport that keeps the head of an answer back until its body comes, or the turn of the event loop ends."""

    __slots__ = ("_head", "_loop", "_transport", "_write", "is_closing", "whole")

    def __init__(self, transport: Any) -> None:
        self._transport, self._write = transport, transport.write
        self.whole, self.is_closing = transport.write, transport.is_closing  # `whole`: an answer, head and body
        self._head = b""
        self._loop = asyncio.get_running_loop()

    def write(self, data: bytes) -> None:
        if self._head:
            self._write(self._head + data)
            self._head = b""
        elif data.startswith(_HEAD) and data.endswith(b"\r\n\r\n"):
            self._head = data
            self._loop.call_soon(self.flush)
        else:
            self._write(data)

    def flush(self) -> None:
        if self._head:
            self._write(self._head)
            self._head = b""

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def plain(data: bytes, known: Mapping[str, Straight]) -> tuple[Straight, Any, int, int] | None:
    """Who answers a request, what its head says, where its body begins and where it ends; None: leave it to uvicorn.

    >>> plain(b"POST /x HTTP/1.1\\r\\nhost: y\\r\\n\\r\\n", {}) is None
    True
    """
    start = _START.match(data)
    app = known.get(start[1].decode()) if start is not None else None
    if start is None or app is None:
        return None
    heads = _HEADS.match(data, start.end(), start.end() + _LONGEST)
    if heads is None:
        return None
    headers, length = [], b""
    for line in heads[0][:-4].split(b"\r\n"):
        name, _, value = line.partition(b":")
        name, value = name.lower(), value.strip()
        headers.append((name, value))
        if name == b"content-length":
            if length or not value.isdigit() or len(value) > 12:
                return None
            length = value
        elif name in _NOT_PLAIN and (name, value.lower()) != _KEPT:
            return None
    if not length or int(length) > min(app.most, AHEAD):
        return None
    path = start[1].decode()
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    return app, scope, heads.end(), heads.end() + int(length)


class Line(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *words: Any, **options: Any) -> None:
        super().__init__(*words, **options)
        self._known: Mapping[str, Straight] = getattr(self.app, "straight", {})
        self._between = True  # uvicorn's parser is between two requests
        self._waits = bytearray()  # what came behind a request that is being answered, or of one that is not whole yet
        self._whole = 0  # bytes that such a one has when it is
        self._answering = self._last = False
        self._used = 0.0  # when an answer left last
        self._task: asyncio.Task[None]  # that answers

    def connection_made(self, transport: Any) -> None:
        super().connection_made(Together(transport))  # type: ignore[arg-type]

    def on_message_begin(self) -> None:
        self._between = False
        super().on_message_begin()

    def on_message_complete(self) -> None:
        self._between = True
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        if self._answering:
            self._waits += data
            if len(self._waits) > AHEAD:
                self.flow.pause_reading()
            return
        if self._waits:
            self._waits += data
            if len(self._waits) < self._whole:
                return
            data = bytes(self._waits)
            self._waits.clear()
        if not (self._between and (self.cycle is None or self.cycle.response_complete)):
            super().data_received(data)
            return
        found = plain(data, self._known)
        if found is None:
            super().data_received(data)
            return
        app, scope, begin, end = found
        if len(data) < end:
            self._waits += data
            self._whole = end
            return
        self._whole = 0
        self._waits += data[end:]
        self._answering = True
        self._task = self.loop.create_task(self._answer(app, scope, data[begin:end]))
        self.tasks.add(self._task)

    async def _answer(self, app: Straight, scope: Any, body: bytes) -> None:
        try:
            answer, keep = await app.straight(scope, body)
        finally:
            self.tasks.discard(self._task)
        self.server_state.total_requests += 1
        self._answering = False
        if self.transport.is_closing():
            return
        self.transport.whole(answer)  # type: ignore[attr-defined]
        if not keep or self._last:
            self.transport.close()
            return
        self._used = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._look_again(self.timeout_keep_alive)
        if self.flow.write_paused:  # it asks, but does not read
            self._answering = True
            await self.flow.drain()
            self._answering = False
            if self._ends():
                self.transport.close()
                return
        self.flow.resume_reading()
        if self._waits:
            self.data_received(b"")

    def _look_again(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection on which nothing was asked for long."""
        left = self._used + self.timeout_keep_alive - self.loop.time()
        if self._answering or left > 0.001:
            self._look_again(max(left, 1.0))
        else:
            super().timeout_keep_alive_handler()

    def _ends(self) -> bool:
        return self._last

    def shutdown(self) -> None:
        """What is being answered is; then the connection ends."""
        if self._answering:
            self._last = True
        else:
            super().shutdown()
