"""The process that writes for a worker: what waits is one transaction and one fsync, and the worker ranks meanwhile.

A thread would do the same work, but it would share the worker's interpreter lock: to pass that back and forth takes
longer than to write.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket

from counterrank.service.batch import Outcome, apply
from counterrank.service.claims import Board, Range
from counterrank.service.database import Database, Pen
from counterrank.service.events import Away, Given, Shown
from counterrank.service.recent import Recent
from counterrank.service.told import Messages, answered, operations_of

BATCH = 1024  # operations that go into one transaction
AT_ONCE = 1 << 16  # bytes that are read at a time; for many more, memory is asked of the kernel each time
COLLECT = (50_000, 50, 1000)  # how seldom garbage is looked for


class Scribe:
    """Writes what comes over a socket, in the order in which it came, until the other end is closed."""

    def __init__(self, worker: socket.socket, database: Database, board: Board) -> None:
        self.worker, self.database, self.board = worker, database, board
        self._recent, self._pen = Recent(), Pen(database)
        self._messages = Messages()
        self._ranges: list[Range] = []

    def run(self) -> None:
        while operations := self._read():
            for begin in range(0, len(operations), BATCH):
                self.worker.sendall(self._written(operations[begin : begin + BATCH]))

    def _read(self) -> list[Shown | Given]:
        """All that has come by now, at least one operation; none at the end."""
        operations: list[Shown | Given] = []
        some = b""
        while not operations or (len(some) == AT_ONCE and select.select([self.worker], [], [], 0)[0]):
            some = self.worker.recv(AT_ONCE)
            if not some:
                break
            for content in self._messages.take(some):
                operations += operations_of(content)
        return operations

    def _claim(self, first: int, last: int) -> None:
        self._ranges.append((first, last))
        self.board.claim(first, last)

    def _written(self, operations: list[Shown | Given]) -> bytes:
        self._ranges.clear()
        try:
            outcomes = apply(self.database, operations, self._claim, self._recent, self._pen)
        except Exception as error:  # nothing is written; the next transaction tries a connection of its own
            failure = error if isinstance(error, Away) else Away(f"{type(error).__name__}: {error}")
            outcomes = [Outcome(error=failure)] * len(operations)
            self._ranges.clear()
        return answered(outcomes, self._ranges, self.board.claimed)


def forked(url: str, board: Board, close: tuple[int, ...] = ()) -> tuple[int, socket.socket]:
    """A process of this one's that writes to a store, and the socket to it. `close`: files that it must not hold.

    To be called while there is one thread only.
    """
    here, there = socket.socketpair()
    number = os.fork()
    if number:
        there.close()
        here.setblocking(False)
        return number, here
    code = 1
    try:
        here.close()
        _alone(close)
        scribe = Scribe(there, Database(url), board)
        gc.collect()
        gc.freeze()  # what is written makes no cycles: to look for some would only hold up who waits
        gc.set_threshold(*COLLECT)
        scribe.run()
        code = 0
    finally:
        os._exit(code)


def _alone(close: tuple[int, ...]) -> None:
    """Signals are the worker's: this process ends when the worker does. So do files."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(nothing, number)
    for number in close:
        os.close(number)
