"""The writer of a worker as the worker sees it, where a process of its own writes: see `scribe`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence

from counterrank.service.batch import Outcome
from counterrank.service.claims import Board, Claims, Range
from counterrank.service.events import Away, Change, Given, Shown, Unstorable
from counterrank.service.scribe import AT_ONCE, forked
from counterrank.service.told import Messages, Reply, asked, outcome_of, reply_of
from counterrank.service.writer import QUEUE, STUCK

SOME = 8  # operations that wait neither for more nor for those before them
AHEAD = 64  # operations under way, from which on all that comes is gathered
SOON = 0.001  # seconds after a message in which more is gathered for the next: each costs as much as several operations
Waiting = tuple[Shown | Given, "asyncio.Future[Outcome]", float]


class Apart:
    """Takes operations from one event loop. `listener` gets what a transaction changed, before callers are answered.

    `on_end` is called if the process ends before it is closed: then nothing can be written any more.
    """

    def __init__(self, url: str, *, queue: int = QUEUE, close: tuple[int, ...] = ()) -> None:
        self.queue = queue
        self.listener: Callable[[Sequence[Change]], None] | None = None
        self.on_end: Callable[[], None] = lambda: None
        self._board, self._claims, self._messages = Board(), Claims(), Messages()
        self._waiting: deque[Waiting] = deque()  # in the order in which they were handed over
        self._gathered: list[Waiting] = []
        self._planned: asyncio.TimerHandle | None = None  # when what is gathered is handed over
        self._unsent = bytearray()
        self._handed = 0.0  # when the last message was sent
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = self._ended = False
        self.process, self._socket = forked(url, self._board, close)

    def __len__(self) -> int:
        return len(self._waiting) + len(self._gathered)

    def write(self, operation: Shown | Given) -> asyncio.Future[Outcome]:
        """The outcome, once it is on disk."""
        now = time.monotonic()
        if self._closed or self._ended:
            raise Away("the store is closed" if self._closed else "the process that writes has ended")
        if self._waiting and now - self._waiting[0][2] > STUCK:
            raise Away(f"a transaction takes more than {STUCK:g} seconds")
        if len(self._waiting) + len(self._gathered) >= self.queue:
            raise Away(f"{self.queue} operations wait already")
        loop = self._loop or self._begun()
        done: asyncio.Future[Outcome] = loop.create_future()
        self._gathered.append((operation, done, now))
        self._plan(loop, now)
        return done

    def _plan(self, loop: asyncio.AbstractEventLoop, now: float) -> None:
        """Hand over what is gathered: many at once; a few soon, or once those under way are answered."""
        if len(self._gathered) >= SOME:
            if len(self._waiting) < AHEAD:
                self._hand_over()
        elif not self._waiting and self._planned is None:
            self._planned = loop.call_later(max(0.0, self._handed + SOON - now), self._hand_over)

    def _begun(self) -> asyncio.AbstractEventLoop:
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket, self._read)
        return self._loop

    def _hand_over(self) -> None:
        if self._planned is not None:
            self._planned.cancel()
            self._planned = None
        if not self._gathered:
            return
        gathered, self._gathered = self._gathered, []
        try:
            message = asked([each[0] for each in gathered])
        except UnicodeEncodeError:  # one of them is no text
            good = [each for each in gathered if _storable(each)]
            self._gathered = good + self._gathered
            self._hand_over()
            return
        self._handed = time.monotonic()
        self._waiting.extend(gathered)
        self._send(message)

    def _send(self, message: bytes) -> None:
        if not self._unsent:
            try:
                message = message[self._socket.send(message) :]
            except BlockingIOError:
                pass
            except OSError:
                self._end()
                return
        if message:
            if not self._unsent and self._loop is not None:
                self._loop.add_writer(self._socket, self._send_more)
            self._unsent += message

    def _send_more(self) -> None:
        try:
            del self._unsent[: self._socket.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:
            self._end()
            return
        if not self._unsent and self._loop is not None:
            self._loop.remove_writer(self._socket)

    def _read(self) -> None:
        try:
            some = self._socket.recv(AT_ONCE)
        except BlockingIOError:
            return
        except OSError:
            some = b""
        if not some:
            self._end()
            return
        for content in self._messages.take(some):
            self._answer(reply_of(content))

    def _answer(self, reply: Reply) -> None:
        """First the changes, then the answers."""
        self._claims.answer(reply.ranges, lambda: self._board.told(reply.claimed))
        taken = [self._waiting.popleft() for _ in reply.outcomes]
        if self._gathered and self._loop is not None:
            self._plan(self._loop, time.monotonic())
        outcomes = [outcome_of(each[0], told) for each, told in zip(taken, reply.outcomes, strict=True)]
        try:
            if self.listener is not None:
                self.listener([outcome.change for outcome in outcomes if outcome.change is not None])
        finally:
            for (_, done, _), outcome in zip(taken, outcomes, strict=True):
                _resolve(done, outcome)

    def _end(self) -> None:
        """The process is gone, or as good as gone: what waits may be written or not."""
        if self._ended:
            return
        self._ended = True
        if self._loop is not None:
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
        self._claims.answer(
            (), lambda: self._board.told(self._board.claimed)
        )  # what it wrote is followed as others' is
        for _, done, _ in (*self._waiting, *self._gathered):
            _resolve(done, Outcome(error=Away("the process that writes has ended")))
        self._waiting.clear()
        self._gathered.clear()
        if not self._closed:
            self.on_end()

    def claims(self) -> tuple[list[Range], int]:
        """Ranges of sequences that are ours, in order; and up to which of them callers have been answered."""
        return self._claims.ranges(self._board.open)

    def mine(self, since: int, until: int) -> int | None:
        """Up to which event all after `since` are ours and told; None where some up to `until` are others'."""
        return self._claims.mine(since, until, self._board.open)

    def done_with(self, sequence: int) -> None:
        """Nobody will ask for claims up to this one again."""
        self._claims.done_with(sequence)

    def close(self) -> None:
        """Let what waits be written, and wait for the process to end. Not in the event loop, which gets the answers."""
        self._closed = True
        if not self._ended:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_WR)
        os.waitpid(self.process, 0)


def _storable(waiting: Waiting) -> bool:
    """Whether it can be handed over; its caller is told if not."""
    try:
        asked([waiting[0]])
    except UnicodeEncodeError as error:
        _resolve(waiting[1], Outcome(error=Unstorable(str(error))))
        return False
    return True


def _resolve(done: asyncio.Future[Outcome], outcome: Outcome) -> None:
    if not done.done():  # its caller may have gone
        done.set_result(outcome)
