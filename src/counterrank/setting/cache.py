"""What several estimators share is computed once, and kept by what it depends on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import ref

from numpy.typing import NDArray

if TYPE_CHECKING:
    from counterrank.setting.evidence import LogEvidence

E = TypeVar("E", bound="LogEvidence")
T = TypeVar("T")


class Same:
    """A key that is equal to itself alone: tables are compared by where they are, not by what is in them."""

    __slots__ = ("of",)

    def __init__(self, of: object) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.of is other.of

    def __hash__(self) -> int:
        return id(self.of)


class Cache:
    """Results of functions that `shared` marks; all evidence of one counted log has one cache."""

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], Any] = {}
        self._making: defaultdict[tuple[object, ...], RLock] = defaultdict(RLock)

    def get(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        if key not in self._kept:
            with self._making[key]:  # who comes second waits
                if key not in self._kept:
                    self._kept[key] = make()
        found: T = self._kept[key]
        return found


class Recent(Generic[T]):
    """What was last made of a few arrays, for as long as these are there: a short log's are looked at several times.

    >>> import numpy as np
    >>> one, recent = np.zeros(2), Recent()
    >>> recent.of(one, lambda: "made"), recent.of(one, lambda: "made again")
    ('made', 'made')
    """

    MOST = 8

    def __init__(self) -> None:
        self._kept: dict[int, tuple[ref[NDArray[Any]], T]] = {}
        self._making = RLock()

    def of(self, array: NDArray[Any], make: Callable[[], T]) -> T:
        with self._making:  # who asks for the same meanwhile waits, instead of making it again
            found = self._kept.get(id(array))
            if found is not None and found[0]() is array:
                return found[1]
            made = make()
            for old in list(self._kept)[: 1 - self.MOST]:
                self._kept.pop(old, None)
            self._kept[id(array)] = ref(array), made
            return made


def shared(*, target: bool, clip: bool) -> Callable[[Callable[[E], T]], Callable[[E], T]]:
    """Compute a function of evidence once for the same counts and features, and for the same target and clip where it
    depends on them."""

    def mark(make: Callable[[E], T]) -> Callable[[E], T]:
        @wraps(make)
        def found(evidence: E) -> T:
            return evidence.cache.get((make, *evidence.key(target, clip)), lambda: make(evidence))

        return found

    return mark
