"""Counts per (query, ranking): what the list estimators need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.order import row_order


@dataclass(frozen=True, kw_only=True)
class Rankings:
    """Groups of impressions that show one ranking (cut to K) for one query, with one propensity where rows have it.

    `rows` holds the ranking as rows of the run's `Pairs`, -1 beyond its end.
    """

    queries: Codes  # (G,)
    rows: Codes  # (G, K)
    impressions: NDArray[np.float64]  # (G,)
    reward: NDArray[np.float64]  # (G,) Σ reward
    reward2: NDArray[np.float64]  # (G,) Σ reward²
    propensity: NDArray[np.float64] | None = None  # (G,)
    quick: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.queries)

    def chunks(self, low: int = 0, high: int | None = None) -> Iterator[Rankings]:
        """The groups of queries low to high, a part at a time: here one part. Groups that live on disk come in many."""
        if low == 0 and high is None:
            yield self
        elif (inside := (self.queries >= low) & (self.queries < (np.inf if high is None else high))).any():
            yield self if inside.all() else self.taken(np.flatnonzero(inside))

    @property
    def lengths(self) -> Codes:
        return np.asarray((self.rows >= 0).sum(axis=1), dtype=np.int64)

    def moved(self, pair_rows: Codes, queries: Codes | None = None, positions: int | None = None) -> Rankings:
        """The same groups where pair p is now row pair_rows[p], and query q is now queries[q]."""
        rows = np.append(pair_rows, -1)[self.rows]  # -1, beyond the end, finds the last
        if positions is not None and positions > rows.shape[1]:
            wider = (0, 0), (0, positions - rows.shape[1])
            rows = np.pad(rows, wider, constant_values=-1)
        of = self.queries if queries is None else queries[self.queries]
        return replace(self, rows=rows, queries=of)

    def shifted(self, step: float) -> Rankings:
        """Every reward larger by `step`."""
        n = self.impressions
        squares = self.reward2 + 2 * step * self.reward + n * step**2
        return replace(self, reward=self.reward + n * step, reward2=squares)

    def taken(self, groups: Codes | slice) -> Rankings:
        """Some of the groups."""
        return Rankings(
            queries=self.queries[groups],
            rows=self.rows[groups],
            impressions=self.impressions[groups],
            reward=self.reward[groups],
            reward2=self.reward2[groups],
            propensity=self.propensity[groups] if self.propensity is not None else None,
        )

    def without_propensity(self) -> Rankings:
        """Groups by ranking alone."""
        return replace(self, propensity=None).merged()

    @classmethod
    def joined(cls, parts: Sequence[Rankings]) -> Rankings:
        """One after the other; propensities only where all parts have them."""
        propensity = [part.propensity for part in parts if part.propensity is not None]
        return cls(
            queries=np.concatenate([part.queries for part in parts]),
            rows=np.concatenate([part.rows for part in parts]),
            impressions=np.concatenate([part.impressions for part in parts]),
            reward=np.concatenate([part.reward for part in parts]),
            reward2=np.concatenate([part.reward2 for part in parts]),
            propensity=np.concatenate(propensity) if len(propensity) == len(parts) else None,
        )

    def __add__(self, other: Rankings) -> Rankings:
        return Rankings.joined([self, other]).merged()

    def merged(self) -> Rankings:
        """One group per (query, ranking, propensity), in the one order of rankings."""
        if len(self) == 0:
            return self
        order, starts = row_order(self.queries, self.rows, self.propensity)
        if len(starts) == len(order):
            return self.taken(order)
        first = order[starts]
        sums = np.empty((3, len(starts)))
        _add_up(order, starts, self.impressions, self.reward, self.reward2, sums)
        return Rankings(
            queries=self.queries[first],
            rows=self.rows.take(first, axis=0),
            impressions=sums[0],
            reward=sums[1],
            reward2=sums[2],
            propensity=self.propensity[first] if self.propensity is not None else None,
        )


@njit(nogil=True)
def _add_up(order: Any, starts: Any, n: Any, reward: Any, reward2: Any, sums: Any) -> None:  # pragma: no cover
    """The sums of each group, whose members are order[starts[g]:starts[g+1]]."""
    groups, one = np.uint64(len(starts)), np.uint64(1)
    for g in range(groups):
        end = np.uint64(starts[g + one]) if g + one < groups else np.uint64(len(order))
        a, b, c = 0.0, 0.0, 0.0
        for i in range(np.uint64(starts[g]), end):
            r = np.uint64(order[i])
            a, b, c = a + n[r], b + reward[r], c + reward2[r]
        sums[0, g], sums[1, g], sums[2, g] = a, b, c


class RankingGroups(Protocol):
    """Groups of rankings, in memory or on disk."""

    @property
    def quick(self) -> bool:
        """Whether the groups of a few queries are found without looking at all others."""

    def chunks(self, low: int = 0, high: int | None = None) -> Iterator[Rankings]: ...

    def moved(self, pair_rows: Codes) -> RankingGroups: ...

    def without_propensity(self) -> RankingGroups: ...


@dataclass(frozen=True)
class Changed:
    """Groups of rankings with a change made to each chunk as it comes."""

    groups: RankingGroups
    change: Callable[[Rankings], Rankings]

    @property
    def quick(self) -> bool:
        return self.groups.quick

    def chunks(self, low: int = 0, high: int | None = None) -> Iterator[Rankings]:
        return map(self.change, self.groups.chunks(low, high))

    def moved(self, pair_rows: Codes) -> Changed:
        return Changed(self, lambda chunk: chunk.moved(pair_rows))

    def without_propensity(self) -> Changed:
        return Changed(self, Rankings.without_propensity)
