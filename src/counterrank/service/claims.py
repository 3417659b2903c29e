"""Which events are a worker's own, so that it counts them once: told by its writer, and not followed as others' are."""

from __future__ import annotations

import mmap
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from counterrank.service.events import Away

Range = tuple[int, int]  # first and last sequence of a batch


class Claims:
    """Ranges of sequences that are ours. A range is claimed before it is committed, and answered when it is told."""

    def __init__(self) -> None:
        self._own: deque[Range] = deque()
        self._answered = 0
        self._lock = threading.Lock()

    def claim(self, first: int, last: int) -> None:
        with self._lock:
            self._own.append((first, last))

    def answer(self, claimed: Iterable[Range] = (), then: Callable[[], None] = lambda: None) -> None:
        """All that is claimed, and these, has been told; `then` is done in the same moment."""
        with self._lock:
            self._own.extend(claimed)
            then()
            if self._own:
                self._answered = max(self._answered, self._own[-1][1])

    def give_up(self) -> None:
        """A batch that failed is followed like anybody else's: if its commit did happen, nobody here was told."""
        with self._lock:
            while self._own and self._own[-1][1] > self._answered:
                self._own.pop()

    def ranges(self, more: Callable[[], Iterable[Range]] = lambda: ()) -> tuple[list[Range], int]:
        """Ranges in order, with those that `more` gives; and up to which event they have been told."""
        with self._lock:
            return [*self._own, *more()], self._answered

    def mine(self, since: int, until: int, more: Callable[[], Iterable[Range]]) -> int | None:
        """Up to which event all after `since` are ours and told; None where some up to `until` are others'."""
        claims, answered = self.ranges(more)
        for first, last in claims:
            if last > since < until:
                if first > since + 1:
                    return None
                if last > answered:  # not told yet
                    return since
                since = last
        return since if since >= until else None

    def done_with(self, sequence: int) -> None:
        """Nobody will ask for claims up to this one again."""
        with self._lock:
            while self._own and self._own[0][1] <= sequence:
                self._own.popleft()


class Board:
    """Ranges that a writer in a process of its own has claimed, where the worker sees them before they are committed.

    The memory is shared with processes that are forked later.
    """

    ROOM = 4096  # ranges that may be claimed and not told yet

    def __init__(self) -> None:
        self._worker = os.getpid()
        self._numbers = memoryview(mmap.mmap(-1, 8 * (2 + 2 * self.ROOM))).cast("q")  # claimed, told; then the ranges

    @property
    def claimed(self) -> int:
        """How many ranges were ever claimed."""
        return self._numbers[0]

    def claim(self, first: int, last: int) -> None:
        """In the writer: this is about to be committed."""
        claimed = self.claimed
        while claimed - self._numbers[1] >= self.ROOM:  # the worker is far behind
            if self._worker not in (os.getpid(), os.getppid()):  # nobody else may wait for this transaction to end
                raise Away("the worker has ended")
            time.sleep(0.001)
        at = self._at(claimed)
        self._numbers[at], self._numbers[at + 1] = first, last
        self._numbers[0] = claimed + 1

    def told(self, claimed: int) -> None:
        """In the worker: of so many ranges it has been told what became of them."""
        self._numbers[1] = claimed

    def open(self) -> list[Range]:
        """In the worker: ranges of which it has not been told yet."""
        places = map(self._at, range(self._numbers[1], self.claimed))
        return [(self._numbers[at], self._numbers[at + 1]) for at in places]

    def _at(self, number: int) -> int:
        """Where a range is."""
        return 2 + 2 * (number % self.ROOM)
