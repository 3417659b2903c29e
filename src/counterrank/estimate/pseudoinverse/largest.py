"""The largest weight that any ranking of a given logging policy can get."""

from __future__ import annotations

import numpy as np

from counterrank.policy.base import BoundPolicy
from counterrank.policy.chosen import BoundChoice
from counterrank.policy.mixture import BoundMixture
from counterrank.policy.ordered import OrderedCandidates
from counterrank.policy.product import BoundSlots
from counterrank.policy.weighted import WeightedRankings
from counterrank.statistics.pairs import Table


def largest_weight(policy: BoundPolicy, query: int, u: Table) -> float:
    """max |Σₖ u(aₖ, k)| over the rankings that the policy can show; NaN where that is not known.

    Listed rankings are looked up, slots with items of their own summed up. Where every way of filling the open places
    can be shown, it is an assignment problem.
    """
    if isinstance(policy, BoundMixture):
        parts = [(1 - policy.share, policy.base), (policy.share, policy.other)]
        return max(largest_weight(part, query, u) for share, part in parts if share > 0)
    if isinstance(policy, BoundChoice):
        acting = policy.acting(query)
        return largest_weight(*acting, u) if acting is not None else float("nan")
    if isinstance(policy, WeightedRankings | BoundSlots):
        return policy.largest(query, u)
    if isinstance(policy, OrderedCandidates):
        return _assigned(policy, query, u)
    return float("nan")


def _assigned(policy: OrderedCandidates, query: int, u: Table) -> float:
    from scipy.optimize import linear_sum_assignment  # slow to import

    rows = policy.rows[policy.starts[query] : policy.starts[query + 1]] - policy.pairs.starts[query]
    places = int(policy.shown[query])
    if len(rows) == 0:
        return float("nan")
    open_places = policy.possible(query)
    best = 0.0
    for sign in (1.0, -1.0):
        cost = np.where(open_places, sign * u[rows, :places], np.inf)
        chosen = linear_sum_assignment(cost)
        best = max(best, -float(cost[chosen].sum()))
    return best
