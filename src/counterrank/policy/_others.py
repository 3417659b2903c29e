"""How many of the *others* have arrived: for each item of a race, the chances of every number of the rest.

With `_race.py`'s notation: item a has arrived by now with chance gone_a, independently of the others. A convolution of
what is before a and what is behind it takes width² steps an item. Where the width is large the items are halved again
and again instead: whatever is outside of a half is what was outside of the whole, and the other half. That takes
width · log2(items) steps an item, and again only sums and products of nonnegative numbers, so nothing cancels.
Chances below 1e-40 at the ends of a row are cut off.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterrank.compiled import njit

_CUT = 1e-40
_LEVELS = 64  # halves of halves: more than any number of items has


@njit(nogil=True)
def room_for(places: int) -> Any:  # pragma: no cover
    """The rows that `add` and `everyone` work in."""
    return np.empty((_LEVELS, places))


@njit(nogil=True)
def _with(row: Any, first: int, last: int, width: int, left: float, gone: float) -> Any:  # pragma: no cover
    """One more item: row[first:last] are the chances of as many arrivals, of fewer than `width`."""
    if last < width:
        row[last] = 0.0
        last += 1
    for n in range(last - 1, first, -1):
        row[n] = row[n] * left + row[n - 1] * gone
    row[first] *= left
    while last - first > 1 and row[first] < _CUT:
        first += 1
    while last - first > 1 and row[last - 1] < _CUT:
        last -= 1
    return first, last


@njit(nogil=True)
def everyone(left: Any, gone: Any, low: int, high: int, width: int, row: Any) -> Any:  # pragma: no cover
    """Fills row[first:last] with the chances that so many of the items low:high have arrived; gives first and last."""
    row[0] = 1.0
    first, last = 0, 1
    for a in range(low, high):
        first, last = _with(row, first, last, width, left[a], gone[a])
    return first, last


@njit(nogil=True)
def add(
    density: Any, left: Any, gone: Any, low: int, high: int, width: int, rows: Any, out: Any
) -> None:  # pragma: no cover
    """Adds density_a · P(n of the others arrived) to out[a, low + n], for the items low:high and n below width."""
    todo = np.empty((_LEVELS, 5), dtype=np.int64)  # a part, the part beside it, and its level
    ends = np.empty((_LEVELS, 2), dtype=np.int64)
    todo[0, 0], todo[0, 1], todo[0, 2], todo[0, 3], todo[0, 4] = low, high, low, low, 0
    size = 1
    while size > 0:
        size -= 1
        begin, end, beside, until, level = (
            todo[size, 0], todo[size, 1], todo[size, 2], todo[size, 3], todo[size, 4]
        )  # fmt: skip
        row = rows[level]
        if level == 0:
            row[0] = 1.0
            first, last = 0, 1
        else:
            first, last = ends[level - 1, 0], ends[level - 1, 1]
            for n in range(first, last):
                row[n] = rows[level - 1, n]
        for a in range(beside, until):
            first, last = _with(row, first, last, width, left[a], gone[a])
        if end - begin == 1:
            for n in range(first, last):
                out[begin, low + n] += density[begin] * row[n]
            continue
        ends[level, 0], ends[level, 1] = first, last
        middle = (begin + end) // 2
        for half in range(2):  # the one is beside the other
            todo[size, 2 * half], todo[size, 2 * half + 1] = middle, end
            todo[size, 2 - 2 * half], todo[size, 3 - 2 * half] = begin, middle
            todo[size, 4] = level + 1
            size += 1
