"""Clicks weighed by each impression's own propensities: w = min(h(a, k | q)/p, M), p being the chance that its logging
policy had for that item at that position. The logging policy may then be another one at every impression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from counterrank.policy.base import BLOCK
from counterrank.records import dataclass
from counterrank.setting.cache import shared
from counterrank.setting.evidence import ROUNDING, Evidence, ratios
from counterrank.statistics.item_chances import ItemChances, Trimmed
from counterrank.statistics.pairs import Table, sum_by

Vector = NDArray[np.float64]
Blocks = Callable[[int, int], Table]  # of queries first to last: of all pairs and positions
Ranges = Callable[[int, int], tuple[Table, Table]]  # the same, the least and the largest


@dataclass(frozen=True, kw_only=True)
class Own:
    """The part of an impression's weights that is divided by its own propensities: weight/max(p, floor), and the same
    of the offset. `table` has the weights, scaled, of all pairs and positions; no p is below `least`."""

    weight: Vector  # (C,)
    offset: Vector  # (C,)
    floor: Vector | None  # (C,) None: none
    table: Blocks
    reach: Ranges  # of scaled weights, whatever p is
    least: float

    def times(self, cells: Vector | float, blocks: Blocks) -> Own:
        """Weight and offset times a number of each cell; `blocks` is the same of scaled weights."""
        table, reach = self.table, self.reach

        def larger(first: int, last: int) -> Table:
            return np.asarray(table(first, last) * blocks(first, last))

        def further(first: int, last: int) -> tuple[Table, Table]:
            ends = [end * blocks(first, last) for end in reach(first, last)]
            return np.minimum(*ends), np.maximum(*ends)

        return replace(self, weight=self.weight * cells, offset=self.offset * cells, table=larger, reach=further)

    def negative(self) -> Own:
        return self.times(-1.0, lambda first, last: np.full((1, 1), -1.0))

    def scaled(self, scale: Vector) -> Own:
        """With the weight of each cell times the scale of its position, (C,), which the table has already."""
        return replace(self, weight=self.weight * scale)


def between(table: Blocks, least: float, cap: Vector | float = np.inf) -> Ranges:
    """Where table/p can lie, with p from `least` to 1, and no further from 0 than the cap."""

    def ends(first: int, last: int) -> tuple[Table, Table]:
        top = table(first, last)
        with np.errstate(over="ignore"):
            both = [np.clip(top / p, -np.abs(cap), np.abs(cap)) for p in (1.0, least)]
        return np.minimum(*both), np.maximum(*both)

    return ends


def joined(one: tuple[Own, ...], other: tuple[Own, ...]) -> tuple[Own, ...]:
    """All of both; those without a floor are one, since they are divided by the same."""
    free = [each for each in (*one, *other) if each.floor is None]
    rest = tuple(each for each in (*one, *other) if each.floor is not None)
    if len(free) < 2:
        return (*free, *rest)

    def table(first: int, last: int) -> Table:
        return np.asarray(sum(each.table(first, last) for each in free))

    weight, offset = (np.asarray(sum(getattr(each, name) for each in free)) for name in ("weight", "offset"))
    least = free[0].least
    merged = Own(weight=weight, offset=offset, floor=None, table=table, reach=between(table, least), least=least)
    return (merged, *rest)


@dataclass(frozen=True)
class OwnSums:
    """Of each cell: Σ w, Σ w·click, the impressions whose weight was clipped, and the floor under p that does it."""

    weight: Vector
    clicked: Vector
    clipped: Vector
    floor: Vector | None


@shared(target=True, clip=True)
def own_sums(evidence: Evidence) -> OwnSums:
    """What weights by own propensities add up to, the rows looked at once more where some are clipped."""
    target, mine = evidence.shown_by_target, chances_of(evidence)
    floor = _floor(evidence)
    if floor is None or evidence.trimmed is None:
        return OwnSums(_times(target, mine.inverse), _times(target, mine.clicked), np.zeros(len(target)), None)
    found: Trimmed = evidence.trimmed(floor)
    return OwnSums(_times(target, found.inverse), _times(target, found.clicked), found.under, floor)


def _times(chance: Vector, sums: Vector) -> Vector:
    """0 where the target shows nothing, however large the sum is."""
    return np.multiply(chance, sums, out=np.zeros(len(sums)), where=chance > 0)


def chances_of(evidence: Evidence) -> ItemChances:
    mine = evidence.counts.item_chances
    assert mine is not None  # noqa: S101 - `by_item` says so
    return mine


def _floor(evidence: Evidence) -> Vector | None:
    """(C,) what p counts for at least; None where no weight is above the clip."""
    target, clip = evidence.shown_by_target, evidence.clip
    if not np.isfinite(clip):
        return None
    over = ratios(target, chances_of(evidence).least) > clip * (1 + ROUNDING)
    return np.where(over, target / clip, 0.0) if over.any() else None


def largest(evidence: Evidence) -> float:
    """The largest weight in the log."""
    shown = evidence.counts.shown > 0
    return float(ratios(evidence.shown_by_target, chances_of(evidence).least)[shown].max(initial=0.0))


@shared(target=True, clip=False)
def balance(evidence: Evidence) -> tuple[float, float]:
    """The mean weight of a shown item before any clip, and what it should be: 1 where a policy fills each position."""
    counts = evidence.counts
    shown = counts.places.sums(counts.shown)
    total = float(shown.sum())
    weight = float(_times(evidence.shown_by_target, chances_of(evidence).inverse).sum())
    return weight / total, float(shown @ _mass(evidence)) / total


def _mass(evidence: Evidence) -> Vector:
    """Of each place, the policy's chance of showing anything there."""
    counts, depth = evidence.counts, evidence.cells.depth
    out = np.zeros((len(counts.impressions), depth))
    for first, last in counts.pairs.blocks(BLOCK):
        mine = counts.pairs.queries[counts.pairs.starts[first] : counts.pairs.starts[last]] - first
        part = evidence.target.part(first, last)
        for k in range(depth):
            out[first:last, k] = sum_by(mine, part[:, k], last - first)
    position = np.zeros(len(counts.places.queries), dtype=np.int64)
    position[counts.places.at] = evidence.cells.positions
    return np.asarray(out[counts.places.queries, position])


def unseen(evidence: Evidence) -> float:
    """max(0, 1 − mean weight), the mean weight beside what it should be: of what the policy shows, the share that the
    log's propensities do not account for. One number for the whole log: that of a single query would be chance."""
    weight, expected = balance(evidence)
    lost = 1 - weight / expected if expected > 0 else 0.0
    return lost if lost > ROUNDING else 0.0
