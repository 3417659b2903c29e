"""Sums over groups of impressions of how far each moves an estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from counterrank.estimate.base import Vector
from counterrank.estimate.influence import Influence
from counterrank.records import dataclass
from counterrank.setting.evidence import ROUNDING, Evidence
from counterrank.statistics.histogram import BUCKETS, Spreads, add_groups
from counterrank.statistics.pairs import sum_by
from counterrank.statistics.rankings import Rankings

FEW = 30  # repeats below which nobody can tell how much a ranking's reward varies
_AT_ONCE = 1 << 18  # groups that are looked at in one go
Chunks = Callable[[], Iterator[Rankings]]


@dataclass(frozen=True)
class GroupMoments:
    """Of each query: Σψ², Σψ, and what Σψ² lacks because a ranking's mean reward was estimated from few impressions."""

    squares: Vector
    sums: Vector
    thin: Vector

    def within(self, impressions: Vector) -> Vector:
        """Σψ² of each query's own value."""
        left = self.squares - self.sums**2 / impressions
        return np.where(left > ROUNDING * self.squares, left, 0.0) + self.thin


def moments(evidence: Evidence, chunks: Chunks, influence: Influence) -> GroupMoments:
    size = len(evidence.counts.impressions)
    total, singles, pooled = np.zeros((3, size)), np.zeros(size), np.zeros(2)
    for chunk in _pieces(chunks):
        n, moved = chunk.impressions, influence(chunk)
        within, mean = np.maximum(chunk.reward2 - chunk.reward**2 / n, 0.0), chunk.reward / n
        at = moved.slope * mean + moved.level
        thin = np.where(n > 1, moved.free**2 * within / np.maximum(n - 1, 1), 0.0)
        for row, values in enumerate((moved.slope**2 * within + n * at**2, n * at, thin)):
            total[row] += sum_by(chunk.queries, values, size)
        singles += sum_by(chunk.queries, np.where(n == 1, moved.free**2, 0.0), size)
        pooled += within[moved.wanted].sum(), (n[moved.wanted] - 1).sum()
    variance = pooled[0] / pooled[1] if pooled[1] > 0 else 0.0
    if pooled[1] < FEW:  # too few repeated rankings to tell how much one varies
        variance = max(variance, overall_variance(evidence))
    return GroupMoments(total[0], total[1], total[2] + singles * variance)


def spreads(evidence: Evidence, chunks: Chunks, influence: Influence) -> Spreads:
    """How influences, terms and weights are spread."""
    out = np.zeros((3, BUCKETS, 2))
    for chunk in _pieces(chunks):
        moved = influence(chunk)
        add_groups(
            chunk.impressions, chunk.reward, chunk.reward2, evidence.of_clicks, moved.slope, moved.level, moved.term,
            moved.weight, out,
        )  # fmt: skip
    return Spreads.dense(out[None, None])[0]


def _pieces(chunks: Chunks) -> Iterator[Rankings]:
    """The same groups, not too many at a time."""
    for chunk in chunks():
        size = len(chunk.impressions)
        if size <= _AT_ONCE:
            yield chunk
        else:
            yield from (chunk.taken(slice(first, first + _AT_ONCE)) for first in range(0, size, _AT_ONCE))


def ranked(evidence: Evidence, known: Iterable[Rankings] | None = None) -> Iterator[Rankings]:
    """The groups of rankings that a judged policy shows, and of each query all other impressions as one, unranked.

    `known`: these groups, where somebody has them already.
    """
    counts = evidence.counts
    rest = np.stack([counts.impressions.astype(np.float64), counts.reward, counts.reward2])
    if known is None:
        known = counts.rankings.chunks() if counts.rankings is not None else ()
    for chunk in known:
        yield chunk
        sums = (chunk.impressions, chunk.reward, chunk.reward2)
        rest -= np.stack([sum_by(chunk.queries, values, rest.shape[1]) for values in sums])
    left = np.flatnonzero(rest[0] > 0.5)
    n, total, squares = rest[:, left]
    unknown = np.zeros((len(left), 0), dtype=np.int64)
    yield Rankings(queries=left, rows=unknown, impressions=n, reward=total, reward2=squares)


def whole_queries(evidence: Evidence) -> Iterator[Rankings]:
    """Of each query all impressions as one group, unranked: the same whichever rankings somebody else asked for."""
    counts = evidence.counts
    n, nothing = counts.impressions.astype(np.float64), np.zeros((len(counts.impressions), 0), dtype=np.int64)
    yield Rankings(queries=np.arange(len(n)), rows=nothing, impressions=n, reward=counts.reward, reward2=counts.reward2)


def unranked(chunk: Rankings) -> bool:
    """Whether these are impressions of rankings that no judged policy shows."""
    return bool(chunk.rows.shape[1] == 0)


def paged(evidence: Evidence) -> Iterator[Rankings]:
    """The groups of all rankings."""
    assert evidence.counts.pages is not None  # noqa: S101 - they were weighed before
    return evidence.counts.pages.chunks()


def overall_variance(evidence: Evidence) -> float:
    """Of all rewards, whatever the query and the ranking."""
    counts = evidence.counts
    mean = counts.reward.sum() / counts.total
    return max(float(counts.reward2.sum() / counts.total - mean**2), 0.0)
