"""The position-based likelihood with each attraction at its best: kernels over (pair × position) counts.

For given examination e the likelihood of one pair's attraction a is concave, with its top where
Σ_k clicked_k = Σ_k missed_k · a·e_k / (1 − a·e_k), or at a = 1. What remains is a function of the K numbers e alone,
concave in log e: its gradient and its curvature (a Schur complement) cost one pass over the counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterrank.compiled import njit


@njit()
def _best_attraction(clicks: float, missed: Any, examination: Any, start: float) -> float:
    """Newton inside a bracket: the equation's right side rises in a."""
    at_one = 0.0
    for k in range(len(missed)):
        if missed[k] > 0.0:
            at_one += np.inf if examination[k] >= 1.0 else missed[k] * examination[k] / (1.0 - examination[k])
    if at_one <= clicks:
        return 1.0
    low, high, a = 0.0, 1.0, start
    if not 0.0 < a < 1.0:
        a = 0.5
    for _ in range(100):
        right, slope = 0.0, 0.0
        for k in range(len(missed)):
            if missed[k] > 0.0:
                free = 1.0 - a * examination[k]
                right += missed[k] * a * examination[k] / free
                slope += missed[k] * examination[k] / (free * free)
        if right > clicks:
            high = a
        else:
            low = a
        new = a + (clicks - right) / slope
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - a) <= 1e-13 * a:
            return new
        a = new
    return a


@njit()
def maximise_attraction(clicked: Any, missed: Any, clicks: Any, examination: Any, attraction: Any) -> float:
    """Put the best attraction of every pair into `attraction` (read first, as the start); the log-likelihood there."""
    total = 0.0
    for p in range(len(clicks)):
        a = _best_attraction(clicks[p], missed[p], examination, attraction[p])
        attraction[p] = a
        part = 0.0
        for k in range(len(examination)):
            q = a * examination[k]
            if clicked[p, k] > 0.0:
                part += clicked[p, k] * np.log(q)
            if missed[p, k] > 0.0:
                part += missed[p, k] * np.log1p(-q)
        total += part
    return total


@njit()
def gradient_and_curvature(
    clicked: Any, missed: Any, examination: Any, attraction: Any, gradient: Any, curvature: Any, diagonal: Any
) -> None:
    """Of the profile log-likelihood in log e; `diagonal` is the curvature's before attraction is eliminated."""
    positions = len(examination)
    gradient[:] = 0.0
    curvature[:] = 0.0
    diagonal[:] = 0.0
    weight = np.empty(positions)
    for p in range(len(attraction)):
        total = 0.0
        for k in range(positions):
            q = attraction[p] * examination[k]
            weight[k] = 0.0
            gradient[k] += clicked[p, k]
            if missed[p, k] > 0.0:
                odds = missed[p, k] * q / (1.0 - q)
                gradient[k] -= odds
                weight[k] = odds / (1.0 - q)
                diagonal[k] += weight[k]
                total += weight[k]
        for j in range(positions):
            curvature[j, j] += weight[j]
            if attraction[p] < 1.0 and weight[j] > 0.0:  # an attraction held at 1 does not answer to e
                share = weight[j] / total
                for k in range(positions):
                    curvature[j, k] -= share * weight[k]


@njit()
def em_step(clicked: Any, missed: Any, examination: Any, attraction: Any, out: Any) -> None:
    """One expectation–maximisation step of the examination: the mean chance that the position was looked at."""
    shown = np.zeros(len(examination))
    out[:] = 0.0
    for p in range(len(attraction)):
        for k in range(len(examination)):
            shown[k] += clicked[p, k] + missed[p, k]
            out[k] += clicked[p, k]
            if missed[p, k] > 0.0:
                q = attraction[p] * examination[k]
                out[k] += missed[p, k] * examination[k] * (1.0 - attraction[p]) / (1.0 - q)
    out[:] /= shown
