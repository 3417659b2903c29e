"""The service over HTTP: routes, rights, rates and errors, as an application of Litestar's.

Handlers are plain ASGI: a body is read up to its limit, decoded by its shape and answered as bytes. One table says what
there is; the OpenAPI document is made of it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from litestar import Litestar
from litestar.handlers import asgi
from litestar.types import Receive as LitestarReceive
from litestar.types import Scope as LitestarScope
from litestar.types import Send as LitestarSend
from msgspec import Struct

from counterrank.service.bodies import MANY, Refused, decoded, encode, invalid
from counterrank.service.http import Gone, answer, header, read_body, refusal, refuse
from counterrank.service.service import Service
from counterrank.service.tokens import Caller, Tokens

log = logging.getLogger("counterrank.service")
BATCH = 1000  # requests in one batch
HOT = ("/rank", "/feedback")  # what is asked all the time: see `lines`


class Answer(Struct, frozen=True, gc=False):
    """What a handler gives back."""

    body: bytes
    kind: bytes = b"application/json"
    status: int = 200


class Call(Struct, frozen=True):
    """One request to a handler."""

    service: Service
    body: bytes
    caller: Caller
    scope: Any

    def query(self, name: str) -> str | None:
        """A parameter of the address."""
        from urllib.parse import parse_qs

        try:
            found = parse_qs(self.scope["query_string"].decode(), keep_blank_values=True, max_num_fields=100)
        except ValueError:
            raise invalid("the address cannot be read", name) from None
        return found[name][0] if name in found else None


Handler = Callable[[Call], Awaitable[Answer]]


@dataclass(frozen=True)
class Operation:
    """What can be done at a path: the right it takes, and whether it is open to everybody."""

    run: Handler
    right: str | None = None
    open: bool = False
    limited: bool = True  # counts against the caller's rate


async def rank(call: Call) -> Answer:
    return Answer(await call.service.rank(call.body))


async def feedback(call: Call) -> Answer:
    return Answer(await call.service.feedback(call.body))


async def batch_rank(call: Call) -> Answer:
    with call.service.flights.flight(call.service.setting.epoch):
        return await _each(call, call.service.rank)


async def batch_feedback(call: Call) -> Answer:
    return await _each(call, call.service.feedback)


async def _each(call: Call, run: Callable[[Any], Awaitable[bytes]]) -> Answer:
    """A list of requests, each with a status of its own; those of one list share a commit."""
    listed = decoded(MANY, call.body)
    if len(listed) > BATCH:
        raise invalid(f"{len(listed)} requests came in one batch: at most {BATCH} are taken")

    async def one(raw: Any) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(await run(raw))
            return {"status": 200} | found
        except Refused as refused:
            return {"status": refused.status} | refused.body()

    return Answer(encode(await asyncio.gather(*(one(raw) for raw in listed))))


class App:
    """One path's ASGI application: finds the operation, checks rights and rates, and answers in our shapes."""

    def __init__(self, service: Service, tokens: Tokens, route: str, operations: dict[str, Operation]) -> None:
        self.service, self.tokens, self.route, self.operations = service, tokens, route, operations
        self.most = service.max_body

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        begun, status = time.perf_counter(), 200
        try:
            operation, caller = self._allowed(scope)
            takes = scope["method"] in ("POST", "PUT")
            body = await read_body(scope, receive, self.most) if takes else b""
            found = await operation.run(Call(self.service, body, caller, scope))
            status = found.status
            await answer(send, status, found.body, found.kind)
        except Refused as refused:
            status = refused.status
            await refuse(send, refused)
        except Gone:
            return
        except Exception as error:
            status = 503
            await refuse(send, self._bug(error))
        self.service.metrics.answered(self.route, status, time.perf_counter() - begun)

    async def straight(self, scope: Any, body: bytes) -> tuple[bytes, bool]:
        """The same for a request that is there as a whole: its answer as it goes over the line."""
        begun = time.perf_counter()
        try:
            operation, caller = self._allowed(scope)
            found = await operation.run(Call(self.service, body, caller, scope))
            answered = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n%b" % (
                found.kind, len(found.body), found.body,
            )  # fmt: skip
            status, keep = 200, True
        except Exception as error:
            refused = error if isinstance(error, Refused) else self._bug(error)
            answered, keep = refusal(refused)
            status = refused.status
        self.service.metrics.answered(self.route, status, time.perf_counter() - begun)
        return answered, keep

    def _bug(self, error: Exception) -> Refused:
        """What is our fault is said in the log, and nothing of it to the caller."""
        log.error("bug", extra={"fields": {"route": self.route, "error": type(error).__name__}}, exc_info=True)
        return Refused(503, "unavailable", "this could not be answered: try again", retry=1.0)

    def _allowed(self, scope: Any) -> tuple[Operation, Caller]:
        """What is to be done, and who asks for it and may."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        operation = self.operations.get(method)
        if operation is None:
            allowed = ", ".join(self.operations)
            raise Refused(405, "method_not_allowed", f"{method} is not possible here: use {allowed}", allowed)
        caller = self.tokens.caller(None) if self.tokens.open else None
        if self.tokens.open and method in ("POST", "PUT") and _foreign(scope):
            raise Refused(403, "forbidden", "a web page of another site asks: set `tokens`, and send one")
        if not operation.open:
            caller = caller or self.tokens.caller(header(scope, b"authorization"))
            caller.need(operation.right)
            if self.service.settings.rate is not None and operation.limited:
                self._limit(caller, self.service.settings.rate)
        return operation, caller or _NOBODY

    def _limit(self, caller: Caller, rate: float) -> None:
        wait = self.service.shared.wait(caller.number, rate, max(1.0, rate))
        if wait > 0:
            raise Refused(429, "too_many_requests", f"at most {rate:g} requests a second: try again", retry=wait)


def _foreign(scope: Any) -> bool:
    """Whether a browser sent this for a page of another site."""
    origin = header(scope, b"origin")
    return origin is not None and origin.partition(b"://")[2] != header(scope, b"host")


_NOBODY = Caller(0, frozenset())


def application(service: Service, tokens: Tokens, routes: dict[str, dict[str, Operation]]) -> Any:
    """The whole service as one ASGI application. A path that ends with / stands for all below it: names may have any
    character, so that these are found here."""
    apps = {path: App(service, tokens, _route(path), operations) for path, operations in routes.items()}
    below = {path: app for path, app in apps.items() if path.endswith("/") and path != "/"}
    exact = {path: app for path, app in apps.items() if path not in below}
    made = Litestar([_handler(*each) for each in exact.items()], openapi_config=None, logging_config=None)

    async def whole(scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        if path in exact or scope["type"] != "http":
            await made(scope, receive, send)
            return
        for prefix, app in below.items():
            if path.startswith(prefix) and path != prefix:
                await app(scope, receive, send)
                return
        await refuse(send, Refused(404, "not_found", "there is nothing at this path"))
        service.metrics.answered("other", 404, 0.0)

    setattr(whole, "straight", {path: app for path, app in exact.items() if path in HOT})  # noqa: B010
    return whole


def _route(path: str) -> str:
    return path[1:] if path in ("/rank", "/feedback") else "other"


def _handler(path: str, app: App) -> Any:
    async def served(scope: LitestarScope, receive: LitestarReceive, send: LitestarSend) -> None:
        await app(scope, receive, send)

    return asgi(path, copy_scope=False)(served)
