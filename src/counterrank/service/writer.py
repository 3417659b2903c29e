"""The one thread of a worker that writes: what waits in its queue is one transaction, so that many share one fsync."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue

from counterrank.service.batch import Outcome, apply
from counterrank.service.claims import Claims, Range
from counterrank.service.database import Database, Pen
from counterrank.service.events import Away, Change, Given, Shown, change_of
from counterrank.service.recent import Recent

QUEUE, BATCH = 8192, 1024  # operations that may wait; that go into one transaction
STUCK = 10.0  # seconds after which a transaction that does not end means that the store is away

Waiting = tuple[Shown | Given, "asyncio.Future[Outcome]", asyncio.AbstractEventLoop]


class Writer:
    """Takes operations from event loops. `listener` gets what a batch changed, before its callers are answered."""

    def __init__(self, database: Database, *, queue: int = QUEUE, batch: int = BATCH) -> None:
        self.database, self.queue, self.batch = database, queue, batch
        self.listener: Callable[[Sequence[Change]], None] | None = None
        self.batches = self.written = 0
        self._waiting: deque[Waiting] = deque()  # for the thread to take
        self._gathered: dict[asyncio.AbstractEventLoop, list[Waiting]] = {}  # of one turn of an event loop
        self._claims = Claims()
        self._recent, self._pen = Recent(), Pen(database)
        self._began: float | None = None  # when the transaction that runs did
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="counterrank-writer", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        return len(self._waiting) + sum(map(len, self._gathered.values()))

    def write(self, operation: Shown | Given) -> asyncio.Future[Outcome]:
        """The outcome, once it is on disk. What one turn of the event loop writes is handed over at its end."""
        if self._closed:
            raise Away("the store is closed")
        began = self._began  # which the writing thread sets to None at any time
        if began is not None and time.monotonic() - began > STUCK:
            raise Away(f"a transaction takes more than {STUCK:g} seconds")
        if len(self) >= self.queue:
            raise Away(f"{self.queue} operations wait already")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Outcome] = loop.create_future()
        gathered = self._gathered.get(loop)
        if gathered is None:
            gathered = self._gathered[loop] = []
            loop.call_soon(self._hand_over, loop)
        gathered.append((operation, done, loop))
        return done

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        self._waiting.extend(self._gathered.pop(loop))
        self._ring()
        if self._closed and not self._thread.is_alive():  # closed in this very moment: nobody takes them any more
            self._refuse()

    def _ring(self) -> None:
        """Wake the thread. A bell that rings already will be heard after what was put before."""
        if self._bell.empty():
            self._bell.put(None)

    def close(self) -> None:
        """Write what waits, and end the thread."""
        self._closed = True
        self._ring()
        self._thread.join()
        self._pen.close()
        self._refuse()

    def _refuse(self) -> None:
        left = [self._waiting.popleft() for _ in range(len(self._waiting))]
        self._answer(left, [Outcome(error=Away("the store is closed"))] * len(left))

    def claims(self) -> tuple[list[Range], int]:
        """Ranges of sequences that are ours, in order; and up to which of them callers have been answered."""
        return self._claims.ranges()

    def mine(self, since: int, until: int) -> int | None:
        """As of `Apart`; a thread's claims are told before the event loop has heard of them, so this cannot tell."""
        return since if since >= until else None

    def done_with(self, sequence: int) -> None:
        """Nobody will ask for claims up to this one again."""
        self._claims.done_with(sequence)

    def _run(self) -> None:
        while (taken := self._take()) is not None:
            self._began = time.monotonic()
            try:
                outcomes = apply(
                    self.database, [each[0] for each in taken], self._claims.claim, self._recent, self._pen
                )
            except Exception as error:  # this batch is not written; the next one tries a connection of its own
                failure = error if isinstance(error, Away) else Away(f"{type(error).__name__}: {error}")
                outcomes = [Outcome(error=failure)] * len(taken)
                self._claims.give_up()
            self._began = None
            self._answer(taken, outcomes)

    def _take(self) -> list[Waiting] | None:
        """What waits, up to a batch of it; None at the end."""
        while not self._waiting:
            if self._closed:
                return None
            self._bell.get()
        return [self._waiting.popleft() for _ in range(min(self.batch, len(self._waiting)))]

    def _answer(self, taken: list[Waiting], outcomes: list[Outcome]) -> None:
        self.batches += 1
        self.written += len(taken)
        for (operation, _, _), outcome in zip(taken, outcomes, strict=True):
            if type(operation) is Shown and outcome.error is None:
                outcome.change = change_of(operation, outcome.result)
        for loop in {loop for _, _, loop in taken}:
            mine = [(done, out) for (_, done, where), out in zip(taken, outcomes, strict=True) if where is loop]
            with contextlib.suppress(RuntimeError):  # that loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self._resolve, mine)
        self._claims.answer()

    def _resolve(self, outcomes: list[tuple[asyncio.Future[Outcome], Outcome]]) -> None:
        """In the event loop: first the changes, then the answers."""
        try:
            if self.listener is not None:
                self.listener([outcome.change for _, outcome in outcomes if outcome.change is not None])
        finally:
            for done, outcome in outcomes:
                if not done.done():  # its caller may have gone
                    done.set_result(outcome)
