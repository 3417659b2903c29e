"""Impressions drawn by what they hold: the same in any order, split, form and engine, counted or written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.statistics.hashing import content_keys, mix
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.patterns import Patterns

LOOPED = 4096  # impressions of a pattern up to which each is hashed by itself


def dealt(pairs: Pairs, patterns: Patterns, shares: list[float], seed: int = 0) -> Codes:
    """(S, G): how many impressions of each pattern fall to each share.

    The j-th of a pattern's impressions falls where hash(seed, query, ranking, clicks, j) says. Where patterns have
    clusters, a cluster falls as a whole, where hash(seed, cluster) says: its impressions depend on each other.
    """
    queries, items = (content_keys(ids.texts) for ids in (pairs.query_ids, pairs.item_ids))
    keys = np.empty(len(patterns), dtype=np.uint64)
    out = np.zeros((len(shares), len(patterns)), dtype=np.int64)
    edges = np.array([min(int(edge * 2.0**64), 2**64 - 1) for edge in np.cumsum(shares[:-1])], dtype=np.uint64)
    salt = np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    if patterns.clusters is not None:
        fallen = np.searchsorted(edges, _mixed(patterns.clusters ^ salt), side="right")
        out[fallen, np.arange(len(patterns))] = patterns.impressions
        return out
    _deal(queries[patterns.queries] ^ salt, items[pairs.items], patterns.coded, patterns.impressions, edges, keys, out)
    for g in np.flatnonzero(patterns.impressions > LOOPED):
        out[:, g] = np.random.default_rng(int(keys[g])).multinomial(patterns.impressions[g], shares)
    return out


@njit()
def _deal(queries: Any, items: Any, coded: Any, impressions: Any, edges: NDArray[Any], keys: Any, out: Any) -> None:
    for g in range(len(coded)):
        key = mix(queries[g])
        for k in range(coded.shape[1]):
            v = coded[g, k]
            if v < 0:
                break
            key = mix(key ^ items[v >> 1])
            key = mix(key ^ np.uint64(v & 1))
        keys[g] = key
        if impressions[g] > LOOPED:
            continue
        for j in range(impressions[g]):
            draw = mix(key ^ mix(np.uint64(j + 1)))
            share = 0
            while share < len(edges) and draw >= edges[share]:
                share += 1
            out[share, g] += 1


@njit()
def _mixed(keys: Any) -> Any:
    out = np.empty(len(keys), dtype=np.uint64)
    for g in range(len(keys)):
        out[g] = mix(mix(keys[g]))
    return out


def drawn(texts: pa.Array, share: float, seed: int = 0) -> NDArray[np.bool_]:
    """Which of these ids fall into a share, by a hash of each.

    >>> int(drawn(pa.array(list("abcdefghij")), 0.5, seed=4).sum())
    5
    """
    salt = np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    edge = np.uint64(min(int(share * 2.0**64), 2**64 - 1))
    return np.asarray(_mixed(content_keys(texts) ^ salt) < edge)


def drawn_rows(texts: pa.Array, share: float, seed: int = 0) -> NDArray[np.bool_]:
    """Which of these rows fall into a share: the j-th of equal ones by hash(seed, text, j), whatever their order."""
    keys = content_keys(texts) ^ np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    heads = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]][: len(order)])
    turn = np.arange(len(order)) - np.repeat(heads, np.diff(np.append(heads, len(order))))
    edge = np.uint64(min(int(share * 2.0**64), 2**64 - 1))
    out = np.empty(len(order), dtype=bool)
    out[order] = _mixed(_mixed(ranked) ^ (turn + 1).astype(np.uint64)) < edge
    return out
