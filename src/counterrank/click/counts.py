"""What click models are fitted to: the counts of a log, or of impressions that were grouped already."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow.compute as pc

from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.cells import Cells, Tally
from counterrank.statistics.looks import LookCounts
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.patterns import Patterns
from counterrank.statistics.rankings import RankingGroups, Rankings

A = TypeVar("A")


@dataclass(frozen=True, kw_only=True)
class ClickCounts:
    """A log as click models see it. Closed-form models need the tables, the others `patterns` too."""

    pairs: Pairs
    impressions: Codes  # (Q,)
    cells: Cells  # which pairs were shown at which positions
    shown: Codes  # (C,)
    clicked: Codes  # (C,)
    looks: LookCounts
    patterns: Patterns | None = None
    rankings: RankingGroups | None = None

    @property
    def total(self) -> int:
        """Impressions counted."""
        return int(self.impressions.sum())

    @classmethod
    def of(cls, pairs: Pairs, patterns: Patterns) -> ClickCounts:
        """From grouped impressions alone."""
        impressions, tally, looks = patterns.counts(len(pairs), len(pairs.query_ids))
        return cls(
            pairs=pairs,
            impressions=impressions,
            cells=tally.cells,
            shown=tally.shown,
            clicked=tally.clicked,
            looks=looks,
            patterns=patterns,
        )

    def need_patterns(self, model: str) -> Patterns:
        if self.patterns is None:
            raise InputError(f"{model} is fitted to whole pages: count the log with patterns=True")
        return self.patterns

    def once(self, name: str, make: Callable[[], A]) -> A:
        """What fits make of these counts before their first iteration: made for the first, kept for the next."""
        kept = self.__dict__.setdefault("_once", {})
        if name not in kept:
            kept[name] = make()
        return cast(A, kept[name])

    def clicks_at(self) -> Codes:
        """(Q, K): clicks by query and position."""
        return self._by_query(self.clicked)

    def shown_at(self) -> Codes:
        """(Q, K): impressions by query that reach down to the position."""
        return self._by_query(self.shown)

    @property
    def tally(self) -> Tally:
        """What was shown and clicked where."""
        return Tally(self.cells, self.shown, self.clicked)

    @property
    def clicks(self) -> Codes:
        """(P,): clicks on each pair."""
        return self.cells.by_pair(self.clicked)

    def _by_query(self, values: Codes) -> Codes:
        size, depth = len(self.pairs.query_ids), self.cells.depth
        at = self.pairs.queries[self.cells.rows] * depth + self.cells.positions
        return np.bincount(at, values, size * depth).astype(np.int64).reshape(size, depth)

    def most_logged(self) -> tuple[Codes, Codes]:
        """Each query's most logged ranking, (Q, K) rows of `pairs` with -1 beyond its end, and how often it came, (Q,).

        Of equally frequent ones, the first in the order of their items' ids as text.
        """
        if self.rankings is not None:
            chunks: Iterable[Rankings] = self.rankings.chunks()
        elif self.patterns is not None:
            n = self.patterns.impressions.astype(np.float64)
            chunks = [
                Rankings(
                    queries=self.patterns.queries, rows=self.patterns.rankings, impressions=n, reward=n, reward2=n
                ).merged()
            ]
        else:
            raise InputError("rankings were not counted: count the log with rankings=True")
        queries, rows, often = [], [], []
        texts = self.pairs.item_ids.texts
        place = np.empty(len(texts) + 1, dtype=np.int64)  # of each item in the order of texts
        place[pc.sort_indices(texts).to_numpy()] = np.arange(len(texts))
        place[-1] = -1
        for chunk in chunks:
            best = self._best(chunk.queries, chunk.rows, chunk.impressions, place)
            queries.append(chunk.queries[best])
            rows.append(chunk.rows[best])
            often.append(chunk.impressions[best])
        of, lists, n = np.concatenate(queries), np.concatenate(rows), np.concatenate(often)
        best = self._best(of, lists, n, place)
        out, count = np.full((len(self.impressions), lists.shape[1]), -1), np.zeros(len(self.impressions))
        out[of[best]], count[of[best]] = lists[best], n[best]
        return out, count.astype(np.int64)

    def _best(self, queries: Codes, rows: Codes, often: Any, place: Codes) -> Codes:
        """The group of each query that came most often; of equals the first by the places of its items."""
        most = np.zeros(len(self.impressions))
        np.maximum.at(most, queries, often)
        tied = np.flatnonzero(often == most[queries])
        ids = np.append(self.pairs.items, len(place) - 1)[rows[tied]]
        order = np.lexsort((*place[ids].T[::-1], queries[tied]))
        tied = tied[order]
        return tied[np.r_[True, queries[tied][1:] != queries[tied][:-1]]]
