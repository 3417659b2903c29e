"""Distinct (query, ranking, clicks) and how often each was logged, also day by day: what click models are fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.cell_tally import CellTally
from counterrank.statistics.cells import Tally
from counterrank.statistics.looks import LookCounts, tally_looks
from counterrank.statistics.order import row_order

_CHUNK = 1 << 16  # groups that are looked at in one go


@dataclass(frozen=True)
class Patterns:
    """Impressions grouped where query, ranking and clicks (and the day, where it counts) are the same; they add."""

    queries: Codes  # (G,)
    coded: NDArray[np.int32]  # (G, K): 2·pair + click, -1 beyond the ranking's end
    impressions: Codes  # (G,)
    days: Codes | None = None  # (G,) where days are told apart
    clusters: NDArray[np.uint64] | None = None  # (G,) a hash of each one's cluster, where clusters are told apart

    def __len__(self) -> int:
        return len(self.queries)

    def columns(self) -> list[NDArray[Any]]:
        """All that it has, by group."""
        every = self.queries, self.coded, self.impressions, self.days, self.clusters
        return [each for each in every if each is not None]

    @property
    def rankings(self) -> Codes:
        """(G, K) rows of `Pairs`, -1 beyond the end."""
        return np.asarray(self.coded >> 1, dtype=np.int64)  # -1 >> 1 is -1

    @property
    def clicks(self) -> NDArray[np.int8]:
        """(G, K), 0 beyond the end."""
        return np.asarray((self.coded & 1) & (self.coded >= 0), dtype=np.int8)

    @property
    def day(self) -> Codes:
        """(G,) of patterns whose days are told apart."""
        assert self.days is not None  # noqa: S101 - the plan asked for them
        return self.days

    @property
    def total(self) -> int:
        """Impressions."""
        return int(self.impressions.sum())

    def moved(self, pairs: Codes, queries: Codes, positions: int) -> Patterns:
        """The same groups where pair p is now row pairs[p], and query q is now queries[q]."""
        if positions == self.coded.shape[1] and _same(pairs) and _same(queries):
            return self
        coded = np.full((len(self), positions), -1, dtype=np.int32)
        depth, rows = min(positions, self.coded.shape[1]), np.append(2 * pairs, -2).astype(np.int32)
        for first in range(0, len(self), _CHUNK):
            old = self.coded[first : first + _CHUNK, :depth]
            new = rows[old >> 1]
            coded[first : first + _CHUNK, :depth] = np.where(new >= 0, new | (old & 1), -1)
        return replace(self, queries=np.asarray(queries[self.queries]), coded=coded)

    def taken(self, impressions: Codes) -> Patterns:
        """The groups with these impressions instead, without those that have none."""
        some = impressions > 0
        return replace(self.at(some), impressions=impressions[some])

    def at(self, some: Any) -> Patterns:
        """These groups only."""
        days, clusters = (None if each is None else each[some] for each in (self.days, self.clusters))
        return Patterns(self.queries[some], self.coded[some], self.impressions[some], days, clusters)

    def merged(self) -> Patterns:
        """One group per (query, ranking, clicks, and day or cluster), in the one order of rows."""
        if len(self) == 0:
            return self
        order, starts = row_order(self.queries, self.coded, self.days if self.clusters is None else self.clusters)
        return replace(self.at(order[starts]), impressions=np.add.reduceat(self.impressions[order], starts))

    def __add__(self, other: Patterns) -> Patterns:
        return joined([self, other]).merged()

    def counts(self, pairs: int, queries: int) -> tuple[Codes, Tally, LookCounts]:
        """Impressions by query, shown and clicked by pair and position, and looks: the coarser statistics of a log."""
        positions = self.coded.shape[1]
        tally = CellTally(positions)
        tally.grow(pairs)
        tally.add(self.coded, self.impressions)
        looks = LookCounts(np.zeros((pairs, 4), dtype=np.int64), np.zeros((queries, positions), dtype=np.int64))
        tally_looks(self.queries, self.coded, self.impressions, looks.table, looks.last_at)
        impressions = np.zeros(queries, dtype=np.int64)
        np.add.at(impressions, self.queries, self.impressions)
        return impressions, tally.found(np.arange(pairs), pairs, positions), looks


def _same(codes: Codes) -> bool:
    return bool((codes == np.arange(len(codes))).all())


def joined(parts: Sequence[Patterns]) -> Patterns:
    """The groups of all parts, one after the other; days and clusters are told apart where they are in all."""
    days = [part.days for part in parts if part.days is not None]
    clusters = [part.clusters for part in parts if part.clusters is not None]
    return Patterns(
        np.concatenate([part.queries for part in parts]),
        np.concatenate([part.coded for part in parts]),
        np.concatenate([part.impressions for part in parts]),
        np.concatenate(days) if len(days) == len(parts) else None,
        np.concatenate(clusters) if len(clusters) == len(parts) else None,
    )
