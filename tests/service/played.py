"""Users of the position-based model in front of a service in this process."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from counterrank.service.app import application
from counterrank.service.routes import ROUTES
from counterrank.service.service import Service
from counterrank.service.settings import Settings
from counterrank.service.shared import Shared
from counterrank.service.store import Store
from counterrank.service.tokens import read_tokens
from counterrank.service.worker import running

TOGETHER = 25  # users who ask at a time


def looks(position: int) -> float:
    """How likely a position, from 1, is looked at: as the service takes it to be."""
    return 1 / math.log2(position + 1)


@dataclass
class Users:
    """Queries with candidates, and how attractive each is."""

    attraction: Mapping[str, Mapping[str, float]]
    rng: random.Random
    clicks: list[int] = field(default_factory=list)  # of each page, in turn

    @classmethod
    def drawn(cls, seed: int, queries: int, items: int) -> Users:
        rng = random.Random(seed)
        made = {f"q{q}": {f"i{i}": 0.05 + 0.7 * rng.random() ** 2 for i in range(items)} for q in range(queries)}
        return cls(made, rng)

    def clicked(self, query: str, shown: Sequence[str]) -> list[str]:
        of = self.attraction[query]
        return [item for k, item in enumerate(shown, 1) if self.rng.random() < of[item] * looks(k)]

    def worst_first(self, query: str) -> list[str]:
        """The order that they come in: nobody would have chosen it."""
        return sorted(self.attraction[query], key=lambda item: self.attraction[query][item])

    def best(self, query: str, k: int) -> list[str]:
        return self.worst_first(query)[::-1][:k]

    def worth(self, policy: Mapping[str, Sequence[str]]) -> float:
        """Clicks a page, queries being equally likely."""
        every = (self.attraction[q][a] * looks(k) for q, items in policy.items() for k, a in enumerate(items, 1))
        return sum(every) / len(policy)


def counted_ids() -> Callable[[float], str]:
    """Ids of impressions that are the same in every run: learning cuts a log in parts by them."""
    numbers = itertools.count()
    return lambda at: f"{next(numbers):032x}"


@asynccontextmanager
async def serving(folder: Path, **options: Any) -> AsyncIterator[tuple[Service, Any]]:
    """A service with its application, over a store in this folder."""
    settings = Settings(store=f"sqlite:///{folder / 'store.db'}", **options)
    service = Service(settings, Store.open(settings.store), Shared(folder / "shared"), b"secret" * 6)
    async with running(service):
        service.random.seed(7)
        yield service, application(service, read_tokens(None), ROUTES)


async def played(service: Service, users: Users, pages: int) -> None:
    """So many pages asked for and clicked, some at a time, all shown before any is clicked: one outcome."""

    async def shown(query: str) -> Any:
        body = {"query": query, "items": users.worst_first(query)}
        return json.loads(await service.rank(json.dumps(body).encode()))

    async def answered(query: str, page: Any) -> int:
        clicks = users.clicked(query, [each["item"] for each in page["ranking"]])
        given = {"impression": page["impression"], "event": page["impression"], "clicks": clicks}
        await service.feedback(json.dumps(given).encode())
        return len(clicks)

    names = list(users.attraction)
    for first in range(0, pages, TOGETHER):
        some = [users.rng.choice(names) for _ in range(min(TOGETHER, pages - first))]
        users.clicks += await asyncio.gather(*map(answered, some, await asyncio.gather(*map(shown, some))))
