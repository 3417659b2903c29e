"""Which items a learnt policy ranks for each query: those with features, or those of them that are candidates."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.errors import InputError, Unanswerable
from counterrank.ids import Codes, Ids
from counterrank.log.features import Features
from counterrank.optimizing.pi_opt.examples import Matrix
from counterrank.policy import Uniform
from counterrank.policy.product import BoundSlots
from counterrank.records import dataclass
from counterrank.statistics.order import in_order
from counterrank.statistics.pairs import Pairs


@dataclass(frozen=True)
class Ranked:
    """What is to be ranked. Queries and items come in the one order of ids."""

    pairs: Pairs  # `lengths` says how many positions each query's ranking fills
    features: Matrix  # (P, F)
    allowed: NDArray[np.bool_]  # (P, K) where an item may stand
    notes: list[str] = field(default_factory=list)


def plain_items(named: Uniform) -> tuple[pa.Array, pa.Array]:
    """Queries and items of candidates that may stand anywhere."""
    if named.placed:
        raise InputError(
            "the candidates have a column position, which only pi-opt heeds: leave it out, or use `by='pi-opt'`"
        )
    return named.items()


def ranked_items(features: Features, candidates: Any, positions: int, integer: tuple[bool, bool]) -> Ranked:
    """All items with features, cut to the candidates if given; `integer`: whether the log's queries and items are."""
    named = Uniform(candidates) if candidates is not None else None
    rows, notes = (np.arange(len(features)), list[str]()) if named is None else _candidates(features, named)
    query, item = features.query.take(pa.array(rows)), features.item.take(pa.array(rows))
    query_ids, item_ids = (
        in_order(Ids(ids.unique(), whole))[0] for ids, whole in zip((query, item), integer, strict=True)
    )
    of, what = query_ids.codes(query), item_ids.codes(item)
    lengths = np.minimum(np.bincount(of, minlength=len(query_ids)), positions)
    pairs = Pairs.build(query_ids, item_ids, of, what, lengths, positions)
    values = np.empty((len(pairs), features.values.shape[1]))
    values[pairs.find(of, what)] = features.values[rows]
    allowed = np.ones((len(pairs), positions), dtype=bool)
    if named is not None:
        pairs, allowed = _placed(named, pairs)
    return Ranked(pairs, values, allowed, notes)


def _candidates(features: Features, named: Uniform) -> tuple[Codes, list[str]]:
    """The rows of the features that are candidates, and what is left out."""
    query, item = named.items()
    query_ids, item_ids = Ids(features.query.unique()), Ids(features.item.unique())
    have = (query_ids.codes(features.query) << 32) | item_ids.codes(features.item)
    q, i = query_ids.codes(query), item_ids.codes(item)
    wanted = np.where((q >= 0) & (i >= 0), (q << 32) | i, -1)
    rows = np.flatnonzero(np.isin(have, wanted))
    if len(rows) == 0:
        raise Unanswerable(
            f"no candidate has features: the candidates begin with query {query[0].as_py()!r}, item "
            f"{item[0].as_py()!r}, the features with {features.query[0].as_py()!r}, {features.item[0].as_py()!r}: "
            "give features for the candidates"
        )
    notes = []
    bare = int((~np.isin(wanted, have)).sum())
    if bare:
        notes.append(f"{bare:,} of {len(query):,} candidates have no features: not ranked")
    left = len(query_ids) - len(np.unique(have[rows] >> 32))
    if left:
        notes.append(f"{left:,} of {len(query_ids):,} queries with features have no candidates: not ranked")
    return rows, notes


def _placed(named: Uniform, pairs: Pairs) -> tuple[Pairs, NDArray[np.bool_]]:
    """(P, K): where each item may stand. Candidates may have positions of their own; then rankings fill just these."""
    query, item = named.items()
    of = pairs.query_ids.codes(query)
    query, item, of = query.filter(pa.array(of >= 0)), item.filter(pa.array(of >= 0)), of[of >= 0]
    ids = Ids(item.unique())
    deep = np.full(len(pairs.query_ids), pairs.positions)
    every = Pairs.build(pairs.query_ids, ids, of, ids.codes(item), deep, pairs.positions)
    bound = named.bind(every)
    if not isinstance(bound, BoundSlots):
        return pairs, np.ones((len(pairs), pairs.positions), dtype=bool)
    rows = every.find(pairs.queries, ids.codes(pairs.item_ids.texts)[pairs.items])
    allowed = bound.position_of[rows][:, None] == np.arange(pairs.positions)
    filled = np.zeros((len(pairs.query_ids), pairs.positions), dtype=bool)
    np.logical_or.at(filled, pairs.queries, allowed)
    holes = np.arange(pairs.positions) < bound.shown[:, None]
    holes &= ~filled  # would shift all below them
    if holes.any():
        q, k = np.argwhere(holes)[0]
        raise Unanswerable(
            f"query {pairs.query_ids.texts[int(q)].as_py()!r} has no candidate with features for position {k + 1}: "
            "give features for its items"
        )
    return replace(pairs, lengths=bound.shown), np.asarray(allowed)
