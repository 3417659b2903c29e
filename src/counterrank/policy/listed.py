"""All rankings of a policy, as the rows of a plain policy file."""

from __future__ import annotations

from dataclasses import field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.policy._index import bound_parts
from counterrank.policy.base import BoundPolicy, Policy
from counterrank.records import dataclass

SURE = 1e-9  # a ranking this close to probability 1 is the only one


@dataclass(frozen=True)
class Listed:
    """Rows of query, items and probability, which sums to 1 per query; `unlisted`: queries with too many rankings."""

    rows: pa.Table
    queries: int
    unlisted: int
    notes: list[str] = field(default_factory=list)


def list_rankings(policy: Policy, top: int | None = None, *, best: bool = False) -> Listed:
    """Every ranking with its probability; only the likeliest, as if sure, with `best` or where they are too many.

    >>> from counterrank.policy.table import Table
    >>> list_rankings(Table(["q", "q"], [["a", "b"], ["b"]], [0.25, 0.75])).rows["probability"].to_pylist()
    [0.75, 0.25]
    """
    tables, unlisted = [], 0
    for bound in bound_parts(policy, top):
        sure, queries, rankings, chances = _listed(bound, best)
        unlisted += 0 if best else int((~sure).sum())
        tables.append(_rows(bound, queries, rankings, chances))
    if not tables:
        raise InputError(f"{policy!r} names no items to rank: give candidates, features or rankings")
    rows = pa.concat_tables(tables)
    why = "have more rankings than can be listed: the likeliest one stands for all of them"
    notes = [f"{unlisted:,} queries {why}"] if unlisted else []
    return Listed(rows, len(rows["query"].unique()), unlisted, notes)


def _listed(bound: BoundPolicy, best: bool) -> tuple[NDArray[np.bool_], Codes, Codes, NDArray[np.float64]]:
    """Which queries are listed whole, and their rankings by query, the likeliest first."""
    every = np.arange(len(bound.pairs.query_ids))
    likeliest = bound.best(every)
    sure = bound.probability(every, likeliest) > 1 - SURE
    listed = None if best or sure.all() else bound.support()
    if listed is None:
        return sure, every, likeliest, np.ones(len(every))
    queries, rankings, chances = listed
    order = np.lexsort((-chances, queries))
    chances = chances / np.bincount(queries, chances)[queries]
    return np.ones(len(every), dtype=bool), queries[order], rankings[order], chances[order]


def _rows(bound: BoundPolicy, queries: Codes, rankings: Codes, chances: NDArray[np.float64]) -> pa.Table:
    pairs, shown = bound.pairs, rankings >= 0
    offsets = pa.array(np.concatenate([[0], np.cumsum(shown.sum(axis=1))]), pa.int32())
    items = pairs.item_ids.texts.take(pa.array(pairs.items[rankings[shown]]))
    lists = pa.ListArray.from_arrays(offsets, items)
    query = pairs.query_ids.texts.take(pa.array(queries))
    return pa.table({"query": query, "items": lists, "probability": pa.array(chances)})
