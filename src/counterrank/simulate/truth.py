"""What a policy is really worth in a world: the number that estimates aim at."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from counterrank.click import PositionBased
from counterrank.click.base import Floats, fit_to
from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.policy.base import BoundPolicy, Policy
from counterrank.records import dataclass
from counterrank.simulate.world import World

_ROWS = 1 << 18  # rankings at a time


@dataclass(frozen=True)
class Truth:
    """Expected weighted clicks per impression."""

    value: float
    stderr: float  # 0 where exact
    exact: bool
    samples: int  # rankings drawn per query; 0 where exact

    def __float__(self) -> float:
        return self.value


def truth(
    world: World,
    policy: Policy,
    weights: ArrayLike | None = None,
    top: int | None = None,
    *,
    samples: int = 1000,
    seed: int = 0,
) -> Truth:
    """The policy's value Σ_q frequency_q · E[Σ_{k ≤ top} weight_k · P(click at k)], over the queries that it has.

    Exact for pbm users (Σ attraction · examination · weight · marginal), and for policies given as rankings or with
    one sure ranking per query. For cm and dcm users under any other policy: the mean over `samples` rankings drawn per
    query, each with its exact expected clicks, and the standard error of that stratified mean,
    √(Σ_q frequency_q² · variance_q / samples). Reference: li2018, section 3.1, for the value of a policy.

    >>> from counterrank.simulate.world import make_world
    >>> world = make_world(queries=5, items=6, k=3, users="pbm")
    >>> worths = [float(truth(world, p)) for p in (world.worse(), world.logging_policy(), world.better())]
    >>> worths == sorted(worths)
    True
    """
    theta = _weights(world, weights, top)
    try:
        bound = policy.bind(world.pairs)
    except InputError:
        raise
    except ValueError as error:  # an item that the world lacks
        raise InputError(f"the policy does not fit the world: {error}") from error
    share = _shares(world, policy)
    if isinstance(world.users, PositionBased):
        per_pair = bound.marginals() @ (fit_to(world.users.examination, len(theta), "examination") * theta)
        return Truth(float((share[world.pairs.queries] * world.attraction) @ per_pair), 0.0, exact=True, samples=0)
    listed = bound.support()
    if listed is not None:
        queries, rankings, probabilities = listed
        values = world.users.value(queries, rankings, theta)
        return Truth(float((share[queries] * probabilities) @ values), 0.0, exact=True, samples=0)
    known: Codes = np.flatnonzero(share > 0)
    sure = _sure_rankings(bound, known)
    if sure is not None:
        return Truth(float(share[known] @ world.users.value(known, sure, theta)), 0.0, exact=True, samples=0)
    return _sampled(world, bound, known, share, theta, samples, rng=np.random.default_rng(seed))


def _sure_rankings(bound: BoundPolicy, queries: Codes) -> Codes | None:
    """The one ranking of each query, or None where some query has several."""
    try:
        best = bound.best(queries)
    except InputError:  # a policy that cannot name its likeliest ranking
        return None
    return best if (bound.probability(queries, best) == 1.0).all() else None


def _sampled(
    world: World,
    bound: BoundPolicy,
    known: Codes,
    share: Floats,
    theta: Floats,
    samples: int,
    *,
    rng: np.random.Generator,
) -> Truth:
    if samples < 2:
        raise InputError(f"samples is {samples}: a standard error needs at least 2 rankings per query")
    value, variance = 0.0, 0.0
    size = max(1, _ROWS // samples)
    for start in range(0, len(known), size):
        some = known[start : start + size]
        queries = np.repeat(some, samples)
        drawn = world.users.value(queries, bound.sample(queries, rng), theta).reshape(len(some), samples)
        value += float(share[some] @ drawn.mean(axis=1))
        variance += float(share[some] ** 2 @ drawn.var(axis=1, ddof=1)) / samples
    return Truth(value, float(np.sqrt(variance)), exact=False, samples=samples)


def _weights(world: World, weights: ArrayLike | None, top: int | None) -> Floats:
    positions = world.pairs.positions
    if top is not None and top < 1:
        raise InputError(f"top is {top}: give 1 or more")
    cut = positions if top is None else min(top, positions)
    given = np.ones(cut) if weights is None else fit_to(np.asarray(weights, dtype=np.float64), cut, "weights")
    return np.concatenate([given[:cut], np.zeros(positions - cut)])  # a click beyond the top is worth nothing


def _shares(world: World, policy: Policy) -> Floats:
    """Query frequencies over the queries that the policy has."""
    known = policy.queries()
    if known is None:
        return world.frequencies
    rows = world.pairs.query_ids.codes(known)
    share = np.zeros_like(world.frequencies)
    share[rows[rows >= 0]] = world.frequencies[rows[rows >= 0]]
    if share.sum() == 0:
        raise InputError("the policy has none of the world's queries: compare their ids")
    return np.asarray(share / share.sum())
