"""Impressions of some queries with their rankings, clicks and days: what tests of assumptions look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.order import row_order
from counterrank.statistics.pairs import Pairs

SHOWN = 1 << 18  # shown items that a sample has at most, about
NO_DAY = -(2**62)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Impressions grouped where query, ranking, clicks and day are the same, in the one order of rows."""

    queries: Codes  # (G,)
    coded: NDArray[np.int32]  # (G, K): 2·pair + click, -1 beyond the ranking's end
    impressions: Codes  # (G,)
    days: Codes  # (G,) NO_DAY where a row has none
    share: float  # of the counted impressions that are in it
    first: tuple[Sample, Codes] | None = None  # the same under other pairs, and the row here of each of these

    @classmethod
    def gathered(
        cls, parts: Sequence[tuple[Codes, NDArray[np.int32], Codes, Codes]], positions: int, total: int
    ) -> Sample:
        """From queries, coded rows, impressions and days of several parts, repeats allowed."""
        empty = np.zeros(0, dtype=np.int64)
        whole = [(empty, np.zeros((0, positions), dtype=np.int32), empty, empty), *parts]
        queries, coded, n, days = (np.concatenate([part[i] for part in whole]) for i in range(4))
        if not len(queries):
            return cls(queries=queries, coded=coded, impressions=n, days=days, share=0.0)
        every, day = np.unique(days, return_inverse=True)
        order, starts = row_order(queries, coded, day.astype(np.int64))
        first = order[starts]
        return cls(
            queries=queries[first],
            coded=coded[first],
            impressions=np.add.reduceat(n[order], starts),
            days=every[day[first]],
            share=float(n.sum()) / total,
        )

    def __len__(self) -> int:
        return len(self.queries)

    def moved(self, rows: Codes) -> Sample:
        """The same under pairs of which pair p is rows[p]: more of them, in the same order."""
        coded = np.where(self.coded >= 0, 2 * rows[self.coded >> 1] + (self.coded & 1), -1)
        return replace(self, coded=coded.astype(np.int32), first=(self, rows))

    @property
    def rows(self) -> Codes:
        """(G, K) rows of `Pairs`, -1 beyond the end."""
        return np.asarray(self.coded >> 1, dtype=np.int64)  # -1 >> 1 is -1

    @property
    def clicks(self) -> NDArray[np.bool_]:
        """(G, K), False beyond the end."""
        return ((self.coded & 1) > 0) & (self.coded >= 0)


def first_pairs(pairs: Pairs, shown: Codes, per_row: float) -> NDArray[np.bool_]:
    """(P,) which pairs may stand first in an impression of the sample.

    Queries come largest first, as many as there is room for; one that is too large is taken by the items that stand
    first in it. What users do has no say in it. `shown`: how often each pair stands first; `per_row`: impressions of a
    row of the log.
    """
    room = SHOWN / max(pairs.positions, 1) * max(per_row, 1.0)
    sizes = np.add.reduceat(shown, pairs.starts[:-1]) if len(shown) else np.zeros(0, dtype=np.int64)
    broken = sizes > room
    of = pairs.queries
    chosen, left = _fitting(np.where(broken, 0, sizes), room)
    out: NDArray[np.bool_] = chosen[of] & (shown > 0)
    if not broken.any():
        return out
    parts, _ = _fitting(np.where(broken[of], shown, 0), left)
    return out | parts


def _fitting(sizes: Codes, room: float) -> tuple[NDArray[np.bool_], float]:
    """Which of these have room together, the largest first, and what room is left."""
    order = np.argsort(-sizes, kind="stable")
    order = order[(sizes[order] > 0) & (sizes[order] <= room)]
    kept = np.zeros(len(sizes), dtype=bool)
    total = np.cumsum(sizes[order])
    kept[order[total <= room]] = True
    return kept, room - float(sizes[kept].sum())
