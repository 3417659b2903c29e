"""What a list is worth under each click model, and the best list for given attractions (cief2024, eqs. 3 to 5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.click import Scope
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.pairs import Pairs

Vector = NDArray[np.float64]
Table = NDArray[np.float64]


@dataclass(frozen=True)
class ListWorth:
    """A click model as `optimize` uses it: which fit, what a position is worth, and how positions add up."""

    fit: str  # a name of click.FITS
    scope: Scope  # whose position parameters: each query's own, or those of the whole log
    heights: Callable[[Any], Table]  # (K,) or (Q, K) of a fitted model; () the same everywhere
    additive: bool  # Σ height·θ; else 1 − Π(1 − height·θ)
    meaning: str
    caution: str = ""


CLICK_WORTHS: dict[str, ListWorth] = {
    "cm": ListWorth("cm", "query", lambda model: np.ones(()), False, "the chance of a click"),
    "dcm": ListWorth(
        "dcm", "query", lambda model: 1 - model.continuation, False, "the chance of a click that ends the search",
        "looks are counted down to the last click, as in cief2024: pages are read further than that, so attractions "
        "come out too high and bounds hold less often than they say; dcm-ml counts looks by maximum likelihood",
    ),
    "dcm-ml": ListWorth(
        "dcm-ml", "query", lambda model: 1 - model.continuation, False, "the chance of a click that ends the search"
    ),
    "pbm": ListWorth(
        "pbm", "pooled", lambda model: model.examination, True, "expected clicks",
        "looks are the number of certain looks that would tell as much, given one examination curve for the whole log",
    ),
    "pbm-paper": ListWorth(
        "pbm-paper", "query", lambda model: model.examination, True, "expected clicks",
        "looks and clicks are weighed by click rates of positions (cief2024, eqs. 13 and 14): attractions come out "
        "too low",
    ),
}  # fmt: skip


def best_lists(
    lower: Vector, allowed: NDArray[np.bool_], pairs: Pairs, heights: Table, lengths: Codes, logged: Codes | None = None
) -> Codes:
    """(Q, K) rows: the lengths[q] items with the highest bounds, the k-th of them at the k-th highest position.

    That is the best list for all three values: exchanging two items never helps. A bound of NaN is below all others.
    Equal bounds: the item that comes first in `logged`, (P,) its place in the logged order; equal heights: the first
    position.
    """
    size, positions = len(lengths), max(int(lengths.max(initial=0)), 1)
    level, queries = np.where(np.isnan(lower), np.inf, -lower), pairs.queries
    place = np.arange(len(level)) if logged is None else logged
    order = np.lexsort((place, level, ~allowed, queries))  # by query, as the pairs are
    rank = np.arange(len(order)) - pairs.starts[queries]
    taken = allowed[order] & (rank < lengths[queries])
    inside = np.arange(positions) < lengths[:, None]
    places = np.argsort(np.where(inside, -wide(heights, size, positions), np.inf), axis=1, kind="stable")
    out = np.full((size, positions), -1, dtype=np.int64)
    query = queries[taken]
    out[query, places[query, rank[taken]]] = order[taken]
    return out


def wide(heights: Table, size: int, positions: int) -> Table:
    """(size, positions): heights of each query; 0 beyond the last position that is known."""
    if heights.ndim == 0:  # the same everywhere
        return np.broadcast_to(heights, (size, positions))
    known = np.atleast_2d(heights)[:, :positions]
    filled = np.pad(known, ((0, 0), (0, positions - known.shape[1])))
    return np.broadcast_to(filled, (size, positions))


def value_of(rows: Codes, attraction: Vector, heights: Table, additive: bool) -> Vector:
    """(Q,): eqs. 3 to 5. Attractions are clipped into [0, 1]; one that is NaN counts as 0, which is a lower bound."""
    theta = np.append(np.clip(np.nan_to_num(attraction), 0.0, 1.0), 0.0)[rows]
    part = theta * wide(heights, len(rows), rows.shape[1])
    return np.asarray(part.sum(axis=1) if additive else 1 - np.prod(1 - part, axis=1))
