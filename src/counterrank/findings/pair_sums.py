"""How far the clicks of pairs lie from what a curve expects, pair by pair: what `click_model` tests."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from counterrank.compiled import njit


@njit(nogil=True)
def add_misfits(starts, positions, shown, clicked, curve, enough, gap, variance, of_cells):
    """Of pairs that were clicked and stand at two positions or more where the curve is open: add by position Σd, (K,),
    and its variance, (K, K); and of cells Pearson's sum, clicks expected, cells, and pairs that have such."""
    depth = len(curve)
    at, kept = np.empty(depth, dtype=np.int64), np.empty(depth, dtype=np.bool_)
    share, own, exposure = np.empty(depth), np.empty(depth), np.empty(depth)
    for p in range(len(starts) - 1):
        size, clicks, whole = 0, 0.0, 0.0
        for c in range(starts[p], starts[p + 1]):
            if curve[positions[c]] > 0 and shown[c] > 0:
                at[size], kept[size] = c, True
                exposure[size] = shown[c] * curve[positions[c]]
                clicks += clicked[c]
                whole += exposure[size]
                size += 1
        if size < 2 or clicks == 0:
            continue
        total = 0.0
        for i in range(size):
            k = positions[at[i]]
            share[i] = exposure[i] / whole
            own[i] = max(share[i] * (clicks - curve[k] * clicks * (clicks - 1) / whole), 0.0)
            total += own[i]
            gap[k] += clicked[at[i]] - clicks * share[i]
            variance[k, k] += own[i]
        for i in range(size):
            for j in range(size):
                both = total * share[i] * share[j] - share[i] * own[j] - share[j] * own[i]
                variance[positions[at[i]], positions[at[j]]] += both
        for _ in range(2):  # cells that are too thin go, and what is left is fitted anew
            clicks, whole = _left(at, kept, size, clicked, exposure)
            thick = 0
            for i in range(size):
                expected = clicks / whole * exposure[i] if kept[i] and whole > 0 else 0.0
                kept[i] = expected >= enough and shown[at[i]] - expected >= enough
                thick += kept[i]
            if thick < 2:
                for i in range(size):
                    kept[i] = False
        clicks, whole = _left(at, kept, size, clicked, exposure)
        number = 0
        for i in range(size):
            n = float(shown[at[i]])
            expected = clicks / whole * exposure[i] if kept[i] and whole > 0 else 0.0
            if 0 < expected < n:
                of_cells[0] += (clicked[at[i]] - expected) ** 2 / (expected * (1 - expected / n))
                of_cells[1] += expected
                number += 1
        of_cells[2] += number
        of_cells[3] += number > 0


@njit(inline="always")
def _left(at, kept, size, clicked, exposure):
    """Clicks and exposure of the cells that are kept."""
    clicks, whole = 0.0, 0.0
    for i in range(size):
        if kept[i]:
            clicks += clicked[at[i]]
            whole += exposure[i]
    return clicks, whole
