"""The base order of a page: estimate and bonus of each candidate, sorted, within the budget of new items. Compiled."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from counterrank.compiled import njit
from counterrank.online.ebrank import believed
from counterrank.online.pessimistic import Z
from counterrank.statistics.sorting import falling

UNIT = float(1 << 36)  # exposure is counted in whole parts of this, so that sums are the same in any order
SHOWN, CLICKS, EXPOSURE, WEIGHTED = 0, 1, 2, 3  # columns of counts
SCORE, MEAN, BONUS, IMPRESSIONS, CLICKED, LOOKS, ALPHA, BETA = range(8)  # columns of what is said of a candidate
BY_POSTERIOR, BY_BOUND, AS_GIVEN = 0, 1, 2  # what the order goes by


@njit(nogil=True)
def base_order(at, counts, belief, own, given, params, out, order):
    """`order` gets the places of the candidates, best first, ties in the order received; `out` what is known of each.

    at: rows of the candidates in `counts` and `belief`. own: (M, 2) beliefs that came with the request, NaN where none
    did, or empty. given: scores of a policy, or empty. params: what to sort by, exploration, evidence by exposure or
    not, impressions below which an item is new, how many new ones may stand in the first k, and k.
    """
    by, exploration, by_exposure, below, budget, k = params
    for i in range(len(at)):
        row = at[i]
        alpha, beta = belief[row, 0], belief[row, 1]
        if len(own) and own[i, 0] == own[i, 0]:
            alpha, beta = own[i, 0], own[i, 1]
        n, clicks = float(counts[row, SHOWN]), float(counts[row, CLICKS])
        looks, weighted = counts[row, EXPOSURE] / UNIT, counts[row, WEIGHTED] / UNIT
        mean, strength = believed((n, clicks, weighted, looks), alpha, beta, by_exposure)
        bonus = exploration * mean / (strength * strength)
        if by == BY_BOUND:
            inside = min(max(mean, 0.0), 1.0)
            bonus = -Z * (inside * (1.0 - inside) / (strength + 1.0)) ** 0.5
        out[i, SCORE] = mean + bonus
        if by == AS_GIVEN:
            bonus = 0.0
            out[i, SCORE] = given[i]
        out[i, MEAN], out[i, BONUS], out[i, IMPRESSIONS], out[i, CLICKED] = mean, bonus, n, clicks
        out[i, LOOKS], out[i, ALPHA], out[i, BETA] = looks, alpha, beta
    best = falling(out[:, SCORE])
    if by == AS_GIVEN:
        order[:] = best
    else:
        _within_budget(best, out, (below, budget, k), order)


@njit(nogil=True)
def _within_budget(best, out, params, order):
    """Once so many new items stand in the first k, further ones come after all others."""
    below, budget, k = params
    late = np.empty_like(best)
    used, held, fresh = 0, 0, 0.0
    for i in best:
        if out[i, IMPRESSIONS] < below:
            if fresh >= budget:
                late[held] = i
                held += 1
                continue
            if used < k:
                fresh += 1.0
        order[used] = i
        used += 1
    for i in range(held):
        order[used + i] = late[i]


@njit(nogil=True)
def tally(counts, rows, cells, looks, weights):
    """Add to counts, row by row: cells are positions from 1, how often each was shown, and clicked."""
    for i in range(len(rows)):
        place = cells[0, i] - 1
        if place >= len(looks):  # beyond the curve: nobody looks there
            continue
        row, shown, clicked = rows[i], cells[1, i], cells[2, i]
        counts[row, SHOWN] += shown
        counts[row, EXPOSURE] += shown * looks[place]
        counts[row, CLICKS] += clicked
        counts[row, WEIGHTED] += clicked * weights[place]
