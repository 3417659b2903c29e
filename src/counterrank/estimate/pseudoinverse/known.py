"""Γ†q of every query where the logging policy is given: closed form, recursion, or drawn rankings."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate.base import Vector
from counterrank.estimate.pseudoinverse import slots as pi_slots
from counterrank.estimate.pseudoinverse import uniform
from counterrank.estimate.pseudoinverse.gamma import least_ratio, least_ratio_of_slots
from counterrank.estimate.pseudoinverse.largest import largest_weight
from counterrank.estimate.pseudoinverse.pinv import pseudoinverse
from counterrank.policy.base import BoundPolicy
from counterrank.policy.product import BoundSlots
from counterrank.policy.scores import BoundScores
from counterrank.setting.evidence import LogEvidence
from counterrank.statistics.pairs import Table


@dataclass(frozen=True, kw_only=True)
class Known:
    """What the given logging policy and the target say, one number per query, but for u."""

    u: Table  # (P, K) Γ†q
    sigma2: Vector  # qᵀΓ†q
    lost: Vector  # ‖(I − ΓΓ†)q‖²
    largest: Vector  # |qᵀΓ†1_A| over the rankings that the policy can show; NaN where these are not known
    kappa: Vector
    condition: Vector
    drawn: Vector  # variance of the query's value from rankings that were drawn to know Γ; 0 where none were

    @classmethod
    def of(cls, u: Table, found: Table) -> Known:
        """From u and (6, Q): the other fields in turn."""
        return cls(u=u, **dict(zip([each.name for each in fields(cls)][1:], found, strict=True)))


def closed_forms(logging: BoundPolicy) -> NDArray[np.bool_]:
    """(Q,) whether the query needs no matrix."""
    size = len(logging.pairs.query_ids)
    if isinstance(logging, BoundScores):
        return logging.all_tied
    return np.full(size, isinstance(logging, BoundSlots))


def solve(evidence: LogEvidence, target: Table, judged: BoundPolicy | None = None) -> Known:
    """Query by query: only one matrix is in memory at a time. `judged` is the policy with these marginals, if any."""
    pairs, logging = evidence.counts.pairs, evidence.logging
    size = len(evidence.counts.impressions)
    if isinstance(logging, BoundSlots):
        u, found = pi_slots.solve(logging, target)
        return Known.of(u, found)
    u, found = np.zeros(target.shape), np.zeros((6, size))
    tied = closed_forms(logging)
    slots = judged if isinstance(judged, BoundSlots) else None
    credit = mean_reward(evidence) if not tied.all() else u
    for q in range(size):
        rows, length = slice(pairs.starts[q], pairs.starts[q + 1]), int(min(pairs.lengths[q], pairs.positions))
        shown = target[rows, :length]
        if tied[q] and isinstance(logging, BoundScores):
            u[rows, :length], found[:, q] = _uniform_query(logging, q, shown)
        else:
            u[rows, :length], found[:, q] = _matrix_query(logging, q, shown, credit[rows, :length], slots)
    return Known.of(u, found)


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
        mine, cell = slice(slots.pairs.starts[q], slots.pairs.starts[q + 1]), np.arange(shown.size).reshape(shown.shape)
        kappa = float(least_ratio_of_slots(gamma.matrix, cell, slots.position_of[mine], slots.sizes[q]))
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


def mean_reward(evidence: LogEvidence) -> Table:
    """θ̂, (P, K): the mean over a query's impressions of the reward where the pair is shown at the position, else 0."""
    counts = evidence.counts
    out = np.zeros(counts.shown.size)
    assert counts.pages is not None  # noqa: S101 - the plan asked for them
    for chunk in counts.pages.chunks():
        group, position = np.nonzero(chunk.rows >= 0)
        at = chunk.rows[group, position] * counts.shown.shape[1] + position
        out += np.bincount(at, (chunk.reward + counts.origin * chunk.impressions)[group], out.size)
    return np.asarray(out.reshape(counts.shown.shape) / counts.impressions[counts.pairs.queries][:, None])
