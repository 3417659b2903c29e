"""All queries that a policy names, bound a part at a time, and the ranking of each, looked up in microseconds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterrank.errors import InputError
from counterrank.ids import Codes, Ids
from counterrank.policy._coded import Coded
from counterrank.policy.base import BoundPolicy, Policy
from counterrank.records import dataclass
from counterrank.statistics.pairs import Pairs, sorted_once

_CELLS = 1 << 24  # places of rankings in one part: bounds the memory where queries differ in size


@dataclass(frozen=True)
class RankIndex:
    """The rankings of many queries, one after the other: that of `at[query]` = r is items[offsets[r]:offsets[r+1]]."""

    at: dict[str, int]
    offsets: list[int]
    items: pa.Array

    @classmethod
    def of(cls, policy: Policy, length: int | None) -> RankIndex:
        """The most likely rankings; empty where not all of them can be told."""
        names: list[str] = []
        sizes: list[Codes] = [np.zeros(1, np.int64)]
        items: list[pa.Array] = []
        try:
            for bound in bound_parts(policy, length):
                best = bound.best(np.arange(len(bound.pairs.query_ids)))
                shown = best >= 0
                names += bound.pairs.query_ids.texts.to_pylist()
                sizes.append(shown.sum(axis=1))
                items.append(bound.pairs.item_ids.texts.take(pa.array(bound.pairs.items[best[shown]])))
        except InputError:  # of some query: each is told apart, when it is asked for
            return cls({}, [0], pa.array([], pa.string()))
        flat = pa.concat_arrays(items) if items else pa.array([], pa.string())
        return cls({name: r for r, name in enumerate(names)}, np.concatenate(sizes).cumsum().tolist(), flat)

    def get(self, query: str) -> list[str] | None:
        """The ranking of a query, or None."""
        row = self.at.get(query)
        if row is None:
            return None
        first = self.offsets[row]
        found: list[str] = self.items.slice(first, self.offsets[row + 1] - first).to_pylist()
        return found


def bound_parts(policy: Policy, length: int | None = None) -> Iterator[BoundPolicy]:
    """The policy on all queries that it has and names items for, a part at a time; items are in text order."""
    if length is not None and length < 1:
        raise InputError(f"length is {length}, but a ranking has at least one item: give 1 or more")
    named, shown = policy.items()
    known = policy.queries()
    if known is not None:
        had = pc.is_in(named, value_set=known)
        named, shown = named.filter(had), shown.filter(had)
    if len(named) == 0:
        return
    queries, items = Coded.of(named, "query"), Coded.of(shown, "item")
    order = pc.sort_indices(items.texts).to_numpy()
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    keys = sorted_once((queries.codes << 32) | place[items.codes])
    query, item = keys >> 32, keys & 0xFFFFFFFF
    texts = items.texts.take(pa.array(order))
    size = np.bincount(query, minlength=len(queries.texts))
    cut = size if length is None else np.minimum(size, length)
    for some in _parts(cut):
        local = np.full(len(size), -1, dtype=np.int64)
        local[some] = np.arange(len(some))
        rows = np.flatnonzero(local[query] >= 0)
        ids, positions = Ids(queries.texts.take(pa.array(some))), int(cut[some].max())
        yield policy.bind(Pairs.build(ids, Ids(texts), local[query[rows]], item[rows], cut[some], positions))


def _parts(sizes: Codes) -> Iterator[Codes]:
    """Queries in parts, each with no more than so many cells when all its rows are as wide as the widest."""
    order = np.argsort(sizes, kind="stable")
    if len(sizes) * int(sizes.max()) <= _CELLS:
        yield np.arange(len(sizes))
        return
    edges, first = [0], 0
    wide = sizes[order]
    while first < len(order):
        count = np.arange(1, len(order) - first + 1)
        stop = first + max(int(np.searchsorted(count * wide[first:], _CELLS, side="right")), 1)
        edges.append(stop)
        first = stop
    for low, high in pairwise(edges):
        yield np.sort(order[low:high])
