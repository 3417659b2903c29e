"""Counts per (query, ranking): what the list estimators need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.statistics.hashing import ranking_keys


@dataclass(frozen=True)
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
    clicks: Codes | None = None  # (G, K) clicks by position, where they were asked for
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
        clicks = self.clicks
        if positions is not None and positions > rows.shape[1]:
            wider = (0, 0), (0, positions - rows.shape[1])
            rows = np.pad(rows, wider, constant_values=-1)
            clicks = np.pad(clicks, wider) if clicks is not None else None
        of = self.queries if queries is None else queries[self.queries]
        return replace(self, rows=rows, clicks=clicks, queries=of)

    def shifted(self, step: float) -> Rankings:
        """Every reward larger by `step`."""
        n = self.impressions
        squares = self.reward2 + 2 * step * self.reward + n * step**2
        return replace(self, reward=self.reward + n * step, reward2=squares)

    def taken(self, groups: Codes) -> Rankings:
        """Some of the groups."""
        return Rankings(
            self.queries[groups],
            self.rows[groups],
            self.impressions[groups],
            self.reward[groups],
            self.reward2[groups],
            self.propensity[groups] if self.propensity is not None else None,
            self.clicks[groups] if self.clicks is not None else None,
        )

    def without_propensity(self) -> Rankings:
        """Groups by ranking alone."""
        return replace(self, propensity=None).merged()

    def __add__(self, other: Rankings) -> Rankings:
        propensity = clicks = None
        if self.clicks is not None and other.clicks is not None:
            clicks = np.concatenate([self.clicks, other.clicks])
        if self.propensity is not None and other.propensity is not None:
            propensity = np.concatenate([self.propensity, other.propensity])
        both = Rankings(
            np.concatenate([self.queries, other.queries]),
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.impressions, other.impressions]),
            np.concatenate([self.reward, other.reward]),
            np.concatenate([self.reward2, other.reward2]),
            propensity,
            clicks,
        )
        return both.merged()

    def merged(self) -> Rankings:
        """One group per (query, ranking, propensity)."""
        if len(self) == 0:
            return self
        keys = ranking_keys(self.queries, self.rows, self.lengths)
        if self.propensity is not None:
            keys ^= self.propensity.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
        first = order[starts]
        return Rankings(
            self.queries[first],
            self.rows[first],
            np.add.reduceat(self.impressions[order], starts),
            np.add.reduceat(self.reward[order], starts),
            np.add.reduceat(self.reward2[order], starts),
            self.propensity[first] if self.propensity is not None else None,
            np.add.reduceat(self.clicks[order], starts, axis=0) if self.clicks is not None else None,
        )


class RankingGroups(Protocol):
    """Groups of rankings, in memory or on disk."""

    @property
    def quick(self) -> bool:
        """Whether the groups of a few queries are found without looking at all others."""

    def chunks(self, low: int = 0, high: int | None = None) -> Iterator[Rankings]: ...

    def moved(self, pair_rows: Codes) -> RankingGroups: ...

    def without_propensity(self) -> RankingGroups: ...
