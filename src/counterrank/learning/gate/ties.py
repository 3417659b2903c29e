"""What position weights items get that are sorted by score: those of one score share theirs (genspec2021, eq. 14)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes

Vector = NDArray[np.float64]
CLOSE = 1e-12  # relative: scores that are closer are equal but for rounding


def levelled(starts: Codes, scores: Vector) -> Vector:
    """Scores of which those that differ only by rounding are the same; scores of query q are starts[q]:starts[q+1].

    >>> levelled(np.array([0, 3]), np.array([15.000000000000002, 1.0, 15.0])).tolist()
    [15.000000000000002, 1.0, 15.000000000000002]
    """
    order, query, score = _sorted(starts, scores)
    new = np.r_[True, (query[1:] != query[:-1]) | (score[:-1] - score[1:] > CLOSE * np.abs(score[:-1]))][: len(order)]
    out = np.empty_like(score)
    out[order] = score[np.flatnonzero(new)[np.cumsum(new) - 1]]
    return out


def tied_weights(starts: Codes, scores: Vector, weights: Vector) -> Vector:
    """(P,) Σₖ λₖ·P(item at k) of a policy that is uniform over all rankings that respect the scores.

    A tied block has the mean of its position weights; a rank beyond the last weight weighs 0.

    >>> tied_weights(np.array([0, 3]), np.array([1.0, 2.0, 1.0]), np.array([1.0, 0.6, 0.4])).tolist()
    [0.5, 1.0, 0.5]
    """
    order, query, score = _sorted(starts, scores)
    new = np.r_[True, (query[1:] != query[:-1]) | (score[1:] != score[:-1])][: len(order)]
    heads = np.flatnonzero(new)
    ends, first = np.append(heads[1:], len(order)), np.asarray(starts)[query[heads]]
    upto = np.concatenate([[0.0], np.cumsum(weights)])
    low, high = (np.minimum(each - first, len(weights)) for each in (heads, ends))
    mean = np.where(ends - heads == 1, np.append(weights, 0.0)[low], (upto[high] - upto[low]) / (ends - heads))
    out = np.empty(len(order))
    out[order] = mean[np.cumsum(new) - 1]
    return out


def _sorted(starts: Codes, scores: Vector) -> tuple[Codes, Codes, Vector]:
    """The order by query and falling score, and both in that order."""
    queries = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort((-scores, queries))
    return order, queries[order], np.asarray(scores, dtype=np.float64)[order]
