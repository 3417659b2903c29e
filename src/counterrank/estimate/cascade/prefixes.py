"""The beginnings of logged rankings: an item and all that stands above it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.setting.cache import shared
from counterrank.setting.evidence import LogEvidence
from counterrank.statistics.pairs import sum_by
from counterrank.statistics.patterns import Patterns

Vector = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Prefixes:
    """Every beginning of a logged ranking once, the shorter ones first."""

    patterns: Patterns
    rankings: Codes  # (G, K) of the patterns, as rows of the pairs, -1 beyond the end
    clicks: Vector  # (G, K)
    impressions: Vector  # (G,)
    at: Codes  # (G, K) the prefix that ends at each position of a pattern, -1 beyond the end
    query: Codes  # (V,)
    depth: Codes  # (V,) the position of its last item, from 0
    example: Codes  # (V,) a pattern that begins so
    shown: Vector  # (V,) impressions that begin so

    def __len__(self) -> int:
        return len(self.query)

    @property
    def there(self) -> NDArray[np.bool_]:
        """(G, K) where patterns have an item."""
        return self.at >= 0

    def of(self, values: Vector) -> Vector:
        """(G, K) the value of each prefix where it stands in the patterns, 0 beyond their ends."""
        return np.append(values, 0.0)[self.at]

    def summed(self, table: Vector) -> Vector:
        """(V,) Σ over impressions of what stands at each prefix in a (G, K) table."""
        there = self.there
        return sum_by(self.at[there], (table * self.impressions[:, None])[there], len(self))

    def first(self, depth: int) -> tuple[Codes, Codes]:
        """The prefixes that end at a position (from 0), and their items as (V', depth + 1) rows of the pairs."""
        mine = np.flatnonzero(self.depth == depth)
        return mine, self.rankings[self.example[mine], : depth + 1]


@shared(target=False, clip=False)
def prefixes(evidence: LogEvidence) -> Prefixes:
    """Of the rankings that were counted."""
    patterns = evidence.counts.patterns
    if patterns is None:
        raise InputError("the log's rankings with their clicks were not counted")
    rankings, positions = patterns.rankings, patterns.coded.shape[1]
    at = np.full(rankings.shape, -1, dtype=np.int64)
    query, depth, example = [], [], []
    before, size = patterns.queries.astype(np.int64), 0
    for k in range(positions):
        there = np.flatnonzero(rankings[:, k] >= 0)
        if not len(there):
            break
        keys = before[there] * np.int64(len(evidence.counts.pairs) + 1) + rankings[there, k]
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        at[there, k] = size + number
        example.append(there[first])
        query.append(patterns.queries[there[first]])
        depth.append(np.full(len(first), k))
        before = np.full(len(patterns), -1, dtype=np.int64)
        before[there] = number
        size += len(first)
    n = patterns.impressions.astype(np.float64)
    there_all = at >= 0
    shown = sum_by(at[there_all], np.broadcast_to(n[:, None], at.shape)[there_all], size)
    return Prefixes(
        patterns=patterns,
        rankings=rankings,
        clicks=patterns.clicks.astype(np.float64),
        impressions=n,
        at=at,
        query=np.concatenate(query),
        depth=np.concatenate(depth),
        example=np.concatenate(example),
        shown=shown,
    )
