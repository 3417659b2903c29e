"""The pseudoinverse under uniform logging, in closed form: no matrix.

For rankings of L of m items, Γ is 1/m on its diagonal and 1/(m(m−1)) for two items at two positions. With T = Σq,
C_j = Σ_a q(a, j) and R_a = Σ_j q(a, j), proposition 4 of swaminathan2017 reads

    L < m: Γ†q (a, j) = (1/L² − (m−1)/(m(m−L)))·T + (m−1)·q(a, j) − (m−1)/m·C_j + (m−1)/(m−L)·R_a,
    L = m: Γ†q (a, j) = T/m + (m−1)·q(a, j) − (m−1)/m·(C_j + R_a).
"""

from __future__ import annotations

import numpy as np

from counterrank.statistics.pairs import Table


def solved(q: Table) -> Table:
    """Γ†q on the m candidates and L positions of q, (m, L).

    >>> solved(np.array([[1.0], [0.0], [0.0], [0.0]])).ravel().tolist()  # one position: 1 / (1/m)
    [4.0, 0.0, 0.0, 0.0]
    """
    m, length = q.shape
    total, at, of = q.sum(), q.sum(axis=0), q.sum(axis=1)[:, None]
    if length == m:
        return np.asarray(total / m + (m - 1) * q - (m - 1) / m * (at + of))
    first = 1 / length**2 - (m - 1) / (m * (m - length))
    return np.asarray(first * total + (m - 1) * q - (m - 1) / m * at + (m - 1) / (m - length) * of)


def times(u: Table) -> Table:
    """Γu, likewise."""
    m = len(u)
    if m == 1:
        return u.copy()
    return np.asarray(u / m + (u.sum() - u.sum(axis=0) - u.sum(axis=1)[:, None] + u) / (m * (m - 1)))
