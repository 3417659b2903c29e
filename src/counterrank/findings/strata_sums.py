"""Sums over a sample in strata, page by page: compiled, since they are most of what a verdict takes."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from counterrank.compiled import njit


@njit(nogil=True)
def add_to_strata(cell, clicks, number, directions, sums):
    """Add to (2 + D, strata) sums: impressions, clicks, and directions, (D, G, K). Beyond a list's end cell is no
    stratum."""
    strata = sums.shape[1]
    for g in range(cell.shape[0]):
        for k in range(cell.shape[1]):
            c = cell[g, k]
            if c < strata:
                sums[0, c] += number[g]
                sums[1, c] += number[g] * clicks[g, k]
                for d in range(len(directions)):
                    sums[2 + d, c] += number[g] * directions[d, g, k]


@njit(nogil=True)
def add_up(cell, clicks, number, directions, rates, means, nothing):
    """Σ z·click, Σ z·z'·expected/n, and of each page Σ z·residual, (D, G), z being n·(f − the stratum's mean).

    `rates`: (2, strata) click rates, and what residuals are made longer by. A gap up to `nothing` is 0.
    """
    size, strata = len(directions), rates.shape[1]
    total, information = np.zeros(size), np.zeros((size, size))
    page, z = np.zeros((size, len(cell))), np.empty(size)
    for g in range(cell.shape[0]):
        if number[g] <= 0:
            continue
        for k in range(cell.shape[1]):
            c = cell[g, k]
            if c >= strata:
                continue
            residual = (clicks[g, k] - rates[0, c]) * rates[1, c]
            for d in range(size):
                gap = directions[d, g, k] - means[d, c]
                z[d] = gap * number[g] if abs(gap) > nothing[d] else 0.0
                total[d] += z[d] * clicks[g, k]
                page[d, g] += z[d] * residual
                for e in range(d + 1):
                    information[d, e] += z[d] * z[e] * rates[0, c] / number[g]
    for d in range(size):
        for e in range(d):
            information[e, d] = information[d, e]
    return total, information, page
