"""Factors of a positive semidefinite matrix, beside NumPy's pseudoinverse."""

from __future__ import annotations

import numpy as np
import pytest

from counterrank.estimate.pseudoinverse.factored import dependent, factor, solved


@pytest.mark.parametrize("seed", range(20))
def test_pseudoinverse_times_a_vector(seed: int) -> None:
    """Rankings as rows of 0 and 1, some of them sums of others: the matrix of their overlaps is singular."""
    rng = np.random.default_rng(seed)
    size, items, positions = int(rng.integers(1, 30)), int(rng.integers(2, 6)), int(rng.integers(1, 4))
    shown = np.zeros((size, positions, items))
    for row in shown:
        row[np.arange(positions), rng.integers(0, items, positions)] = rng.uniform(0.5, 2)
    rows = shown.reshape(size, -1)
    gram = rows @ rows.T
    factors, free = gram[np.tril_indices(size)], np.zeros(size, dtype=bool)
    rank = factor(factors, size, free)
    assert rank == np.linalg.matrix_rank(gram)
    assert free.sum() == size - rank
    null = dependent(factors, rank, free)
    np.testing.assert_allclose(null @ null.T, np.eye(size - rank), atol=1e-12)
    np.testing.assert_allclose(gram @ null.T, 0.0, atol=1e-9)
    given = rng.normal(size=size)
    out, explained = np.empty(size), np.empty(size)
    solved(factors, free, null, given, out, explained)
    inverse = np.linalg.pinv(gram, rcond=1e-10, hermitian=True)
    np.testing.assert_allclose(out, inverse @ given, atol=1e-8)
    np.testing.assert_allclose(explained, gram @ inverse @ given, atol=1e-8)


def test_doubtful_pivots_are_told() -> None:
    """Nearly the same twice: whether the second depends on the first, eigenvalues must say."""
    nearly = np.array([1.0, 1.0, 1.0 + 1e-9])  # packed
    assert factor(nearly, 2, np.zeros(2, dtype=bool)) == -1
