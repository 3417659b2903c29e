"""How far users read, as the clicks tell: what the cascade and dependent-click models need of a log."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.records import dataclass

TO_FIRST, FIRST, TO_LAST, LAST = range(4)  # the columns of a table of looks


@dataclass(frozen=True)
class LookCounts:
    """Counts per pair of how it stands to a page's first and last click; they add.

    A page with no click counts as read to its end, in both readings.
    """

    table: Codes  # (P, 4): shown down to the first click, the first click, shown down to the last click, the last click
    last_at: Codes  # (Q, K): last clicks by query and position

    @property
    def to_first(self) -> Codes:
        """(P,) impressions that show the pair no further down than their first click."""
        return self.table[:, TO_FIRST]

    @property
    def first(self) -> Codes:
        """(P,) impressions whose first click is on the pair."""
        return self.table[:, FIRST]

    @property
    def to_last(self) -> Codes:
        """(P,) impressions that show the pair no further down than their last click."""
        return self.table[:, TO_LAST]

    @property
    def last(self) -> Codes:
        """(P,) impressions whose last click is on the pair."""
        return self.table[:, LAST]

    def moved(self, pairs: Codes, size: int, queries: Codes, number: int, positions: int) -> LookCounts:
        """The same counts where pair p is row pairs[p] of `size`, and query q is queries[q] of `number`."""
        table = np.zeros((size, 4), dtype=np.int64)
        np.add.at(table, pairs, self.table)
        last_at = np.zeros((number, positions), dtype=np.int64)
        np.add.at(last_at[:, : self.last_at.shape[1]], queries, self.last_at)
        return LookCounts(table, last_at)

    def __add__(self, other: LookCounts) -> LookCounts:
        return LookCounts(self.table + other.table, self.last_at + other.last_at)


@njit(nogil=True)
def tally_looks(queries: Any, coded: Any, impressions: Any, table: Any, last_at: Any) -> None:
    """Count rows of 2·pair + click, ended by -1; `queries` is the query of each row."""
    for r in range(len(coded)):
        if coded[r, 0] < 0:
            continue
        first, last, length = -1, -1, 0
        for k in range(coded.shape[1]):
            v = coded[r, k]
            if v < 0:
                break
            length += 1
            if v & 1:
                last = k
                if first < 0:
                    first = k
        m = impressions[r]
        read = last if last >= 0 else length - 1
        stop = first if first >= 0 else length - 1
        for k in range(read + 1):
            p = coded[r, k] >> 1
            table[p, TO_LAST] += m
            if k <= stop:
                table[p, TO_FIRST] += m
        if last >= 0:
            table[coded[r, first] >> 1, FIRST] += m
            table[coded[r, last] >> 1, LAST] += m
            last_at[queries[r], last] += m
