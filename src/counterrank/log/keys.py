"""Ids as 64-bit keys: an integer is its own key, a text is hashed once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.ids import as_text, canonical
from counterrank.statistics.hashing import text_keys as text_keys  # others take it from here

Keys = NDArray[np.int64]
_QUICK = r"\A(0|-?[1-9][0-9]{0,17})\z"  # what an integer prints as, if it surely has 64 bits
SEPARATOR = "\x1f"  # between a query and what it is told apart by: a day, a segment


def id_keys(values: pa.Array, integer: bool, what: str) -> tuple[Keys, Any]:
    """The keys of these ids, and the ids in the form whose text they stand for."""
    if integer:
        whole = values if pa.types.is_int64(values.type) else values.cast(pa.int64())
        if whole.null_count:
            whole = whole.fill_null(0)
        return whole.to_numpy(zero_copy_only=False), whole
    if pa.types.is_dictionary(values.type) and len(values.dictionary) <= len(values):
        texts = as_text(values.dictionary, what)
        if not texts.null_count:  # each text is hashed once
            keys = pc.take(pa.array(text_keys(texts)), values.indices)
            keys = keys.fill_null(0) if keys.null_count else keys
            return keys.to_numpy(), pa.DictionaryArray.from_arrays(values.indices, texts)
    texts = as_text(values, what)
    return text_keys(texts), texts


def text_key(texts: pa.Array, integer: bool) -> tuple[Keys, NDArray[np.bool_]]:
    """The keys that a log of this kind gives these texts, and which texts it can hold at all."""
    if not integer:
        return text_keys(texts), np.ones(len(texts), dtype=bool)
    whole = np.zeros(len(texts), dtype=np.int64)
    fits = np.zeros(len(texts), dtype=bool)
    quick = pc.match_substring_regex(texts, _QUICK)
    at = quick.to_numpy(zero_copy_only=False)
    whole[at], fits[at] = texts.filter(quick).cast(pa.int64()).to_numpy(zero_copy_only=False), True
    rest = np.flatnonzero(~at)
    for i, text in zip(rest, texts.take(pa.array(rest)).to_pylist(), strict=True):
        if canonical(text) and -(2**63) <= int(text) < 2**63:
            whole[i] = int(text)
            fits[i] = True
    return whole, fits
