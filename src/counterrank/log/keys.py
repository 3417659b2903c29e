"""Ids as 64-bit keys: an integer is its own key, a text is hashed once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import as_text, canonical
from counterrank.records import dataclass
from counterrank.statistics.hashing import SECRET
from counterrank.statistics.hashing import text_keys as text_keys  # others take it from here

Keys = NDArray[np.int64]
FEW = 4  # times as many ids as there are different ones make it worth to know which are the same
_QUICK = r"\A(0|-?[1-9][0-9]{0,17})\z"  # what an integer prints as, if it surely has 64 bits
SEPARATOR = "\x1f"  # between a query and what it is told apart by: a day, a segment


@dataclass(frozen=True)
class IdKeys:
    """The keys of a batch's ids: the i-th has known[index[i]], no key being there twice, or known[i] without an index.

    >>> same = IdKeys(np.array([70, 80]), np.array([1, 0, 1], dtype=np.int32))
    >>> same.each().tolist(), len(same)
    ([80, 70, 80], 3)
    """

    known: Keys
    index: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.known if self.index is None else self.index)

    def each(self) -> Keys:
        """The key of each id."""
        return self.known if self.index is None else self.known.take(self.index)

    def marks(self) -> NDArray[Any]:
        """Numbers that are the same where ids are."""
        return self.known if self.index is None else self.index

    def kept(self, keep: NDArray[np.bool_]) -> IdKeys:
        """Those of some ids."""
        return IdKeys(self.known[keep]) if self.index is None else IdKeys(self.known, self.index[keep])


def id_keys(values: pa.Array, integer: bool, what: str) -> tuple[IdKeys, Any]:
    """The keys of these ids, and the ids in the form whose text they stand for."""
    if pa.types.is_dictionary(values.type) and len(values.dictionary) <= len(values):
        once = values.dictionary if integer else as_text(values.dictionary, what)
        if not once.null_count:  # each text is hashed once
            keys = _whole(once) if integer else text_keys(once)
            return _indexed(keys, values), pa.DictionaryArray.from_arrays(
                values.indices, once, safe=False
            )  # as they were
    if integer:
        whole = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        whole = whole if pa.types.is_int64(whole.type) else whole.cast(pa.int64())
        return IdKeys(_whole(whole)), whole
    texts = as_text(values, what)
    return IdKeys(text_keys(texts)), texts


def _whole(values: pa.Array) -> Keys:
    whole = values if pa.types.is_int64(values.type) else values.cast(pa.int64())
    return np.asarray((whole.fill_null(0) if whole.null_count else whole).to_numpy(zero_copy_only=False))


def _indexed(keys: Keys, values: pa.DictionaryArray) -> IdKeys:
    """The keys of ids that are given by their places among `keys`."""
    at = values.indices
    if not at.null_count and 0 < FEW * len(keys) <= len(at) and pa.types.is_int32(at.type) and _differ(keys, SECRET):
        index = at.to_numpy()
        if index.view(np.uint32).max() < len(keys):  # a table in memory may say anything, and loops do not ask
            return IdKeys(keys, index)
    found = pc.take(pa.array(keys), at)
    return IdKeys((found.fill_null(0) if found.null_count else found).to_numpy())


@njit(nogil=True)
def _differ(keys, secret):  # type: ignore[no-untyped-def]
    """Whether no key is there twice."""
    bits = 1
    while (1 << bits) < 2 * len(keys):
        bits += 1
    places = np.zeros(1 << bits, dtype=np.int32)  # of keys, from 1 on
    mask = np.uint64((1 << bits) - 1)
    for i in range(np.uint64(len(keys))):
        at = np.uint64(keys[i]) * secret[0]
        at = ((at ^ (at >> np.uint64(32))) * secret[2]) >> np.uint64(64 - bits)
        while places[at] != 0:
            if keys[np.uint64(places[at] - 1)] == keys[i]:
                return False
            at = (at + np.uint64(1)) & mask
        places[at] = np.int32(i) + np.int32(1)
    return True


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
