"""Ids as 64-bit keys: an integer is its own key, a text is hashed once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import as_text, canonical
from counterrank.statistics.hashing import mix

Keys = NDArray[np.int64]


@njit(nogil=True)
def _hash_texts(offsets, data, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        start = offsets[i]
        end = offsets[i + 1]
        key = np.uint64(end - start) * np.uint64(0x9E3779B97F4A7C15)
        word = np.uint64(0)
        filled = 0
        for at in range(start, end):
            word = (word << np.uint64(8)) | np.uint64(data[at])
            filled += 1
            if filled == 8:
                key = mix(key ^ word)
                word = np.uint64(0)
                filled = 0
        out[i] = np.int64(mix(key ^ word))


def text_keys(texts: pa.Array) -> Keys:
    """A 64-bit key per text. Two of a million texts share one with a chance below 10⁻⁷."""
    out = np.empty(len(texts), dtype=np.int64)
    buffers = texts.buffers()
    if len(texts) == 0 or buffers[1] is None:
        return out
    offsets = np.frombuffer(buffers[1], dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(buffers[2], dtype=np.uint8) if buffers[2] is not None else np.zeros(0, dtype=np.uint8)
    _hash_texts(offsets, data, out)
    return out


def id_keys(values: pa.Array, integer: bool, what: str) -> tuple[Keys, Any]:
    """The keys of these ids, and the ids in the form whose text they stand for."""
    if integer:
        whole = values if pa.types.is_int64(values.type) else values.cast(pa.int64())
        if whole.null_count:
            whole = whole.fill_null(0)
        return whole.to_numpy(zero_copy_only=False), whole
    texts = as_text(values, what)
    return text_keys(texts), texts


def text_key(texts: pa.Array, integer: bool) -> tuple[Keys, NDArray[np.bool_]]:
    """The keys that a log of this kind gives these texts, and which texts it can hold at all."""
    if not integer:
        return text_keys(texts), np.ones(len(texts), dtype=bool)
    whole = np.zeros(len(texts), dtype=np.int64)
    fits = np.zeros(len(texts), dtype=bool)
    for i, text in enumerate(texts.to_pylist()):
        if canonical(text) and -(2**63) <= int(text) < 2**63:
            whole[i] = int(text)
            fits[i] = True
    return whole, fits
