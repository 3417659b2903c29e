"""Connections of a worker: head and body of an answer leave in one write."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

_HEAD = b"HTTP/1.1 2"


class Together:
    """A transport that keeps the head of an answer back until its body comes, or the turn of the event loop ends."""

    __slots__ = ("_head", "_loop", "_transport", "_write")

    def __init__(self, transport: Any) -> None:
        self._transport, self._write = transport, transport.write
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


class Line(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """uvicorn's protocol, over such a transport."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(Together(transport))
