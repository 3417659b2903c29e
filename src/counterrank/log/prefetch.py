"""Decode the next batches while this one is being counted."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from queue import Full, Queue
from threading import Event, Thread
from typing import Generic, TypeVar

T = TypeVar("T")
AHEAD = 4
LANES = 2


class _Lane(Generic[T]):
    """Things of an iterator, made in a thread of their own a few ahead, from now on and until it is closed."""

    def __init__(self, source: Iterator[T], ahead: int) -> None:
        self._queue: Queue[tuple[str, T | BaseException | None]] = Queue(ahead)
        self._stop = Event()
        self._thread = Thread(target=self._work, args=(source,), daemon=True, name="counterrank-prefetch")
        self._thread.start()

    def _put(self, message: tuple[str, T | BaseException | None]) -> bool:
        while not self._stop.is_set():
            try:
                self._queue.put(message, timeout=0.1)
                return True
            except Full:
                continue
        return False

    def _work(self, source: Iterator[T]) -> None:
        try:
            for thing in source:
                if not self._put(("thing", thing)):
                    return
            self._put(("end", None))
        except BaseException as error:  # handed to the reader, raised there
            self._put(("error", error))

    def __iter__(self) -> Iterator[T]:
        while True:
            kind, thing = self._queue.get()
            if kind == "thing":
                yield thing  # type: ignore[misc]
            elif kind == "error":
                raise thing  # type: ignore[misc]
            else:
                return

    def close(self) -> None:
        self._stop.set()
        self._thread.join(timeout=5)


def prefetched(source: Iterator[T], ahead: int = AHEAD) -> Iterator[T]:
    """The same things in the same order, made in a thread of their own a few ahead."""
    lane = _Lane(source, ahead)
    try:
        yield from lane
    finally:
        lane.close()


def in_lanes(pieces: Sequence[Iterator[T]]) -> Generator[T]:
    """The things of one piece after the other, made in two threads, of which each has every second piece.

    >>> list(in_lanes([iter("ab"), iter("c"), iter("d")]))
    ['a', 'b', 'c', 'd']
    """
    lanes = [_Lane(_marked(pieces[lane::LANES]), AHEAD // LANES) for lane in range(min(LANES, len(pieces)))]
    try:
        things = [iter(lane) for lane in lanes]
        for number in range(len(pieces)):
            for thing, ends in things[number % LANES]:
                if ends:
                    break
                yield thing  # type: ignore[misc]
    finally:
        for lane in lanes:
            lane.close()


def _marked(pieces: Sequence[Iterator[T]]) -> Iterator[tuple[T | None, bool]]:
    """Things that are no end, and after each piece one that is."""
    for piece in pieces:
        for thing in piece:
            yield thing, False
        yield None, True
