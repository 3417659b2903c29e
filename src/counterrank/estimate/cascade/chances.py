"""How likely each beginning of a ranking is under the policy that is judged and under the logging policy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate.cascade.prefixes import prefixes
from counterrank.estimate.support import listed_rankings, unsupported_rankings
from counterrank.policy import BoundPolicy, Policy
from counterrank.records import dataclass
from counterrank.setting.cache import shared
from counterrank.setting.evidence import Evidence, LogEvidence
from counterrank.statistics.pairs import Pairs, sum_by

Vector = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class PrefixChances:
    """Of every prefix; and what the logging policy never shows."""

    target: Vector  # (V,)
    logging: Vector  # (V,)
    unseen: Vector  # (Q,) the target's mass on prefixes without logging mass, summed over positions
    said: list[str]


@shared(target=True, clip=False)
def prefix_chances(evidence: Evidence) -> PrefixChances:
    """A policy that is cut to k positions says how likely a prefix of k items is."""
    found, counts = prefixes(evidence), evidence.counts
    logging = logged_chances(evidence)
    if evidence.same:
        return PrefixChances(target=logging, logging=logging, unseen=np.zeros(len(counts.impressions)), said=[])
    target, lost, said = np.zeros(len(found)), np.zeros(len(counts.impressions)), list[str]()
    mass = evidence.target.by_query()
    for depth in range(int(found.depth.max(initial=-1)) + 1):
        mine, rankings = found.first(depth)
        pairs = cut_pairs(counts.pairs, depth + 1)
        bound = bound_to(evidence.policy, evidence.target, pairs)
        target[mine] = bound.probability(found.query[mine], rankings)
        if evidence.shares:
            logged = sum_by(found.query[mine], target[mine], len(counts.impressions))
            lost += np.clip(mass[:, depth] - logged, 0.0, 1.0)
        else:
            share, words = _never_shown(
                evidence, bound, bound_to(evidence.given, evidence.logging, pairs), mass[:, depth]
            )
            lost, said = lost + share, said or words
    return PrefixChances(target=target, logging=logging, unseen=lost, said=said)


def _never_shown(
    evidence: Evidence, target: BoundPolicy, logging: BoundPolicy, mass: Vector
) -> tuple[Vector, list[str]]:
    """(Q,) the target's mass on prefixes of one depth that a known logging policy never shows; `mass` is all, (Q,)."""
    size = len(mass)
    for one, other, of_target in ((target, logging, True), (logging, target, False)):
        listed = one.support()
        if listed is None:
            continue
        queries, rankings, chance = listed
        whole = rankings[:, -1] >= 0  # shorter ones have no item there
        queries, rankings, chance = queries[whole], rankings[whole], chance[whole]
        met = other.probability(queries, rankings)
        if of_target:
            return sum_by(queries, np.where(met > 0, 0.0, chance), size), []
        return np.clip(mass - sum_by(queries, np.where(chance > 0, met, 0.0), size), 0.0, 1.0), []
    cut = replace(evidence.counts, pairs=target.pairs)
    alone = replace(evidence, counts=cut, target=target, logging=logging, estimated=False, by_propensity=False)
    return unsupported_rankings(alone, np.zeros(size))


@shared(target=False, clip=False)
def logged_chances(evidence: LogEvidence) -> Vector:
    """(V,) the chance of each prefix under the logging policy: its share in the log where nobody knows better."""
    found, counts = prefixes(evidence), evidence.counts
    if evidence.given is None:
        return np.asarray(found.shown / counts.impressions[found.query])
    chance = np.zeros(len(found))
    for depth in range(int(found.depth.max(initial=-1)) + 1):
        mine, rankings = found.first(depth)
        bound = bound_to(evidence.given, evidence.logging, cut_pairs(counts.pairs, depth + 1))
        chance[mine] = bound.probability(found.query[mine], rankings)
    return chance


def cut_pairs(pairs: Pairs, positions: int) -> Pairs:
    return replace(pairs, lengths=np.minimum(pairs.lengths, positions), positions=positions)


def bound_to(policy: Policy | None, whole: BoundPolicy, pairs: Pairs) -> BoundPolicy:
    if pairs.positions == whole.pairs.positions or policy is None:
        return whole
    return policy.bind(pairs)


def largest_sum(evidence: Evidence, theta: Vector) -> float:
    """The largest Σ θ·w along a ranking, where the logging policy is known; ∞ where they are too many."""
    listed = listed_rankings(evidence)
    if listed is None:
        return np.inf
    queries, rankings = listed
    total = np.zeros(len(queries))
    for depth in range(rankings.shape[1]):
        there = np.flatnonzero(rankings[:, depth] >= 0)
        pairs, rows = cut_pairs(evidence.counts.pairs, depth + 1), rankings[there, : depth + 1]
        h = bound_to(evidence.policy, evidence.target, pairs).probability(queries[there], rows)
        pi = bound_to(evidence.given, evidence.logging, pairs).probability(queries[there], rows)
        weight = np.divide(h, pi, out=np.zeros(len(there)), where=pi > 0)
        total[there] += theta[depth] * np.minimum(weight, evidence.clip)
    return float(total.max(initial=0.0))
