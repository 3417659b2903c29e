"""Kept rows as `kernels.sum_moments` takes them: runs of rows whose codes are read with the same pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.engine.coder import CodedRows
from counterrank.engine.narrow import Kept, NarrowRows
from counterrank.ids import Codes
from counterrank.records import dataclass


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Run i: rows first[i] to last[i], all of one query where begin[i] is not 0."""

    codes: NDArray[Any]  # (n, K) 2·place + click, `end` behind the last
    end: int
    impressions: NDArray[np.int64] | None  # (n,); None: one each
    first: Codes
    last: Codes
    begin: Codes  # the pair of a code is that of its place, from here on

    @classmethod
    def whole(cls, rows: CodedRows) -> Runs:
        """All of these rows, whose codes tell pairs themselves."""
        return cls.some(rows, 0, len(rows))

    @classmethod
    def some(cls, rows: CodedRows, first: int, last: int) -> Runs:
        runs = (np.array([each], dtype=np.int64) for each in (first, last, 0))
        return cls._of(rows.coded, -1, rows.impressions, *runs)

    @classmethod
    def by_place(
        cls, codes: NDArray[Any], impressions: NDArray[np.int64] | None, first: Codes, last: Codes, begin: Codes
    ) -> Runs:
        """Of codes that tell the place of a pair among those of its query."""
        return cls._of(codes, int(np.iinfo(codes.dtype).max), impressions, first, last, begin)

    @classmethod
    def _of(cls, codes: Any, end: int, impressions: Any, first: Codes, last: Codes, begin: Codes) -> Runs:
        return cls(codes=codes, end=end, impressions=impressions, first=first, last=last, begin=begin)


@dataclass(frozen=True)
class Stack:
    """Batches that stand in one array, each in the order of its queries."""

    parts: Sequence[Kept]

    @property
    def narrow(self) -> bool:
        return isinstance(self.parts[0], NarrowRows)

    def runs(self, first: int, last: int, begins: Codes) -> Runs:
        """The rows of queries first to last, query by query; the pairs of each begin at begins[q]."""
        one = self.parts[0]
        if isinstance(one, CodedRows):
            low, high = (int(one.starts[min(q, len(one.starts) - 1)]) for q in (first, last))
            return Runs.some(one, low, high)
        edges = np.stack([self._edges(part, first, last) for part in self.parts], axis=1)
        begin = np.repeat(begins[first:last], len(self.parts))
        return Runs.by_place(one.shelf.narrow, one.shelf.impressions, edges[:-1].ravel(), edges[1:].ravel(), begin)

    def _edges(self, part: Kept, first: int, last: int) -> Codes:
        """Where the rows of each of these queries begin in the array; a later one's are none."""
        assert isinstance(part, NarrowRows)  # noqa: S101 - as all of this stack are
        known = part.starts[first : last + 1] + part.first
        return np.append(known, np.full(last + 1 - first - len(known), part.starts[-1] + part.first))


def stacks(parts: Sequence[Kept]) -> Iterator[Stack]:
    """Batches that are all in the order of queries, those that follow each other in one array together."""
    for _, some in groupby(parts, lambda part: id(part.shelf if isinstance(part, NarrowRows) else part)):
        yield Stack(list(some))
