"""A client of the ranking service, plain and asynchronous: `pip install '.[client]'`.

A call that fails on its way is tried again. That is safe: each call to rank has a `request` and each feedback an
`event`, made here before the first try, by which the service knows a repetition and counts it once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from counterrank.errors import InputError, NotInstalled
from counterrank.service.calls import (
    Answer,
    Call,
    Calls,
    Feedback,
    Id,
    Item,
    Page,
    Placed,
    Rank,
    Receipt,
    ServiceError,
    Setting,
    Unreachable,
    Wait,
)

try:
    import httpx
except ImportError as error:  # pragma: no cover - the extra is there in tests
    raise NotInstalled("the client needs httpx: pip install '.[client]'") from error

T = TypeVar("T")


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError(f"the service's address is {url!r}: expected one such as http://127.0.0.1:8080")
    return url.rstrip("/")


def _headers(token: str | None) -> dict[str, str]:
    if token is not None and not (token.isascii() and token.isprintable()):
        raise InputError("the token has characters that no header can carry: expected one line of plain ASCII")
    return {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})


class Client:
    """A service at `url`. `timeout`: seconds for each try; `tries`: how often a call is made at most.

    >>> client = Client("http://127.0.0.1:8080")
    >>> page = client.rank("shoes", ["a", "b", "c"], user="u1")  # doctest: +SKIP
    >>> client.feedback(page.impression, clicks=page.items[:1]).counted  # doctest: +SKIP
    1
    """

    def __init__(
        self, url: str, *, token: str | None = None, timeout: float = 2.0, tries: int = 4,
        transport: httpx.BaseTransport | None = None,
    ) -> None:  # fmt: skip
        self._calls = Calls(tries)
        self._http = httpx.Client(base_url=_checked(url), headers=_headers(token), timeout=timeout, transport=transport)

    def rank(
        self, query: str, items: Sequence[Item], *, k: int | None = None, user: Id | None = None,
        segment: Id | None = None, request: str | None = None, defer: bool | None = None,
    ) -> Page:  # fmt: skip
        """A page. The same `request` gives the same page again; without one the client makes one."""
        asked = Rank(query=query, items=items, k=k, user=user, segment=segment, request=request, defer=defer)
        return self._run(self._calls.rank(asked))

    def feedback(
        self, impression: str, clicks: Sequence[Id] = (), *, reward: float | None = None,
        at: float | str | None = None, event: str | None = None,
    ) -> Receipt:  # fmt: skip
        """What users did with a page. The same `event` counts once; without one the client makes one."""
        given = Feedback(impression=impression, clicks=clicks, reward=reward, at=at, event=event)
        return self._run(self._calls.feedback(given))

    def rank_many(self, asked: Iterable[Rank]) -> list[Page | ServiceError]:
        """Several pages in one call, each a page or why it was refused."""
        return self._run(self._calls.rank_many(asked))

    def feedback_many(self, given: Iterable[Feedback]) -> list[Receipt | ServiceError]:
        return self._run(self._calls.feedback_many(given))

    def put_items(self, features: Mapping[Id, Mapping[str, float]], *, query: str | None = None) -> int:
        """Register features of items, for all queries or for one; how many were stored."""
        return self._run(self._calls.put_items(features, query))

    def item(self, item: Id, *, query: str | None = None) -> dict[str, float]:
        """The features of an item."""
        return self._run(self._calls.item(item, query))

    def policy(self) -> Setting:
        return self._run(self._calls.policy())

    def put_policy(
        self, name: str | None = None, *, exploration: float | None = None, randomise: float | None = None
    ) -> Setting:
        """Serve another policy. With exploration and randomise 0 it is the kill switch."""
        return self._run(self._calls.put_policy(name, exploration, randomise))

    def dry_run(self, name: str) -> dict[str, Any]:
        """What `compare` says of that policy on the service's own log."""
        return self._run(self._calls.dry_run(name))

    def ready(self) -> bool:
        """Whether the service takes requests now; tried once."""
        return self._run(self._calls.ready())

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, call: Call[T]) -> T:
        answer: Answer = None
        while True:
            try:
                step = call.send(answer)
            except StopIteration as done:
                found: T = done.value
                return found
            answer = None
            if isinstance(step, Wait):
                time.sleep(step.seconds)
                continue
            try:
                got = self._http.request(step.method, step.path, content=step.body)
                answer = got.status_code, got.headers, got.content
            except httpx.TransportError:
                pass


class AsyncClient:
    """The same for `async` code: every call is awaited."""

    def __init__(
        self, url: str, *, token: str | None = None, timeout: float = 2.0, tries: int = 4,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:  # fmt: skip
        self._calls = Calls(tries)
        self._http = httpx.AsyncClient(
            base_url=_checked(url), headers=_headers(token), timeout=timeout, transport=transport
        )

    async def rank(
        self, query: str, items: Sequence[Item], *, k: int | None = None, user: Id | None = None,
        segment: Id | None = None, request: str | None = None, defer: bool | None = None,
    ) -> Page:  # fmt: skip
        asked = Rank(query=query, items=items, k=k, user=user, segment=segment, request=request, defer=defer)
        return await self._run(self._calls.rank(asked))

    async def feedback(
        self, impression: str, clicks: Sequence[Id] = (), *, reward: float | None = None,
        at: float | str | None = None, event: str | None = None,
    ) -> Receipt:  # fmt: skip
        given = Feedback(impression=impression, clicks=clicks, reward=reward, at=at, event=event)
        return await self._run(self._calls.feedback(given))

    async def rank_many(self, asked: Iterable[Rank]) -> list[Page | ServiceError]:
        return await self._run(self._calls.rank_many(asked))

    async def feedback_many(self, given: Iterable[Feedback]) -> list[Receipt | ServiceError]:
        return await self._run(self._calls.feedback_many(given))

    async def put_items(self, features: Mapping[Id, Mapping[str, float]], *, query: str | None = None) -> int:
        return await self._run(self._calls.put_items(features, query))

    async def item(self, item: Id, *, query: str | None = None) -> dict[str, float]:
        return await self._run(self._calls.item(item, query))

    async def policy(self) -> Setting:
        return await self._run(self._calls.policy())

    async def put_policy(
        self, name: str | None = None, *, exploration: float | None = None, randomise: float | None = None
    ) -> Setting:
        return await self._run(self._calls.put_policy(name, exploration, randomise))

    async def dry_run(self, name: str) -> dict[str, Any]:
        return await self._run(self._calls.dry_run(name))

    async def ready(self) -> bool:
        return await self._run(self._calls.ready())

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, call: Call[T]) -> T:
        answer: Answer = None
        while True:
            try:
                step = call.send(answer)
            except StopIteration as done:
                found: T = done.value
                return found
            answer = None
            if isinstance(step, Wait):
                await asyncio.sleep(step.seconds)
                continue
            try:
                got = await self._http.request(step.method, step.path, content=step.body)
                answer = got.status_code, got.headers, got.content
            except httpx.TransportError:
                pass


__all__ = [
    "AsyncClient", "Client", "Feedback", "Page", "Placed", "Rank", "Receipt", "ServiceError", "Setting", "Unreachable",
]  # fmt: skip
