"""The one order in which ids, rankings and patterns stand, whatever the order of a log's rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes, Ids
from counterrank.statistics.hashing import mix

_SHORT = r"^(?:0|-?[1-9][0-9]{0,17})$"  # surely a 64-bit integer
_WHOLE = r"^(?:0|-?[1-9][0-9]{0,37})$"
_QUERY_BITS = 24


def id_order(texts: pa.Array) -> Codes:
    """Where each id of the one order stands in `texts`: whole numbers by size, then the others by their text.

    >>> id_order(pa.array(["b", "10", "9", "a", "-1", "007"])).tolist()
    [4, 2, 1, 5, 3, 0]
    """
    if len(texts) < 2:
        return np.arange(len(texts))
    if pc.all(pc.match_substring_regex(texts, _SHORT)).as_py():
        return np.argsort(texts.cast(pa.int64()).to_numpy())
    whole = pc.match_substring_regex(texts, _WHOLE)
    numbers = np.flatnonzero(whole.to_numpy(zero_copy_only=False))
    others = np.flatnonzero(~whole.to_numpy(zero_copy_only=False))
    by_size = pc.sort_indices(texts.take(pa.array(numbers)).cast(pa.decimal128(38, 0))).to_numpy()
    by_text = pc.sort_indices(texts.take(pa.array(others))).to_numpy()
    return np.concatenate([numbers[by_size.astype(np.int64)], others[by_text.astype(np.int64)]])


def in_order(ids: Ids) -> tuple[Ids, Codes]:
    """The ids in the one order, and the new code of each old one."""
    order = id_order(ids.texts)
    return Ids(ids.texts.take(pa.array(order)), ids.integer), places(order)


def places(order: Codes) -> Codes:
    """The place of each element in an order."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place


def row_order(queries: Codes, codes: NDArray[Any], last: NDArray[Any] | None = None) -> tuple[Codes, Codes]:
    """An order of (query, codes) rows by what they hold, and where in it each distinct row begins.

    `codes` is (G, K), each row ended by -1. `last` are more bits to tell rows apart by. The order is by query, then by
    a hash of the row; where two different rows share a hash, by the rows themselves. So equal rows always meet, and
    the order of some queries is the same, whatever other queries are there.
    """
    extra = np.zeros(0, dtype=np.uint64) if last is None else np.ascontiguousarray(last).view(np.uint64)
    queries = np.asarray(queries, dtype=np.int64)
    keys = np.empty(len(queries), dtype=np.uint64)
    few = int(queries.max(initial=0)) >> _QUERY_BITS == 0
    _row_keys(queries, codes, extra, few, keys)
    order = np.argsort(keys) if few else np.lexsort((keys, queries))
    begins = np.empty(len(order), dtype=bool)
    if not _begins(order, keys, queries, codes, extra, begins):
        same = np.append(False, np.diff(keys[order]) == 0)
        heads = np.append(np.flatnonzero(~same), len(order))
        for run in np.unique(np.searchsorted(heads, np.flatnonzero(begins & same), side="right") - 1):
            some = order[heads[run] : heads[run + 1]]
            columns = *((extra[some],) if len(extra) else ()), *codes[some].T[::-1], queries[some]
            order[heads[run] : heads[run + 1]] = some[np.lexsort(columns)]
        _begins(order, keys, queries, codes, extra, begins)
    return order, np.flatnonzero(begins)


@njit(nogil=True)
def _row_keys(queries: Any, codes: Any, extra: Any, few: bool, out: Any) -> None:
    for g in range(len(queries)):
        key = mix(np.uint64(queries[g]))
        for k in range(codes.shape[1]):
            if codes[g, k] < 0:
                break
            key = mix(key ^ np.uint64(codes[g, k]))
        if len(extra) > 0:
            key = mix(key ^ extra[g])
        key >>= np.uint64(_QUERY_BITS)
        if few:
            key |= np.uint64(queries[g]) << np.uint64(64 - _QUERY_BITS)
        out[g] = key


@njit(nogil=True)
def _begins(order: Any, keys: Any, queries: Any, codes: Any, extra: Any, begins: Any) -> bool:
    """Mark the rows that differ from the one before; False where different rows share a key."""
    clean = True
    for i in range(len(order)):
        begins[i] = True
        if i == 0:
            continue
        a, b = order[i - 1], order[i]
        if keys[a] != keys[b]:
            continue
        same = queries[a] == queries[b] and (len(extra) == 0 or extra[a] == extra[b])
        k = 0
        while same and k < codes.shape[1]:
            if codes[a, k] != codes[b, k]:
                same = codes[a, k] < 0 and codes[b, k] < 0
            if codes[a, k] < 0:
                break
            k += 1
        begins[i] = not same
        clean = clean and same
    return clean
