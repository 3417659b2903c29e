"""Sums over groups of rankings, in one walk: compiled, since a log may have as many groups as rows."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from counterrank.compiled import njit

ROWS = 13  # those of `ListSums`: credit, mass, mass2; free credit, mass, within; five of held; thin; and Σ w² of groups
# with one impression, whose variance nobody can tell
POOLED = 4  # Σ(F2 − F²/n) and Σ(n − 1) over the target's rankings; impressions that logging never shows, and clipped


@njit(nogil=True)
def add_rankings(queries, n, f, f2, h, pi, w, over, estimated, total, most, pooled):
    """Add groups to `total`, (Q, ROWS), `most`, the largest weight of each query, and `pooled`."""
    for g in range(len(queries)):
        q, weight, size = queries[g], w[g], n[g]
        row = total[q]
        most[q] = max(most[q], weight)
        within = max(f2[g] - f[g] ** 2 / size, 0.0)
        if h[g] > 0:
            pooled[0] += within
            pooled[1] += size - 1
            if pi[g] <= 0:
                pooled[2] += size
        if over[g]:
            pooled[3] += size
        row[0] += weight * f[g]
        row[1] += weight * size
        row[2] += weight**2 * size
        if estimated and not over[g]:
            row[3] += weight * f[g]
            row[4] += weight * size
            row[5] += weight**2 * within
            if size == 1:
                row[12] += weight**2
            elif size > 1:
                row[11] += weight**2 * within / (size - 1)
        else:
            row[6] += weight * f[g]
            row[7] += weight * size
            row[8] += weight**2 * size
            row[9] += weight**2 * f[g]
            row[10] += weight**2 * f2[g]
