"""Sorting in compiled code. NumPy's own `argsort` runs there too, but takes two seconds to compile wherever it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterrank.compiled import njit


@njit(nogil=True)
def falling(values: Any) -> Any:  # pragma: no cover
    """The places of values from the largest to the smallest; equal ones in their order, what is no number last."""
    size = len(values)
    order, other = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for i in range(size):
        order[i] = i
    run = 1
    while run < size:
        for begin in range(0, size, 2 * run):
            middle, end = min(begin + run, size), min(begin + 2 * run, size)
            one, two = begin, middle
            for at in range(begin, end):
                if two == end or (one < middle and not _above(values[order[two]], values[order[one]])):
                    other[at] = order[one]
                    one += 1
                else:
                    other[at] = order[two]
                    two += 1
        order, other = other, order
        run *= 2
    return order


@njit(nogil=True, inline="always")
def _above(value: Any, other: Any) -> bool:  # pragma: no cover
    return bool(value > other or (value == value and other != other))
