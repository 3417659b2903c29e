"""What a long reproduction is doing, on stderr: where that is a terminal, or COUNTERRANK_PROGRESS is set."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

VARIABLE = "COUNTERRANK_PROGRESS"  # set to anything: lines also where stderr is a file or a pipe
T = TypeVar("T")
BACK = "\r\x1b[K"  # to the begin of the line, and clear it


def tell(what: str) -> None:
    """One line for what begins now."""
    if sys.stderr.isatty() or os.environ.get(VARIABLE):
        print(f"{what} …", file=sys.stderr, flush=True)


def counted(what: str, each: Iterable[T], total: int) -> Iterator[T]:
    """The same things one by one, and how many are done: on a terminal one line that changes, else one at the end."""
    begun, screen = time.perf_counter(), sys.stderr.isatty()
    told = screen or bool(os.environ.get(VARIABLE))
    tell(f"{what}: {total} runs")
    for number, one in enumerate(each, 1):
        yield one
        if screen and number < total:
            print(f"{BACK}{what}: {number} of {total} runs", end="", file=sys.stderr, flush=True)
    if told:
        taken = f"{time.perf_counter() - begun:.0f} s"
        print(f"{BACK if screen else ''}{what}: {total} runs done, {taken}", file=sys.stderr, flush=True)
