"""What a ranking service stores, in the order of its commits: impressions and feedback, and what they change."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray


class Shown(Struct, frozen=True, kw_only=True, array_like=True, tag=0, gc=False):
    """One impression: the page, and with what chance it was shown."""

    impression: str  # unique; `new_impression` makes one
    at: float  # seconds since 1970, UTC
    query: str
    items: tuple[str, ...]  # the page, positions 1..k
    propensity: float
    item_propensities: tuple[float, ...]
    policy: str
    model: str | None
    cluster: str | None  # HMAC of the kept page's key; None without a user
    explored: bool
    deferred: bool = False  # counts only once a feedback names it
    counted: bool = True  # False: never evidence, and not exported
    request: str | None = None
    digest: str | None = None  # of the body that came with `request`
    answer: bytes | None = None  # what was answered, kept only with `request`
    kept: str | None = None  # the page is kept under this key
    epoch: int = 0  # number of the policy setting under which the page was made
    user_key: str | None = None  # HMAC of the user alone: a user's traces are found by it
    received: tuple[str, ...] | None = None  # the first k as they came; None where the page shows just these


class Given(Struct, frozen=True, kw_only=True, array_like=True, tag=1, gc=False):
    """One feedback on an impression."""

    event: str
    impression: str
    clicks: tuple[str, ...]
    reward: float | None
    at: float
    digest: str


class Receipt(Struct, frozen=True, array_like=True, gc=False):
    """What became of a feedback. `counted`: clicks that count by it."""

    duplicate: bool
    late: bool
    counted: int
    sequence: int


class Change(Struct, frozen=True, array_like=True, gc=False):
    """What one event adds to the evidence: a row of `items`, with how often each was shown and clicked more."""

    sequence: int
    query: str
    items: tuple[str, ...]
    positions: tuple[int, ...]
    shown: tuple[int, ...]
    clicked: tuple[int, ...]


class Page(Struct, frozen=True, array_like=True, gc=False):
    """A page that is kept for a user and a day."""

    items: tuple[str, ...]
    propensity: float
    item_propensities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PolicySetting:
    """Which policy ranks, and how much it explores. `epoch` grows by one with each change."""

    name: str
    exploration: float
    randomise: float
    epoch: int = 0
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Model:
    """A version of the prior: its files, by name, and whether it is the one that serves."""

    version: int
    at: float
    files: dict[str, bytes]
    notes: dict[str, Any]
    active: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was shown and clicked, by (query, item, position), up to the event `as_of`; columns of one length."""

    as_of: int
    generation: int  # grows when traces are erased: what was loaded earlier holds them still
    query: list[str] = field(repr=False)
    item: list[str] = field(repr=False)
    position: NDArray[np.int32] = field(repr=False)
    shown: NDArray[np.int64] = field(repr=False)
    clicked: NDArray[np.int64] = field(repr=False)


class Replay(Exception):
    """The same request with the same body has been answered already: this is the answer, and nothing was written."""

    def __init__(self, answer: bytes) -> None:
        super().__init__("answered already")
        self.answer = answer


class Conflict(Exception):
    """The same request or event came with another body."""


class Superseded(Exception):
    """Another worker kept a page under this key first: nothing was written, that page is to be shown."""

    def __init__(self, page: Page) -> None:
        super().__init__("another page is kept")
        self.page = page
        self.items, self.propensity, self.item_propensities = page.items, page.propensity, page.item_propensities


class Outdated(Exception):
    """The policy setting has changed since the page was made: nothing was written, make it anew by `setting`."""

    def __init__(self, setting: PolicySetting) -> None:
        super().__init__(f"made under setting {setting.epoch - 1} or before")
        self.setting = setting


class UnknownImpression(Exception):
    """A feedback names an impression that was never shown, or that is folded away."""


class NotOnPage(Exception):
    """A feedback clicks an item that its page did not show."""

    def __init__(self, item: str) -> None:
        super().__init__(item)
        self.item = item


class Unstorable(Exception):
    """The database cannot hold this text (a zero character, half a surrogate pair), or the impression is there."""


class Away(Exception):
    """The store cannot be reached or its queue is full: nothing is acknowledged, try again later."""


class Reload(Exception):
    """Traces were erased, or the events asked for are folded away: following is not enough, load the evidence again."""


def new_impression(at: float | None = None) -> str:
    """A new id of an impression. It begins with the time, so that ids made one after another lie side by side on disk.

    >>> one, other = new_impression(1000.0), new_impression(1001.0)
    >>> len(one), one < other
    (32, True)
    """
    milliseconds = int((time.time() if at is None else at) * 1000)
    return milliseconds.to_bytes(6, "big").hex() + os.urandom(10).hex()


def change_of(shown: Shown, sequence: int) -> Change | None:
    """What an impression adds to the evidence at once; None where it is deferred or does not count."""
    if shown.deferred or not shown.counted:
        return None
    return Change(sequence, shown.query, shown.items, *_whole(len(shown.items)))


@cache
def _whole(k: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Positions of a page, each shown once and not clicked."""
    return tuple(range(1, k + 1)), (1,) * k, (0,) * k
