"""What `list`, `wlist` and `dr-list` sum over groups of rankings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.estimate.base import Limits, Vector
from counterrank.estimate.groups import FEW, overall_variance, ranked, unranked
from counterrank.estimate.influence import Influence, Moved
from counterrank.estimate.list_weights import largest_possible, ranking_weights
from counterrank.estimate.ranking_sums import POOLED, ROWS, add_rankings
from counterrank.estimate.support import logged_mass, unsupported_rankings
from counterrank.records import dataclass
from counterrank.setting.cache import shared
from counterrank.setting.evidence import ROUNDING, Evidence
from counterrank.statistics.counts import SHORT
from counterrank.statistics.rankings import Rankings

KEPT = 1 << 23  # groups whose weights are kept: some 40 bytes each
KEPT_OF_MANY = 1 << 18  # the same of a log of many cells, which needs the room


@dataclass(frozen=True, kw_only=True)
class WeighedGroups(Rankings):
    """Groups of rankings with their weights, which take longer to find than all that is done with them; the rankings
    themselves are left out."""

    weight: Vector
    clipped: NDArray[np.bool_]


@dataclass(kw_only=True)
class ListSums:
    """What the list estimators sum over groups of rankings, per query.

    `free` sums are of groups whose weight moves with the log's own shares, `held` sums of the others: those with a
    known or a clipped weight. n, F and F2 are a group's impressions, Σreward and Σreward², from the rewards' origin.
    """

    credit: Vector  # Σ w·F
    mass: Vector  # Σ w·n
    mass2: Vector  # Σ w²·n
    free_credit: Vector  # Σ w·F
    free_mass: Vector  # Σ w·n
    free_within: Vector  # Σ w²·(F2 − F²/n)
    held: Vector  # (5, Q): Σ w·F, Σ w·n, Σ w²·n, Σ w²·F and Σ w²·F2 in rows
    thin: Vector  # what few impressions a ranking hide of its variance, per query
    clipped: float = 0.0
    unsupported: float = 0.0
    unseen: Vector | None = None  # (Q,) the same of each query; None: nothing, or nobody can tell
    warnings: list[str] = field(default_factory=list)
    largest: float = 1.0  # the largest weight that an impression can have; of those logged where nobody can tell
    limit: Vector | float = 1.0  # the same of each query, infinite where nobody can tell
    groups: list[WeighedGroups] | None = None  # what was summed, where it is no more than `KEPT`

    @classmethod
    def of_known(cls, held: Vector) -> ListSums:
        """Where every weight is known: all sums are `held`."""
        zero = np.zeros(held.shape[1])
        return cls(
            credit=held[0], mass=held[1], mass2=held[2], free_credit=zero, free_mass=zero, free_within=zero, held=held,
            thin=zero,
        )  # fmt: skip

    def influence(
        self, evidence: Evidence, shift: Vector | float, value: Vector | float, gain: Vector | float
    ) -> Influence:
        """`gain` times w·(reward − shift), less value; any of the three may be one per query."""
        counts = evidence.counts
        size = len(counts.impressions)
        by, less, out = (np.broadcast_to(np.asarray(x, dtype=np.float64), size) for x in (gain, shift, value))
        back = by * (self.free_credit - less * self.free_mass) / counts.impressions - out

        def moved(chunk: Rankings) -> Moved:
            q = chunk.queries
            if evidence.same:
                w, free = np.full(len(q), min(1.0, evidence.clip)), np.zeros(len(q), dtype=bool)
            elif isinstance(chunk, WeighedGroups):
                w, free = chunk.weight, ~chunk.clipped & evidence.estimated
            elif unranked(chunk):
                w, free = np.zeros(len(q)), np.zeros(len(q), dtype=bool)
            else:
                _, _, w, over = ranking_weights(evidence, chunk)
                free = ~over & evidence.estimated
            slope = by[q] * w
            level = back[q] - slope * np.where(free, chunk.reward / chunk.impressions, less[q])
            wanted = (w > 0) & (not evidence.same)
            return Moved(slope, level, np.where(free, slope, 0.0), w, wanted, slope * counts.origin)

        return moved

    def reach(self, evidence: Evidence) -> tuple[float, float]:
        """Between what numbers a weight can lie."""
        return (min(1.0, evidence.clip),) * 2 if evidence.same else (0.0, self.largest)

    def limits(self, evidence: Evidence) -> Limits:
        """Between what numbers a weight can lie, whatever the log shows, of all queries or of each."""
        return (min(1.0, evidence.clip),) * 2 if evidence.same else (0.0, self.limit)

    def effective_sizes(self) -> Vector:
        """Of each query; 0 where no impression has weight."""
        return np.divide(self.mass**2, self.mass2, out=np.zeros_like(self.mass), where=self.mass2 > 0)

    def effective_sample_size(self) -> float | None:
        squares = float(self.mass2.sum())
        return float(self.mass.sum() ** 2 / squares) if squares > 0 else None

    def second_moment(self, evidence: Evidence, shift: float, value: float | Vector) -> float:
        """Σψ² of w·(reward − shift), less value, which may be one per query."""
        n = evidence.counts.impressions
        r1f, r1n, r2n, r2f, r2f2 = self.held
        r = r1f - shift * r1n
        r2 = self.free_within + r2f2 - 2 * shift * r2f + np.float64(shift) ** 2 * r2n
        back = (self.free_credit - shift * self.free_mass) / n - value
        return float((r2 + 2 * back * r + n * back**2).sum() + self.thin.sum())


def _impossible(share: float) -> list[str]:
    if not share:
        return []
    shown = f"{share:.1%} of the impressions show a ranking of the target's"
    return [f"{shown} that the given logging policy never shows: they count as 0"]


def _kept(
    groups: list[WeighedGroups] | None, most: int, chunk: Rankings, weight: Vector, clipped: NDArray[np.bool_]
) -> list[WeighedGroups] | None:
    """With those of one more chunk; None where they are too many."""
    if groups is None or sum(map(len, groups)) + len(chunk) > most:
        return None
    sums = chunk.impressions, chunk.reward, chunk.reward2
    nothing = np.zeros((len(chunk), 0), dtype=np.int64)
    found = WeighedGroups(
        queries=chunk.queries, rows=nothing, impressions=sums[0], reward=sums[1], reward2=sums[2], weight=weight,
        clipped=clipped,
    )  # fmt: skip
    return [*groups, found]


@shared(target=True, clip=True)
def weigh(evidence: Evidence) -> ListSums:
    """The sums of this evidence; `list` and `wlist` share them."""
    counts = evidence.counts
    size = len(counts.impressions)
    if evidence.same:
        sums = weigh_alike(evidence, min(1.0, evidence.clip))  # every weight is 1, or the clip where that is below 1
        sums.clipped = float(counts.total) if evidence.clip < 1 - ROUNDING else 0.0
        return sums
    if counts.rankings is None:
        raise InputError("the rankings of the log were not counted")
    by_query, pooled = np.zeros((size, ROWS)), np.zeros(POOLED)
    logged, logged_most = np.zeros(size), np.zeros(size)
    groups: list[WeighedGroups] | None = []
    for chunk in counts.rankings.chunks():
        h, pi, w, over = ranking_weights(evidence, chunk)
        groups = _kept(groups, KEPT if len(counts.cells) <= SHORT else KEPT_OF_MANY, chunk, w, over)
        logged += logged_mass(chunk, h, size)
        n, f, f2 = chunk.impressions, chunk.reward, chunk.reward2
        add_rankings(
            chunk.queries, n, f, f2, h, pi, w, over, evidence.estimated, by_query, logged_most, pooled
        )  # fmt: skip
    total = np.ascontiguousarray(by_query.T)
    variance = pooled[0] / pooled[1] if pooled[1] > 0 else 0.0
    if pooled[1] < FEW:  # too few repeated rankings to tell how much one varies
        variance = max(variance, overall_variance(evidence))
    unseen, warnings = unsupported_rankings(evidence, logged)
    largest, limit = largest_possible(evidence, logged_most)
    credit, mass, mass2, free_credit, free_mass, free_within = total[:6]
    return ListSums(
        credit=credit,
        mass=mass,
        mass2=mass2,
        free_credit=free_credit,
        free_mass=free_mass,
        free_within=free_within,
        held=total[6:11],
        clipped=float(pooled[3]),
        unsupported=evidence.mean(unseen),
        unseen=None if evidence.by_propensity else unseen,
        warnings=[*warnings, *_impossible(float(pooled[2]) / counts.total)],
        thin=total[11] + total[12] * variance,
        largest=float(largest.max(initial=0.0)),
        limit=limit,
        groups=groups,
    )


def known_rankings(sides: Sequence[Evidence]) -> Iterator[Rankings]:
    """As `ranked`, for what asks the ranking of other impressions too: there a clip takes from weights of 1."""
    judged = [side for side in sides if not side.same]
    if len(judged) == len(sides) or sides[0].clip >= 1:
        yield from ranked(sides[0])
        return
    counts = sides[0].counts
    assert counts.pages is not None  # noqa: S101 - the plan asked for them
    for groups, wanted in ((counts.rankings, True), (counts.pages, False)):
        for chunk in groups.chunks() if groups is not None else ():
            shown = np.zeros(len(chunk), dtype=bool)
            for side in judged:
                shown |= side.target.probability(chunk.queries, chunk.rows) > 0
            yield chunk.taken(np.flatnonzero(shown == wanted))


def weigh_alike(evidence: Evidence, w: float) -> ListSums:
    """Every impression has the weight w."""
    counts = evidence.counts
    n, f, f2 = counts.impressions.astype(float), counts.reward, counts.reward2
    return ListSums.of_known(np.stack([w * f, w * n, w**2 * n, w**2 * f, w**2 * f2]))
