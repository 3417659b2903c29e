"""Memory that is free in this process, given back to the system."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import pyarrow as pa


def give_back() -> None:
    """After large tables have gone: what lies between arrays that stay would else count as taken until the end."""
    pa.default_memory_pool().release_unused()
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Any:
    """The C library's way, where it has one."""
    try:
        return ctypes.CDLL(None).malloc_trim if sys.platform == "linux" else None
    except (AttributeError, OSError):
        return None
