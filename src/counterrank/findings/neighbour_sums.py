"""Clicks of a pair by the pair that stands next to it, stratum by stratum: compiled, as the sums of strata are."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from counterrank.compiled import njit

# of a pair and one neighbour, over all positions: clicks less those to be expected, their variance, impressions, and
# the clicks to be expected
GAP, SPREAD, SEEN, EXPECTED = 0, 1, 2, 3


@njit(nogil=True)
def by_stratum(rows, cell, step, strata):
    """Where each stratum begins among the (ranking, position) that have a pair `step` further down, and which they
    are: ranking·K + position."""
    groups, positions = rows.shape
    starts = np.zeros(strata + 1, dtype=np.int64)
    first, last = max(0, -step), min(positions, positions - step)
    for g in range(groups):
        for k in range(first, last):
            if rows[g, k] >= 0 and rows[g, k + step] >= 0:
                starts[cell[g, k] + 1] += 1
    for c in range(strata):
        starts[c + 1] += starts[c]
    order, ends = np.empty(starts[strata], dtype=np.int64), starts[:strata].copy()
    for g in range(groups):
        for k in range(first, last):
            if rows[g, k] >= 0 and rows[g, k + step] >= 0:
                order[ends[cell[g, k]]] = g * positions + k
                ends[cell[g, k]] += 1
    return starts, order


@njit(nogil=True)
def neighbour_sums(rows, clicks, number, cell, step, pair, shown, clicked):
    """Σ gap², Σ spread, 2·Σ spread²·m/(m − 1) and Σ expected² over all pairs and neighbours, a pair having m of these.

    `pair` is that of each stratum, by which strata are in order; `shown` and `clicked` are of strata.
    """
    strata, positions = len(shown), rows.shape[1]
    starts, order = by_stratum(rows, cell, step, strata)
    size = 1
    for g in range(rows.shape[0]):
        for k in range(positions):
            size = max(size, rows[g, k] + 1)
    room = min(size, len(order))
    here, of_pair = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)  # numbers of neighbours, plus one
    who, whom = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    n, hits, sums, found = np.empty(room), np.empty(room), np.empty((room, 4)), np.zeros(4)
    many = 0
    for c in range(strata):
        some = 0
        for i in range(starts[c], starts[c + 1]):
            g, k = order[i] // positions, order[i] % positions
            beside = rows[g, k + step]
            if here[beside] == 0:
                who[some], n[some], hits[some] = beside, 0.0, 0.0
                some += 1
                here[beside] = some
            n[here[beside] - 1] += number[g]
            hits[here[beside] - 1] += number[g] * clicks[g, k]
        whole, rate = shown[c], clicked[c] / shown[c] if shown[c] > 0 else 0.0
        for i in range(some):
            here[who[i]] = 0
            if of_pair[who[i]] == 0:
                whom[many], sums[many, :] = who[i], 0.0
                many += 1
                of_pair[who[i]] = many
            at = of_pair[who[i]] - 1
            sums[at, GAP] += hits[i] - n[i] * rate
            sums[at, SPREAD] += n[i] * (whole - n[i]) * rate * (1.0 - rate) / max(whole - 1.0, 1.0)
            sums[at, SEEN] += n[i]
            sums[at, EXPECTED] += n[i] * rate
        if c + 1 == strata or pair[c + 1] != pair[c]:
            add_pair(sums[:many], found)
            for i in range(many):
                of_pair[whom[i]] = 0
            many = 0
    return found


@njit(nogil=True)
def add_pair(sums, found):
    """A pair's m deviations sum to 0, which makes the variance of their squares m/(m − 1) times as large; of neighbours
    that come unequally often, m is how many there would be if all came as often."""
    seen = squares = 0.0
    for i in range(len(sums)):
        seen += sums[i, SEEN]
        squares += sums[i, SEEN] ** 2
    alike = seen**2 / squares if squares > 0 else 1.0
    factor = alike / (alike - 1) if alike > 1.001 else 1e3
    for i in range(len(sums)):
        found[0] += sums[i, GAP] ** 2
        found[1] += sums[i, SPREAD]
        found[2] += 2 * sums[i, SPREAD] ** 2 * factor
        found[3] += sums[i, EXPECTED] ** 2
