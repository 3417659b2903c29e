"""One 64-bit key per (query, ranking), the same in the kernels and in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes


@njit(inline="always")
def mix(value):  # type: ignore[no-untyped-def]
    """The finaliser of splitmix64: every input bit reaches every output bit."""
    z = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit()
def _keys(queries, items, lengths, out):  # type: ignore[no-untyped-def]
    for g in range(len(queries)):
        key = mix(np.uint64(queries[g]))
        for k in range(lengths[g]):
            key = mix(key ^ np.uint64(items[g, k]))
        out[g] = key


def ranking_keys(queries: Codes, items: Codes, lengths: Codes) -> NDArray[np.uint64]:
    """The key of each ranking: items is (G, K) item codes, of which the first lengths[g] count.

    Two rankings of one query share a key with a chance of about 2⁻⁶⁴.
    """
    out = np.empty(len(queries), dtype=np.uint64)
    _keys(np.asarray(queries, np.int64), np.asarray(items, np.int64), np.asarray(lengths, np.int64), out)
    return out
