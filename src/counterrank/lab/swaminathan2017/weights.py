"""The weights of every estimator in a world, and how hard the question is: exact, one number per query."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.estimate.pseudoinverse import uniform as pi_uniform
from counterrank.estimate.pseudoinverse.largest import largest_weight
from counterrank.estimate.pseudoinverse.pinv import pseudoinverse
from counterrank.ids import Codes
from counterrank.lab.swaminathan2017.world import SlateWorld
from counterrank.policy import sets
from counterrank.records import dataclass
from counterrank.regress.base import Matrix, Vector
from counterrank.statistics.pairs import Table

THREADS = 2


@dataclass(frozen=True)
class Weights:
    """What turns a logged slate into terms of the estimators.

    A slate's weight is Σₖ pi(aₖ, k) for PI, `whole` for IPS if it is the target's slate and 0 otherwise, and
    `slot`(aₖ, k) in slot k for the semi-bandit estimators.
    """

    pi: Table  # (P, ℓ) u = Γ†q
    whole: Vector  # (Q,) 1/μ(target's slate)
    slot: Table  # (P, ℓ) q/μ per slot
    sigma2: Vector  # (Q,) qᵀΓ†q
    rho: Vector  # (Q,) the largest |qᵀΓ†1_s|
    condition: Vector  # (Q,) of Γ, above its null space; 0 where harmless


def weights(world: SlateWorld) -> Weights:
    """Γ is exact here: in closed form where logging is uniform, else by recursion over sets, however long it takes."""
    starts = world.pairs.starts
    u = np.zeros(world.phi.shape)
    sigma2, rho, condition = (np.zeros(world.queries) for _ in range(3))
    for q, gamma in _gammas(world):
        rows = slice(starts[q], starts[q + 1])
        shown = world.target[rows]
        if gamma is None:
            u[rows] = pi_uniform.solved(shown)
        else:
            inverse, condition[q] = pseudoinverse(gamma)
            u[rows] = (inverse @ shown.ravel()).reshape(shown.shape)
        sigma2[q] = float((u[rows] * shown).sum())
        rho[q] = largest_weight(world.bound, q, u[rows])
    marginals = world.bound.marginals()
    slot = np.divide(world.target, marginals, out=np.zeros_like(u), where=world.target > 0)
    chance = world.bound.probability(np.arange(world.queries), world.slates)
    return Weights(u, 1 / chance, slot, sigma2, rho, condition)


def _gammas(world: SlateWorld) -> Iterator[tuple[int, Matrix | None]]:
    """Γ of every query, two at a time."""
    if world.alpha == 0:
        yield from ((q, None) for q in range(world.queries))
        return
    logs, starts = world.alpha * world.title, world.pairs.starts
    with ThreadPoolExecutor(THREADS) as pool:
        jobs = [
            pool.submit(sets.pair_marginals, logs[starts[q] : starts[q + 1]], world.slots) for q in range(world.queries)
        ]
        for q, job in enumerate(jobs):
            yield q, job.result()


def deviation(world: SlateWorld, found: Weights) -> tuple[float, Vector]:
    """PI's exact standard deviation per impression, and each query's share of its variance, (Q,).

    Var = E[w²r²] − V², with E by recursion over sets of candidates.
    """
    starts = world.pairs.starts
    spans = [starts[q : q + 2].tolist() for q in range(world.queries)]

    def second(span: list[int]) -> float:
        rows = slice(*span)
        sets = _sets_of(span[1] - span[0], world.slots)
        return float(_second_moment(world.rates[rows], found.pi[rows], world.phi[rows], *sets))

    with ThreadPoolExecutor(THREADS) as pool:
        moments = np.array(list(pool.map(second, spans)))
    variance = moments.mean() - world.value**2
    return float(np.sqrt(variance)), moments / moments.sum()


@cache
def _sets_of(items: int, slots: int) -> tuple[Codes, NDArray[np.int32]]:
    """All sets of fewer than `slots` items as bits of a number, smaller ones first, and where each of them stands."""
    masks = np.array([sum(1 << c for c in some) for size in range(slots) for some in combinations(range(items), size)])
    place = np.zeros(1 << items, dtype=np.int32)
    place[masks] = np.arange(len(masks))
    return masks, place


@njit(nogil=True)
def _second_moment(rate: Any, u: Any, phi: Any, masks: Any, place: Any) -> float:  # pragma: no cover
    """E[(Σu)²(Σφ)²] over slates drawn without replacement in proportion to `rate`.

    at[S] holds E[(Σu)^i (Σφ)^j; the first places hold the set S] for i, j ≤ 2.
    """
    items, slots = u.shape
    at = np.zeros((len(masks), 9))
    at[0, 0] = 1.0
    result = 0.0
    for number in range(len(masks)):
        mask, size, left = masks[number], 0, 0.0
        for c in range(items):
            if mask >> c & 1:
                size += 1
            else:
                left += rate[c]
        m = at[number]
        for c in range(items):
            if mask >> c & 1:
                continue
            p, a, b = rate[c] / left, u[c, size], phi[c, size]
            m01 = m[1] + b * m[0]
            m02 = m[2] + 2 * b * m[1] + b * b * m[0]
            m11 = m[4] + b * m[3]
            m12 = m[5] + 2 * b * m[4] + b * b * m[3]
            m22 = m[8] + 2 * b * m[7] + b * b * m[6]
            if size + 1 == slots:
                result += p * (m22 + 2 * a * m12 + a * a * m02)
                continue
            m21 = m[7] + b * m[6]
            to = at[place[mask | 1 << c]]
            to[0] += p * m[0]
            to[1] += p * m01
            to[2] += p * m02
            to[3] += p * (m[3] + a * m[0])
            to[4] += p * (m11 + a * m01)
            to[5] += p * (m12 + a * m02)
            to[6] += p * (m[6] + 2 * a * m[3] + a * a * m[0])
            to[7] += p * (m21 + 2 * a * m11 + a * a * m01)
            to[8] += p * (m22 + 2 * a * m12 + a * a * m02)
    return result
