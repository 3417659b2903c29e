"""Memory that is free in this process: kept for the next who needs it, or given back to the system."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from functools import cache
from typing import Any

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of malloc.h
_LARGE = 1 << 20  # bytes
_MOST = (1 << 31) - 1  # bytes: as good as any
_WORTH = 512 << 20  # bytes of a process: one that has less keeps what is free, which it would only ask for again


_one_answer: list[bool] = []  # filled where the process ends with its first answer


def keep() -> None:
    """For a process of one answer. From now on what is free stays with it, whatever its size, and threads share it: to
    have memory that was never touched takes longer than much of what is done with it."""
    _one_answer.append(True)
    if (option := _of_c("mallopt")) is not None:
        for name, value in ((_MMAP_THRESHOLD, 1 << 30), (_TRIM_THRESHOLD, _MOST), (_ARENA_MAX, 2)):
            option(name, value)


def one_answer() -> bool:
    """Whether nothing need be remembered for a next question."""
    return bool(_one_answer)


def give_back() -> None:
    """After large tables have gone: what lies between arrays that stay would else count as taken until the end."""
    if _resident() < _WORTH:
        return
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    if (trim := _of_c("malloc_trim")) is not None:
        trim(0)


def give_back_at_once() -> None:
    """From now on what is large goes back as soon as it is free, whatever `keep` said. It takes longer to have then:
    for long work alone."""
    if (option := _of_c("mallopt")) is not None:
        for name in (_MMAP_THRESHOLD, _TRIM_THRESHOLD):
            option(name, _LARGE)


def _resident() -> float:
    """Bytes of this process that are in memory; where the system does not tell, as if they were many."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return math.inf


@cache
def _of_c(name: str) -> Any:
    """A function of the C library, where it has it."""
    try:
        return getattr(ctypes.CDLL(None), name) if sys.platform == "linux" else None
    except (AttributeError, OSError):
        return None
