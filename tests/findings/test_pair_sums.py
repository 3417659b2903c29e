"""The misfit of click models, pair by pair, against the matrices of its definition."""

from __future__ import annotations

import numpy as np
import pytest

from counterrank.findings.pair_sums import add_misfits
from counterrank.statistics.cells import Cells

ENOUGH = 5.0


def by_definition(shown: np.ndarray, clicked: np.ndarray, curve: np.ndarray) -> tuple:
    """Σd, Σ(I − π1ᵀ)·D·(I − 1πᵀ), and Pearson's sums of cells."""
    depth = len(curve)
    gap, variance, of_cells = np.zeros(depth), np.zeros((depth, depth)), np.zeros(4)
    for n, hits in zip(shown, clicked, strict=True):
        used = (curve > 0) & (n > 0)
        n, hits = np.where(used, n, 0), np.where(used, hits, 0)
        if used.sum() < 2 or not hits.any():
            continue
        total, exposure = hits.sum(), n * curve
        share = exposure / exposure.sum()
        gap += hits - total * share
        d = np.diag(np.maximum(share * (total - curve * total * (total - 1) / exposure.sum()), 0.0))
        ones = np.ones((depth, 1))
        centre = np.eye(depth) - share[:, None] @ ones.T
        variance += centre @ d @ centre.T
        thick = used
        for _ in range(2):
            seen = (exposure * thick).sum()
            expected = (hits * thick).sum() / seen * exposure * thick if seen else 0.0 * exposure
            thick = (expected >= ENOUGH) & (n - expected >= ENOUGH)
            thick = thick & (thick.sum() > 1)
        if thick.any():
            expected = (hits * thick).sum() / (exposure * thick).sum() * exposure
            kept = thick & (expected > 0) & (expected < n)
            off = (hits[kept] - expected[kept]) ** 2 / (expected[kept] * (1 - expected[kept] / n[kept]))
            of_cells += [off.sum(), expected[kept].sum(), kept.sum(), kept.any()]
    return gap, variance, of_cells


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("largest", [3, 60])
def test_sums_are_those_of_the_definition(seed: int, largest: int) -> None:
    rng = np.random.default_rng(seed)
    curve = np.array([1.0, 0.7, 0.0, 0.4, 0.9])
    shown = rng.integers(0, largest, (40, 5)) * (rng.random((40, 5)) < 0.8)
    clicked = rng.binomial(shown, np.clip(rng.random((40, 1)) * curve * 0.8, 0, 1))
    cells, (n, hits) = Cells.of_tables(shown, clicked)
    gap, variance, of_cells = np.zeros(5), np.zeros((5, 5)), np.zeros(4)
    add_misfits(cells.starts, cells.positions, n, hits, curve, ENOUGH, gap, variance, of_cells)
    for found, expected in zip((gap, variance, of_cells), by_definition(shown, clicked, curve), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    if largest > 3:
        assert of_cells[2] > 20
