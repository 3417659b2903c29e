"""What a query's log holds here: its distinct lists of four items, and how often each click pattern was seen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from counterrank.records import dataclass

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

K = 4  # "we keep only top 4 recommended items in each list"
PATTERNS: Integers = np.array(list(product((0, 1), repeat=K)))  # (2^K, K): every way to click on four items
_POWERS = 2 ** np.arange(K)[::-1]


@dataclass(frozen=True)
class Pages:
    """The pages of one query. Items are numbered from 0."""

    query: str
    lists: Integers  # (L, K) distinct lists of items
    seen: Integers  # (L, 2^K) pages of that list with that click pattern
    items: int

    @property
    def size(self) -> int:
        return int(self.seen.sum())

    @property
    def shares(self) -> Floats:
        """(L,) how often each list is shown."""
        return np.asarray(self.seen.sum(axis=1) / self.seen.sum())

    @property
    def places(self) -> Floats:
        """(L, P, K): 1 where a list shows an item at a position."""
        out = np.zeros((len(self.lists), self.items, K))
        rows, positions = np.indices(self.lists.shape)
        out[rows, self.lists, positions] = 1.0
        return out

    def common(self, least: int) -> Pages | None:
        """Without pages that show an item fewer than `least` times; items are numbered anew."""
        shown = np.zeros(self.items)
        np.add.at(shown, self.lists, self.seen.sum(axis=1)[:, None])
        keep = (shown >= least)[self.lists].all(axis=1)
        if not keep.any():
            return None
        used, again = np.unique(self.lists[keep], return_inverse=True)
        return Pages(self.query, again.reshape(-1, K), self.seen[keep], len(used))


def by_query(queries: Sequence[str], items: Sequence[Sequence[str]], clicks: Sequence[Sequence[int]]) -> list[Pages]:
    """The pages of each query, the most frequent query first; pages with fewer than four items are left out."""
    return [both[0] for both in in_parts(queries, items, clicks, np.zeros(len(queries), dtype=np.int64), 1)]


def in_parts(
    queries: Sequence[str],
    items: Sequence[Sequence[str]],
    clicks: Sequence[Sequence[int]],
    part: Integers,
    parts: int,
) -> list[list[Pages]]:
    """The pages of each query in each part of the log, with the same lists and numbers of items in all parts."""
    rows: dict[str, list[tuple[tuple[str, ...], int, int]]] = {}
    for query, shown, clicked, number in zip(queries, items, clicks, part.tolist(), strict=True):
        if len(shown) >= K:
            rows.setdefault(query, []).append((tuple(shown[:K]), int(np.dot(clicked[:K], _POWERS)), number))
    most_first = sorted(rows, key=lambda query: (-len(rows[query]), query))
    return [_pages(query, rows[query], parts) for query in most_first]


def _pages(query: str, rows: Sequence[tuple[tuple[str, ...], int, int]], parts: int) -> list[Pages]:
    names = {item: n for n, item in enumerate(sorted({item for shown, _, _ in rows for item in shown}))}
    lists = {shown: n for n, shown in enumerate(sorted({shown for shown, _, _ in rows}))}
    seen = np.zeros((parts, len(lists), len(PATTERNS)), dtype=np.int64)
    where = [row[2] for row in rows], [lists[row[0]] for row in rows], [row[1] for row in rows]
    np.add.at(seen, where, 1)
    coded = np.array([[names[item] for item in shown] for shown in lists], dtype=np.int64)
    return [Pages(query, coded, each, len(names)) for each in seen]
