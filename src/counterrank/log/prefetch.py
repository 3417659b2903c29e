"""Decode the next batches while this one is being counted."""

from __future__ import annotations

from collections.abc import Iterator
from queue import Full, Queue
from threading import Event, Thread
from typing import TypeVar

T = TypeVar("T")
_AHEAD = 4


def prefetched(source: Iterator[T]) -> Iterator[T]:
    """The same things in the same order, made in a thread of their own a few ahead."""
    queue: Queue[tuple[str, T | BaseException | None]] = Queue(_AHEAD)
    stop = Event()

    def put(message: tuple[str, T | BaseException | None]) -> bool:
        while not stop.is_set():
            try:
                queue.put(message, timeout=0.1)
                return True
            except Full:
                continue
        return False

    def work() -> None:
        try:
            for thing in source:
                if not put(("thing", thing)):
                    return
            put(("end", None))
        except BaseException as error:  # handed to the reader, raised there
            put(("error", error))

    thread = Thread(target=work, daemon=True, name="counterrank-prefetch")
    thread.start()
    try:
        while True:
            kind, thing = queue.get()
            if kind == "thing":
                yield thing  # type: ignore[misc]
            elif kind == "error":
                raise thing  # type: ignore[misc]
            else:
                return
    finally:
        stop.set()
        thread.join(timeout=5)
