"""Pages that stay as they are for a user and a day: their keys, and those that this worker remembers."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from counterrank.service.events import Page
from counterrank.service.secret import keyed
from counterrank.service.users import user_key

MOST = 50_000  # pages that a worker remembers; the store has them all


@dataclass(frozen=True, slots=True)
class Key:
    """Under what a page is kept, whose coin it is, and whose page. Nothing tells the user."""

    kept: str
    seed: bytes
    user: str


def key_of(secret: bytes, user: str, query: str, k: int, items: Sequence[str], at: float) -> Key:
    """The key of (user, UTC date, query, k, set of items)."""
    date = time.strftime("%Y-%m-%d", time.gmtime(at))
    seed = keyed(secret, "page", user, date, query, str(k), *sorted(items))
    return Key(seed.hex(), keyed(secret, "coin", seed.hex()), user_key(secret, user))


class Kept:
    """The pages last seen, by key, under one policy setting."""

    def __init__(self, most: int = MOST) -> None:
        self.most, self.epoch = most, -1
        self._pages: OrderedDict[str, Page] = OrderedDict()

    def get(self, key: str, epoch: int) -> Page | None:
        if epoch != self.epoch:
            self._pages.clear()
            self.epoch = epoch
        return self._pages.get(key)

    def put(self, key: str, epoch: int, page: Page) -> None:
        if epoch != self.epoch:
            return
        self._pages[key] = page
        if len(self._pages) > self.most:
            self._pages.popitem(last=False)
