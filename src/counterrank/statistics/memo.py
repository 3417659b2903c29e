"""What was made of a log that stays counted, so that the next question finds it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from threading import RLock
from typing import Any, TypeVar

T = TypeVar("T")


class Memo:
    """Results by name, each beside the objects it was made of. Of others it is made anew, in the place of the old one.

    Bytes are the same if they are equal, all else if it is the same object.

    >>> memo, log = Memo(), [1, 2]
    >>> memo.of("sum", (log,), lambda: sum(log)), memo.of("sum", (log,), lambda: 0), memo.of("sum", ([3],), lambda: 3)
    (3, 3, 3)
    """

    def __init__(self) -> None:
        self._kept: dict[object, tuple[tuple[object, ...], Any]] = {}
        self._making: defaultdict[object, RLock] = defaultdict(RLock)

    def of(self, name: object, sources: tuple[object, ...], make: Callable[[], T]) -> T:
        with self._making[name]:  # who comes while it is made waits
            known = self._kept.get(name)
            if known is not None and all(map(_same, known[0], sources)):
                found: T = known[1]
                return found
            made = make()
            self._kept[name] = sources, made
            return made


def _same(one: object, other: object) -> bool:
    return one is other or (isinstance(one, bytes) and one == other)


def remembered(memo: Memo | None, name: object, sources: tuple[object, ...], make: Callable[[], T]) -> T:
    """The same where there is a memo; without one it is made."""
    return make() if memo is None else memo.of(name, sources, make)
