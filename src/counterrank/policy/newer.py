"""Items newer than a table of scores: they stand where another policy puts them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterrank.ids import Codes, Ids
from counterrank.policy.base import Policy
from counterrank.policy.scores import Scores
from counterrank.statistics.order import in_order
from counterrank.statistics.pairs import Pairs, sum_by


def with_newer(scores: Scores, acting: pa.Array, elsewhere: Policy) -> tuple[Scores, int, int]:
    """The scores with the items of `acting` queries that only `elsewhere` names; how many they are, and of how many.

    An item is put below as many of the scored items as stand above it elsewhere, on average over its rankings; never
    between items of one score. The new scores only keep the order.
    """
    queries, items = elsewhere.items()
    mine = pc.is_in(queries, value_set=acting)
    queries, items = queries.filter(mine), items.filter(mine)
    if not len(queries):
        return scores, 0, 0
    own_queries, own_items = scores.items()
    value = np.asarray(scores.rows()["score"].to_numpy(), dtype=np.float64)
    query_ids = Ids(pc.unique(queries))
    item_ids = in_order(Ids(pa.concat_arrays([own_items, items]).unique()))[0]
    of = query_ids.codes(own_queries)
    kept = np.flatnonzero(of >= 0)
    of, value_of = of[kept], value[kept]
    what = item_ids.codes(own_items.take(pa.array(kept)))
    theirs = query_ids.codes(queries), item_ids.codes(items)
    pairs = _pairs(query_ids, item_ids, np.concatenate([of, theirs[0]]), np.concatenate([what, theirs[1]]))
    rows = pairs.find(of, what)
    scored = np.zeros(len(pairs), dtype=bool)
    scored[rows] = True
    newer = np.flatnonzero(~scored)
    if not len(newer):
        return scores, 0, 0
    worth = np.zeros(len(pairs))
    worth[rows] = value_of
    key = _keys(pairs, scored, worth, elsewhere.bind(pairs).exposure(np.arange(1.0, pairs.positions + 1)))
    touched = np.zeros(len(query_ids), dtype=bool)
    touched[pairs.queries[newer]] = True
    again = np.flatnonzero(touched[pairs.queries])
    rest = np.ones(len(value), dtype=bool)
    rest[kept[touched[of]]] = False
    left = pa.array(np.flatnonzero(rest))
    made = Scores(
        pa.concat_arrays([own_queries.take(left), query_ids.texts.take(pa.array(pairs.queries[again]))]),
        pa.concat_arrays([own_items.take(left), item_ids.texts.take(pa.array(pairs.items[again]))]),
        np.concatenate([value[rest], -key[again]]),
    )
    return made, len(newer), int(touched.sum())


def _pairs(query_ids: Ids, item_ids: Ids, queries: Codes, items: Codes) -> Pairs:
    sizes = Pairs.build(query_ids, item_ids, queries, items, np.zeros(len(query_ids), np.int64), 1).sizes
    return Pairs.build(query_ids, item_ids, queries, items, sizes, int(sizes.max(initial=1)))


def _keys(pairs: Pairs, scored: np.ndarray, worth: np.ndarray, place: np.ndarray) -> np.ndarray:
    """(P,) what to sort by, lowest first: scored items by their rank, ties as the first of them; newer ones between."""
    query, size = pairs.queries, len(pairs.query_ids)
    known = np.flatnonzero(scored)
    order = known[np.lexsort((-worth[known], query[known]))]
    starts = np.concatenate([[0], np.cumsum(sum_by(query[known], np.ones(len(known)), size))]).astype(np.int64)
    new = np.ones(len(order), dtype=bool)
    new[1:] = (worth[order][1:] != worth[order][:-1]) | (query[order][1:] != query[order][:-1])
    heads = np.flatnonzero(new)
    block = np.cumsum(new) - 1
    ends = np.append(heads[1:], len(order))
    key = np.zeros(len(pairs))
    key[order] = heads[block] - starts[query[order]]
    newer = np.flatnonzero(~scored)
    above = _above(query, place, known[place[known] > 0], newer)
    above = np.minimum(above, np.diff(starts)[query[newer]])
    at = starts[query[newer]] + above - 1
    last = np.where(above > 0, ends[block[np.maximum(at, 0)]] - starts[query[newer]], 0) if len(order) else above
    turn = np.empty(len(newer))
    turn[np.lexsort((place[newer], query[newer]))] = np.arange(len(newer))
    key[newer] = last - 0.5 + 0.4 * (turn + 1) / (len(newer) + 1)
    return key


def _above(query: np.ndarray, place: np.ndarray, known: np.ndarray, newer: np.ndarray) -> np.ndarray:
    """How many of the known items of its query stand above each newer one, by their mean places."""
    both = np.concatenate([known, newer])
    fresh = np.concatenate([np.zeros(len(known)), np.ones(len(newer))])
    order = np.lexsort((fresh, place[both], query[both]))
    old = fresh[order] == 0
    before = np.cumsum(old)
    first = np.searchsorted(query[both][order], query[both][order], side="left")
    count = before - (before[first] - old[first])
    out = np.empty(len(both))
    out[order] = count
    return out[len(known) :].astype(np.int64)
