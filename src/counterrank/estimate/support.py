"""How much of what the target shows the logging policy never shows, ranking by ranking."""

from __future__ import annotations

from itertools import permutations
from math import perm
from typing import TYPE_CHECKING

import numpy as np

from counterrank.ids import Codes
from counterrank.statistics.hashing import distinct, ranking_keys
from counterrank.statistics.pairs import sum_by
from counterrank.statistics.rankings import Rankings

if TYPE_CHECKING:
    from counterrank.estimate.base import Vector
    from counterrank.setting.evidence import Evidence

DRAWS = 200  # rankings drawn per query where the mass cannot be summed
AT_A_TIME = 1000  # queries
LISTED = 100_000  # rankings that are summed one by one, at most


def logged_mass(chunk: Rankings, h: Vector, size: int) -> Vector:
    """The target's mass on the rankings of a chunk, per query."""
    if chunk.propensity is None:
        return sum_by(chunk.queries, h, size)
    # one ranking may have come with several propensities
    first, _ = distinct(ranking_keys(chunk.queries, chunk.rows, chunk.lengths))
    return sum_by(chunk.queries[first], h[first], size)


def unsupported_rankings(evidence: Evidence, logged: Vector) -> tuple[Vector, list[str]]:
    """(Q,) the target's mass on rankings without logging mass, and what to say of it.

    `logged` is its mass on the rankings of the log, which is all that counts where the log is what tells of the logging
    policy; where that is given, the two policies are compared.
    """
    size = len(evidence.counts.impressions)
    if evidence.estimated or evidence.by_propensity:
        return np.clip(1 - logged, 0.0, 1.0), []
    listed = evidence.target.support()
    if listed is not None:
        queries, rankings, probability = listed
        lost = np.where(evidence.logging.probability(queries, rankings) > 0, 0.0, probability)
        return sum_by(queries, lost, size), []
    listed = evidence.logging.support()
    if listed is not None:
        queries, rankings, _ = listed
        found = sum_by(queries, evidence.target.probability(queries, rankings), size)
        return np.clip(1 - found, 0.0, 1.0), []
    every = _all_rankings(evidence)
    if every is not None:
        queries, rankings = every
        h = evidence.target.probability(queries, rankings)
        lost = np.where(evidence.logging.probability(queries, rankings) > 0, 0.0, h)
        return sum_by(queries, lost, size), []
    return _drawn(evidence)


def _drawn(evidence: Evidence) -> tuple[Vector, list[str]]:
    """The same from rankings that are drawn."""
    counts, rng = evidence.counts, np.random.default_rng(0)
    share = np.zeros(len(counts.impressions))
    for start in range(0, len(share), AT_A_TIME):
        some = np.arange(start, min(start + AT_A_TIME, len(share)))
        queries = np.repeat(some, DRAWS)
        lost = evidence.logging.probability(queries, evidence.target.sample(queries, rng)) <= 0
        share[some] = lost.reshape(len(some), DRAWS).mean(axis=1)
    if not share.any():
        return share, []
    n = counts.impressions / counts.total
    error = float(np.sqrt((n**2 * share * (1 - share) / DRAWS).sum()))
    return share, [f"`unsupported` was estimated by drawing {DRAWS} rankings a query (standard error {error:.1g})"]


def listed_rankings(evidence: Evidence) -> tuple[Codes, Codes] | None:
    """Queries and rankings, all that both policies show among them; None where they are too many."""
    for policy in (evidence.target, evidence.logging):
        listed = policy.support()
        if listed is not None:
            return listed[0], listed[1]
    return _all_rankings(evidence)


def _all_rankings(evidence: Evidence) -> tuple[Codes, Codes] | None:
    """Every ranking of the items that the target shows, of every length; None where they are too many."""
    pairs = evidence.counts.pairs
    shown = evidence.target.exposure(np.ones(pairs.positions)) > 0
    items = sum_by(pairs.queries, shown, len(pairs.lengths)).astype(int)
    depths = np.minimum(items, pairs.lengths)
    sizes = [sum(perm(m, k) for k in range(1, depth + 1)) for m, depth in zip(items, depths, strict=True)]
    if sum(sizes) > LISTED:
        return None
    rankings = np.full((sum(sizes), pairs.positions), -1, dtype=np.int64)
    at = 0
    for q, length in enumerate(pairs.lengths):
        rows = pairs.starts[q] + np.flatnonzero(shown[pairs.starts[q] : pairs.starts[q + 1]])
        for k in range(1, min(len(rows), length) + 1):
            block = np.array(list(permutations(rows, k)), dtype=np.int64).reshape(-1, k)
            rankings[at : at + len(block), :k] = block
            at += len(block)
    return np.repeat(np.arange(len(sizes)), sizes), rankings
