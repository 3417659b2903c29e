"""Distinct (query, ranking, clicks) and how often each was logged: what click models are fitted to and judged by."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.statistics.cell_tally import CellTally
from counterrank.statistics.cells import Tally
from counterrank.statistics.looks import LookCounts, tally_looks
from counterrank.statistics.order import row_order


@dataclass(frozen=True)
class Patterns:
    """Impressions grouped where query, ranking and clicks are the same; they add."""

    queries: Codes  # (G,)
    coded: NDArray[np.int32]  # (G, K): 2·pair + click, -1 beyond the ranking's end
    impressions: Codes  # (G,)

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def rankings(self) -> Codes:
        """(G, K) rows of `Pairs`, -1 beyond the end."""
        return np.asarray(self.coded >> 1, dtype=np.int64)  # -1 >> 1 is -1

    @property
    def clicks(self) -> NDArray[np.int8]:
        """(G, K), 0 beyond the end."""
        return np.asarray((self.coded & 1) & (self.coded >= 0), dtype=np.int8)

    @property
    def total(self) -> int:
        """Impressions."""
        return int(self.impressions.sum())

    def moved(self, pairs: Codes, queries: Codes, positions: int) -> Patterns:
        """The same groups where pair p is now row pairs[p], and query q is now queries[q]."""
        rows = np.append(pairs, -1)[self.coded >> 1]
        coded = np.full((len(self), positions), -1, dtype=np.int32)
        depth = min(positions, self.coded.shape[1])
        coded[:, :depth] = np.where(rows >= 0, 2 * rows + (self.coded & 1), -1)[:, :depth]
        return replace(self, queries=np.asarray(queries[self.queries]), coded=coded)

    def taken(self, impressions: Codes) -> Patterns:
        """The groups with these impressions instead, without those that have none."""
        some = impressions > 0
        return Patterns(self.queries[some], self.coded[some], impressions[some])

    def merged(self) -> Patterns:
        """One group per (query, ranking, clicks), in the one order of rows."""
        if len(self) == 0:
            return self
        order, starts = row_order(self.queries, self.coded)
        first = order[starts]
        return Patterns(self.queries[first], self.coded[first], np.add.reduceat(self.impressions[order], starts))

    def __add__(self, other: Patterns) -> Patterns:
        return Patterns(
            np.concatenate([self.queries, other.queries]),
            np.concatenate([self.coded, other.coded]),
            np.concatenate([self.impressions, other.impressions]),
        ).merged()

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
