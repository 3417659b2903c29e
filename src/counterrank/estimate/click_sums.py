"""What estimators that weigh single clicks do with every cell: compiled, each in one walk over the cells."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from counterrank.compiled import njit


@njit(nogil=True)
def worth(positions, shown, clicked, weight, over, theta, out, credit, mass):
    """What the clicks of each cell are worth, weighed; by position Σ of that and of the weights of all that is shown.

    Gives how much that is shown has a weight that was clipped, as `over` tells of each cell.
    """
    clipped = 0.0
    for c in range(len(out)):
        k = positions[c]
        out[c] = weight[c] * theta[k] * clicked[c]
        credit[k] += out[c]
        mass[k] += weight[c] * shown[c]
        if over[c]:
            clipped += shown[c]
    return clipped


@njit(nogil=True)
def spread_out(starts, weight, clipped):
    """What each pair has, for each of its cells, which begin at `starts`."""
    size = starts[len(starts) - 1] - starts[0]
    weights, flags = np.empty(size), np.empty(size, dtype=np.bool_)
    at = 0
    for p in range(len(weight)):
        for _ in range(starts[p + 1] - starts[p]):
            weights[at], flags[at] = weight[p], clipped[p]
            at += 1
    return weights, flags


@njit(nogil=True)
def looked(starts, positions, attraction, looks, out):
    """The attraction of each pair times the looks of each of its cells; those of pair p begin at starts[p]."""
    for p in range(len(attraction)):
        for c in range(starts[p] - starts[0], starts[p + 1] - starts[0]):
            out[c] = attraction[p] * looks[positions[c]]


@njit(nogil=True)
def rates(positions, shown, clicked, theta, out):
    """The click rate of each cell, times θ; 0 where nothing was shown."""
    for c in range(len(out)):
        out[c] = clicked[c] / shown[c] * theta[positions[c]] if shown[c] > 0 else 0.0


@njit(nogil=True)
def variances(positions, shown, clicked, alone, squares, out):
    """The variance of each rate times θ², which `squares` has by position, `alone` being that of a cell shown once."""
    for c in range(len(out)):
        n, k = shown[c], positions[c]
        if n > 1:
            rate = clicked[c] / n
            out[c] = n * rate * (1 - rate) / (n - 1) * squares[k]
        else:
            out[c] = alone[k] * squares[k] if n == 1 else 0.0


@njit(nogil=True)
def by_pair(starts, positions, shown, clicked, theta, looks, out):
    """Six sums of each pair, see `pbm.PairSums`."""
    for p in range(out.shape[1]):
        for c in range(starts[p], starts[p + 1]):
            k, n, hits = positions[c], shown[c], clicked[c]
            out[0, p] += n
            out[1, p] += n * looks[k]
            out[2, p] += n * looks[k] ** 2
            out[3, p] += hits * theta[k]
            out[4, p] += hits * (theta[k] * looks[k])
            out[5, p] += hits * theta[k] ** 2


@njit(nogil=True)
def reach(starts, positions, values, ends, least, most):
    """Σ over positions of the least and of the largest of 0 and the values of a query's cells there.

    `ends` has room for those of a query, (2, K), and is 0 before and after.
    """
    for q in range(len(least)):
        for c in range(starts[q], starts[q + 1]):
            k = positions[c]
            ends[0, k], ends[1, k] = min(ends[0, k], values[c]), max(ends[1, k], values[c])
        for k in range(ends.shape[1]):
            least[q] += ends[0, k]
            most[q] += ends[1, k]
            ends[0, k], ends[1, k] = 0.0, 0.0


@njit(nogil=True)
def removed(starts, positions, shown, weight, moves, gain, centre, expected, put_back):
    """Turn what is expected of each cell into what is taken out of its impressions' influence, and sum it by query.

    starts: where the cells of each query begin. A cell whose weight does not move has none taken out; `moves` may be
    one for all. What is taken from each reward, `centre`, is put in by the weight.
    """
    for q in range(len(put_back)):
        for c in range(starts[q], starts[q + 1]):
            k = positions[c]
            by = gain[k] * weight[c]
            out = (expected[c] - centre[k]) * by if moves[c if len(moves) > 1 else 0] else 0.0
            put_back[q] += out * shown[c]
            expected[c] = out + (by - 1.0) * centre[k] if centre[k] != 0.0 else out
