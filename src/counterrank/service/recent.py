"""Impressions that a worker wrote last, as feedback needs them: most feedback names one of these, and soon."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct

MOST = 32_768  # impressions that are remembered at most; about half a KB each
_WATCHED = ("generation", "forgotten_to", "base_impressions")  # one of them changes whenever events are deleted

_items = msgspec.json.Decoder(list[str | None]).decode


class Known(Struct, kw_only=True, gc=False):
    """An impression that a feedback names, as it stands in the database and in this batch."""

    sequence: int
    query: str
    page: str  # a JSON list: thousands of lists would be a heap to look through for garbage
    at: float
    counted: bool
    waiting: bool  # deferred, and no feedback has named it yet
    checked: int = -1  # all feedback on it up to this event is known here
    clicked: int = 0  # bits of the positions that were clicked

    @property
    def items(self) -> list[str | None]:
        """The page; None in the place of an item whose traces were erased."""
        return _items(self.page)

    def click(self, positions: list[int]) -> list[int]:
        """Those of these positions that were not clicked before; now they are."""
        fresh = [position for position in positions if not self.clicked >> position & 1]
        for position in fresh:
            self.clicked |= 1 << position
        return fresh


class Recent:
    """What one writer remembers of its own impressions. It is never asked outside of a transaction of that writer.

    Others may give feedback on them, so that feedback up to `others` has to be looked up; or delete some, and then all
    are forgotten.
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.others = -1  # events up to this one may be others'
        self._last = -1  # the last event of the transaction before
        self._watched: tuple[int, ...] = ()
        self._new: dict[str, Known] = {}
        self._old: dict[str, Known] = {}  # those before, which go all at once

    def begin(self, numbers: Mapping[str, int]) -> None:
        """A transaction begins, with these numbers of the store."""
        watched = tuple(numbers[name] for name in _WATCHED)
        if watched != self._watched:
            self.clear()
            self._watched = watched
        if numbers["sequence"] != self._last:
            self.others = numbers["sequence"]

    def end(self, sequence: int) -> None:
        """The transaction is committed, and this is the last event."""
        self._last = sequence

    def get(self, name: str) -> Known | None:
        return self._new.get(name) or self._old.get(name)

    def put(self, name: str, known: Known) -> None:
        self._new[name] = known
        if 2 * len(self._new) >= self.most:
            self._old, self._new = self._new, {}

    def clear(self) -> None:
        """Know nothing any more: after a transaction that failed, too."""
        self._new, self._old, self._last = {}, {}, -1

    def __len__(self) -> int:
        return len(self._new) + len(self._old)
