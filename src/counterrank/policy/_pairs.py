"""Pair marginals of one query: the chance that item a stands at j and item b at k."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.pairs import Pairs

DRAWS = 20  # rankings drawn per (item, position) where chances cannot be summed
LEAST_DRAWS = 4000


@dataclass(frozen=True)
class PairMarginals:
    """Γ = E[1_A 1_Aᵀ] of one query with m items and rankings of up to L places.

    Row and column a·L + j stand for the query's a-th item at position j + 1. `drawn` holds the rankings that stand for
    chances which could not be summed, as such numbers (N, L), each with the share of Γ that comes from them: an entry
    from N drawn rankings has a standard error of up to share / (2√N). Exact where it is empty.
    """

    matrix: NDArray[np.float64]
    drawn: tuple[tuple[float, Codes], ...] = ()


def places(pairs: Pairs, query: int) -> int:
    """How many positions the rankings of a query may have."""
    return int(min(pairs.lengths[query], pairs.positions))


def cells(pairs: Pairs, query: int, rankings: Codes) -> Codes:
    """Rankings (G, K) of one query as rows of its Γ, (G, L), -1 beyond a ranking's end."""
    length = places(pairs, query)
    rows = rankings[:, :length]
    return np.where(rows >= 0, (rows - pairs.starts[query]) * length + np.arange(length), -1)


def of_rankings(pairs: Pairs, query: int, rankings: Codes, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Γ of rankings with these probabilities."""
    size = int(pairs.sizes[query]) * places(pairs, query)
    out = np.zeros((size, size))
    _add(cells(pairs, query, rankings), np.asarray(weights, dtype=np.float64), out)
    return out


def spread(pairs: Pairs, query: int, rows: Codes, small: NDArray[np.float64]) -> NDArray[np.float64]:
    """Γ on the items of a query, from `small` on the candidates at `rows` of the pairs and as many places."""
    length, wide = places(pairs, query), small.shape[0] // max(len(rows), 1)
    size = int(pairs.sizes[query]) * length
    at = ((rows - pairs.starts[query])[:, None] * length + np.arange(wide)).ravel()
    out = np.zeros((size, size))
    out[np.ix_(at, at)] = small
    return out


def draws_for(size: int) -> int:
    """How many rankings to draw for a Γ of this size."""
    return max(LEAST_DRAWS, DRAWS * size)


@njit(nogil=True)
def _add(cells: Any, weights: Any, out: Any) -> None:  # pragma: no cover
    for g in range(len(cells)):
        for j in range(cells.shape[1]):
            if cells[g, j] >= 0:
                for k in range(cells.shape[1]):
                    if cells[g, k] >= 0:
                        out[cells[g, j], cells[g, k]] += weights[g]
