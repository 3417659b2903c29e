"""Requests and answers as ASGI has them: bodies read up to a limit, answers with our errors' shape."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from typing import Any

from counterrank.service.bodies import Refused, encode

Scope = Any
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
JSON = b"application/json"
_LENGTH, _TYPE = b"content-length", b"content-type"


class Gone(Exception):
    """The caller has hung up."""


def header(scope: Scope, name: bytes) -> bytes | None:
    """A header of a request, by its name in small letters."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return None


async def read_body(scope: Scope, receive: Receive, most: int) -> bytes:
    """The body, as far as it is not too large: what is beyond is not read."""
    said = header(scope, _LENGTH)
    if said is not None and said.isdigit() and int(said[:20]) > most:
        raise _too_large(most)
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Gone
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        if len(body) > most:
            raise _too_large(most)
        return body
    parts, size = [body], len(body)
    while message.get("more_body", False):
        if size > most:
            raise _too_large(most)
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
    if size > most:
        raise _too_large(most)
    return b"".join(parts)


def _too_large(most: int) -> Refused:
    return Refused(413, "too_large", f"the body has more than {most} bytes")


async def answer(
    send: Send, status: int, body: bytes, kind: bytes = JSON, more: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """One answer."""
    headers = [(_TYPE, kind), (_LENGTH, b"%d" % len(body)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def refuse(send: Send, refused: Refused) -> None:
    """An error in our shape, with what its status asks for."""
    more = _asked_for(refused)
    await answer(send, refused.status, encode(refused.body()), more=more)


def refusal(refused: Refused) -> tuple[bytes, bool]:
    """The same as it goes over the line, and whether the connection may be kept."""
    more = _asked_for(refused)
    body = encode(refused.body())
    head = [(_TYPE, JSON), (_LENGTH, b"%d" % len(body)), *more]
    first = b"HTTP/1.1 %d %b\r\n" % (refused.status, HTTPStatus(refused.status).phrase.encode())
    lines = b"".join(b"%b: %b\r\n" % each for each in head)
    return first + lines + b"\r\n" + body, (b"connection", b"close") not in more


def _asked_for(refused: Refused) -> list[tuple[bytes, bytes]]:
    """Headers that a status asks for."""
    more = []
    if refused.retry is not None:
        more.append((b"retry-after", b"%d" % max(1, round(refused.retry + 0.499))))
    if refused.status == 401:
        more.append((b"www-authenticate", b"Bearer"))
    if refused.status == 413:  # the rest of the body is not read
        more.append((b"connection", b"close"))
    if refused.status == 405 and refused.field:
        more.append((b"allow", refused.field.encode()))
        refused.field = None
    return more
