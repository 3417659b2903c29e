"""Γ†q of every query where the logging policy is given: closed form, recursion, or drawn rankings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate.base import Vector
from counterrank.estimate.pseudoinverse import slots as pi_slots
from counterrank.estimate.pseudoinverse import uniform
from counterrank.estimate.pseudoinverse.gamma import least_ratio, least_ratio_of_slots
from counterrank.estimate.pseudoinverse.largest import largest_weight
from counterrank.estimate.pseudoinverse.pinv import pseudoinverse
from counterrank.ids import Codes
from counterrank.policy.base import BoundPolicy
from counterrank.policy.product import BoundSlots
from counterrank.policy.scores import BoundScores
from counterrank.records import dataclass
from counterrank.setting.evidence import LogEvidence
from counterrank.statistics.counts import Counts
from counterrank.statistics.pairs import Table


@dataclass(frozen=True, kw_only=True)
class Known:
    """What the given logging policy and the target say, one number per query, but for u."""

    u: Vector  # Γ†q: of the log's cells, (C,), or of every pair at every position, pair by pair
    sigma2: Vector  # qᵀΓ†q
    lost: Vector  # ‖(I − ΓΓ†)q‖²
    largest: Vector  # |qᵀΓ†1_A| over the rankings that the policy can show; NaN where these are not known
    kappa: Vector
    condition: Vector
    drawn: Vector  # variance of the query's value from rankings that were drawn to know Γ; 0 where none were
    least: Vector  # the sum over positions of the least u there, or of 0
    most: Vector  # the same of the largest

    @classmethod
    def of(cls, u: Vector, found: Table) -> Known:
        """From u and (8, Q): the other fields in turn."""
        return cls(u=u, **dict(zip([each.name for each in fields(cls)][1:], found, strict=True)))


def closed_forms(logging: BoundPolicy) -> NDArray[np.bool_]:
    """(Q,) whether the query needs no matrix."""
    size = len(logging.pairs.query_ids)
    if isinstance(logging, BoundScores):
        return logging.all_tied
    return np.full(size, isinstance(logging, BoundSlots))


class Shown(Protocol):
    """A q of every query: what a policy shows, or a sum of such."""

    def part(self, first: int, last: int) -> Table:
        """Of the pairs of queries first to last, (pairs, K)."""

    def at(self, rows: Codes, positions: Codes) -> Vector:
        """Of each pair at the position; rows rise."""

    def squares(self) -> Vector:
        """(P,) Σₖ of the squares."""


@dataclass(frozen=True)
class Gap:
    """Policies, each times a number, added up."""

    sides: Sequence[tuple[float, BoundPolicy]]

    def part(self, first: int, last: int) -> Table:
        return np.asarray(sum(gain * side.part(first, last) for gain, side in self.sides))

    def at(self, rows: Codes, positions: Codes) -> Vector:
        return np.asarray(sum(gain * side.at(rows, positions) for gain, side in self.sides))

    def squares(self) -> Vector:
        pairs = self.sides[0][1].pairs
        return np.concatenate([np.square(self.part(q, q + 1)).sum(axis=1) for q in range(len(pairs.query_ids))])


@dataclass(frozen=True)
class InCells:
    """Numbers of the log's cells, and 0 elsewhere."""

    counts: Counts
    values: Vector

    def part(self, first: int, last: int) -> Table:
        starts = self.counts.pairs.starts
        return self.counts.cells.dense(self.values, int(starts[first]), int(starts[last]))

    def at(self, rows: Codes, positions: Codes) -> Vector:
        return self.counts.cells.at(self.values, rows, positions)

    def squares(self) -> Vector:
        return self.counts.cells.by_pair(self.values**2)


def solve(evidence: LogEvidence, target: Shown, judged: BoundPolicy | None = None, everywhere: bool = False) -> Known:
    """Query by query: only one matrix is in memory at a time. `judged` is the policy with these marginals, if any.

    u is of the log's cells, or of every pair at every position (`everywhere`).
    """
    pairs, logging, cells = evidence.counts.pairs, evidence.logging, evidence.cells
    size = len(evidence.counts.impressions)
    if isinstance(logging, BoundSlots):
        weight, found = pi_slots.solve(logging, target)
        found = np.vstack([found, _reach_of_slots(logging, weight)])
        if everywhere:
            own = np.zeros((len(pairs), cells.depth))
            own[logging.rows, logging.slots % max(cells.depth, 1)] = weight
            return Known.of(own.ravel(), found)
        of_pair = np.zeros(len(pairs))
        of_pair[logging.rows] = weight
        return Known.of(np.where(logging.position_of[cells.rows] == cells.positions, of_pair[cells.rows], 0.0), found)
    u, found = np.zeros(len(pairs) * cells.depth if everywhere else len(cells)), np.zeros((8, size))
    tied = closed_forms(logging)
    slots = judged if isinstance(judged, BoundSlots) else None
    credit = mean_reward(evidence)
    for q in range(size):
        rows, length = slice(pairs.starts[q], pairs.starts[q + 1]), int(min(pairs.lengths[q], pairs.positions))
        shown, mine = target.part(q, q + 1)[:, :length], np.zeros((rows.stop - rows.start, cells.depth))
        if tied[q] and isinstance(logging, BoundScores):
            mine[:, :length], found[:6, q] = _uniform_query(logging, q, shown)
        else:
            given = credit.part(q, q + 1)[:, :length]
            mine[:, :length], found[:6, q] = _matrix_query(logging, q, shown, given, slots)
        found[6, q], found[7, q] = np.minimum(mine.min(axis=0), 0.0).sum(), np.maximum(mine.max(axis=0), 0.0).sum()
        if everywhere:
            u[rows.start * cells.depth : rows.stop * cells.depth] = mine.ravel()
        else:
            here = slice(cells.starts[rows.start], cells.starts[rows.stop])
            u[here] = mine[cells.rows[here] - rows.start, cells.positions[here]]
    return Known.of(u, found)


def _reach_of_slots(logging: BoundSlots, weight: Vector) -> Table:
    """(2, Q) the sums over slots of the least and of the largest weight of an item, or of 0."""
    size, depth = len(logging.pairs.query_ids), logging.pairs.positions
    least, most = np.zeros(size * depth), np.zeros(size * depth)
    np.minimum.at(least, logging.slots, weight)
    np.maximum.at(most, logging.slots, weight)
    return np.stack([each.reshape(size, depth).sum(axis=1) for each in (least, most)])


def _uniform_query(logging: BoundScores, q: int, shown: Table) -> tuple[Table, tuple[float, ...]]:
    pairs = logging.pairs
    mine = np.sort(logging.rows[logging.starts[q] : logging.starts[q + 1]]) - pairs.starts[q]
    places = int(logging.shown[q])
    small = shown[mine, :places]
    solved = uniform.solved(small)
    u = np.zeros(shown.shape)
    u[mine, :places] = solved
    left = shown.copy()
    left[mine, :places] -= uniform.times(solved)
    kappa = 1.0 if small.shape == shown.shape else 0.0
    largest = largest_weight(logging, q, u)
    return u, (float((small * solved).sum()), float((left**2).sum()), largest, kappa, 0.0, 0.0)


def _matrix_query(
    logging: BoundPolicy, q: int, shown: Table, credit: Table, slots: BoundSlots | None
) -> tuple[Table, tuple[float, ...]]:
    gamma = logging.pair_marginals(q)
    active = np.flatnonzero(np.diag(gamma.matrix) > 0)
    u, phi = np.zeros(shown.size), np.zeros(shown.size)
    if len(active) == 0:
        return u.reshape(shown.shape), (0.0, float((shown**2).sum()), np.nan, 0.0, 0.0, 0.0)
    matrix = gamma.matrix[np.ix_(active, active)]
    inverse, condition = pseudoinverse(matrix)
    u[active] = inverse @ shown.ravel()[active]
    left = shown.ravel().copy()
    left[active] -= matrix @ u[active]
    kappa = 0.0
    if slots is not None:
        own = slots.position_of[slots.pairs.starts[q] : slots.pairs.starts[q + 1]]
        at = np.where(own >= 0, np.arange(len(own)) * shown.shape[1] + own, -1)
        kappa = float(least_ratio_of_slots(gamma.matrix, at, own, slots.sizes[q]))
    elif len(active) == shown.size:
        kappa = float(least_ratio(gamma.matrix, *shown.shape))
    variance = 0.0
    if gamma.drawn:
        phi[active] = inverse @ credit.ravel()[active]
    for share, cells in gamma.drawn:  # to first order Γ† moves V by −uᵀ(dΓ)φ, a mean over the drawn rankings
        inside = cells >= 0
        product = np.where(inside, u[cells], 0.0).sum(axis=1) * np.where(inside, phi[cells], 0.0).sum(axis=1)
        variance += share**2 * float(product.var()) / len(cells)
    table = u.reshape(shown.shape)
    largest = largest_weight(logging, q, table)
    return table, (float((table * shown).sum()), float((left**2).sum()), largest, kappa, condition, variance)


def mean_reward(evidence: LogEvidence) -> InCells:
    """θ̂: the mean over a query's impressions of the reward where the pair is shown at the position, else 0."""
    counts, cells = evidence.counts, evidence.cells
    out = np.zeros(len(cells))
    assert counts.pages is not None  # noqa: S101 - the plan asked for them
    for chunk in counts.pages.chunks():
        group, position = np.nonzero(chunk.rows >= 0)
        at = cells.find(chunk.rows[group, position], position)
        out += np.bincount(at, (chunk.reward + counts.origin * chunk.impressions)[group], len(out))
    return InCells(counts, out / counts.impressions[counts.cell_queries])
