"""What the target shows next, after each beginning of a ranking that the log has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate.cascade.chances import bound_to, cut_pairs, prefix_chances
from counterrank.estimate.cascade.prefixes import prefixes
from counterrank.ids import Codes
from counterrank.policy import BoundPolicy
from counterrank.setting.evidence import Evidence
from counterrank.statistics.hashing import ranking_keys

Vector = NDArray[np.float64]
AT_A_TIME = 1 << 20  # rankings whose chances are asked at once


def add_next(evidence: Evidence, position: int, worth: Vector, total: Vector) -> None:
    """Add to `total` (V, Z) what the target shows at a position below prefixes that end above it: Σ of `worth` (P, Z)
    over items, times the chance of prefix and item together."""
    found, target, lengths = prefixes(evidence), prefix_chances(evidence).target, evidence.counts.pairs.lengths
    mine, rankings = found.first(position - 1)
    asked = np.flatnonzero((target[mine] > 0) & (lengths[found.query[mine]] > position))
    if not len(asked):
        return
    bound = bound_to(evidence.policy, evidence.target, cut_pairs(evidence.counts.pairs, position + 1))
    nodes, rankings = mine[asked], rankings[asked]
    for node, row, chance in _followers(bound, found.query[nodes], rankings):
        for z in range(worth.shape[1]):
            total[:, z] += np.bincount(nodes[node], chance * worth[row, z], len(found))


def _followers(bound: BoundPolicy, queries: Codes, rankings: Codes) -> Iterator[tuple[Codes, Codes, Vector]]:
    """Triples of a prefix (its number here), the pair that follows, and the chance of both together."""
    listed = bound.support()
    if listed is not None:
        of, whole, chance = listed
        full = whole[:, -1] >= 0
        of, whole, chance = of[full], whole[full], chance[full]
        depth = rankings.shape[1]
        mine = ranking_keys(queries, rankings, np.full(len(rankings), depth))
        theirs = ranking_keys(of, np.ascontiguousarray(whole[:, :-1]), np.full(len(whole), depth))
        order = np.argsort(mine)
        at = order[np.minimum(np.searchsorted(mine, theirs, sorter=order), len(mine) - 1)]
        same = mine[at] == theirs
        yield at[same], whole[same, -1], chance[same]
        return
    pairs = bound.pairs
    sizes = pairs.sizes[queries]
    ends = np.cumsum(sizes)
    start = 0
    while start < len(queries):
        stop = max(int(np.searchsorted(ends, (ends[start - 1] if start else 0) + AT_A_TIME)), start + 1)
        some = np.repeat(np.arange(start, stop), sizes[start:stop])
        first = np.concatenate([[0], np.cumsum(sizes[start:stop])])[:-1]
        row = pairs.starts[queries[some]] + np.arange(len(some)) - np.repeat(first, sizes[start:stop])
        unseen = ~(rankings[some] == row[:, None]).any(axis=1)
        some, row = some[unseen], row[unseen]
        yield some, row, bound.probability(queries[some], np.column_stack([rankings[some], row]))
        start = stop
