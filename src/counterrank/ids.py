"""Ids as text and as codes: strings become integers once, and come back as they came."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.errors import InputError
from counterrank.records import dataclass

Codes = NDArray[np.int64]
FEW = 64  # ids that Arrow finds as quickly
KEPT = 1 << 20  # ids whose table is kept for who asks next: 8 MB
_SHORT = r"\A(0|-?[1-9][0-9]{0,17})\z"  # what an integer prints as, if it surely has 64 bits
_SECRET = np.frombuffer(os.urandom(16), dtype=np.uint64) | np.uint64(1)


def as_text(values: Any, what: str = "id") -> pa.Array:
    """Ids of any Arrow type as a string array: integers as their digits, whole floats as integers. Null where a value
    is no id: missing, empty, with a zero byte, or a number with a fraction.

    >>> as_text(pa.array([7.0, -0.0, 1.5])).to_pylist(), as_text(pa.array(["a", ""])).to_pylist()
    (['7', '0', None], ['a', None])
    """
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    if pa.types.is_string(kind):
        return _named(array)
    if pa.types.is_floating(kind):
        array = array.cast(pa.float64())
        whole = pc.and_(pc.equal(array, pc.floor(array)), pc.less(pc.abs(array), float(2**63)))
        return pc.if_else(whole, array, None).cast(pa.int64()).cast(pa.string())
    if is_text(kind):
        return _named(array.cast(pa.string()))
    if pa.types.is_integer(kind) or pa.types.is_null(kind) or (pa.types.is_decimal(kind) and kind.scale == 0):
        return array.cast(pa.string())
    raise InputError(f"{what} must be text or whole numbers, but came as {kind}: store them as text or integers")


def _named(texts: pa.Array) -> pa.Array:
    """Texts that can be ids; null for those that no file could give back."""
    buffers = texts.buffers()
    if not len(texts) or buffers[2] is None:
        return pc.if_else(pc.equal(texts, ""), None, texts)
    offsets = np.frombuffer(buffers[1], dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    if (offsets[1:] == offsets[:-1]).any():
        texts = pc.if_else(pc.equal(texts, ""), None, texts)
    data = np.frombuffer(buffers[2], dtype=np.uint8)[offsets[0] : offsets[-1]]
    if len(data) and data.min() == 0:
        texts = pc.if_else(pc.match_substring(texts, "\0"), None, texts)
    return texts


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is one of the three kinds of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


@dataclass(frozen=True)
class Ids:
    """Distinct ids in code order: code 0 is `texts[0]`.

    >>> ids = Ids(pa.array(["b", "a", "7"]))
    >>> ids.codes(pa.array(["a", "x"])).tolist()
    [1, -1]
    """

    texts: pa.Array
    integer: bool = False  # the log gave integers: give integers back

    def __len__(self) -> int:
        return len(self.texts)

    def codes(self, texts: pa.Array) -> Codes:
        """The code of each text, -1 where it is not known."""
        if len(self) > FEW and _plain(texts) and _plain(self.texts):
            out = np.empty(len(texts), dtype=np.int64)
            _look_up(*_bytes(self.texts), *_bytes(texts), self._slots(), _SECRET, out)
            return out
        found = pc.index_in(texts, value_set=self.texts)
        return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), dtype=np.int64)

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process, whose secret is another: without the table."""
        return {"texts": self.texts, "integer": self.integer}

    def _slots(self) -> NDArray[np.int32]:
        """The table by which texts are found, four bytes a slot: kept where they are not too many."""
        slots: NDArray[np.int32] | None = self.__dict__.get("_table")
        if slots is None:
            slots = np.zeros(1 << (2 * len(self) - 1).bit_length(), dtype=np.int32)
            _enter(*_bytes(self.texts), slots, _SECRET)
            if len(self) <= KEPT:
                self.__dict__["_table"] = slots
        return slots

    def native(self, codes: Codes) -> list[Any]:
        """The ids of these codes as they came: integers as integers, text as text."""
        taken = self.texts.take(pa.array(codes)).to_pylist()
        return [int(t) if canonical(t) else t for t in taken] if self.integer else taken

    def column(self) -> pa.Array:
        """All ids as they came, as text where they are not all 64-bit integers.

        >>> Ids(pa.array(["7", "8"]), integer=True).column().type, Ids(pa.array(["7", "x"]), integer=True).column().type
        (DataType(int64), DataType(string))
        """
        if self.integer and pc.all(pc.match_substring_regex(self.texts, _SHORT)).as_py():
            return self.texts.cast(pa.int64())
        texts = self.texts.to_pylist() if self.integer else ["x"]
        if all(canonical(text) and -(2**63) <= int(text) < 2**63 for text in texts):
            return self.texts.cast(pa.int64())
        return self.texts


def _plain(texts: pa.Array) -> bool:
    return isinstance(texts, pa.StringArray) and not texts.null_count


def _bytes(texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Where each text begins and ends, and the bytes of all."""
    _, offsets, data = texts.buffers()
    if not len(texts) or data is None:
        return np.zeros(len(texts) + 1, dtype=np.int32), np.zeros(0, dtype=np.uint8)
    ends = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return ends, np.frombuffer(data, dtype=np.uint8)


@njit(nogil=True)
def _slot(ends, data, at, known_ends, known, slots, secret):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The slot that holds an equal text, or that is free for it."""
    first, last = ends[at], ends[at + 1]
    key = secret[1] + np.uint64(last - first)
    for i in range(first, last):
        key = (key ^ np.uint64(data[i])) * secret[0]
        key ^= key >> np.uint64(29)
    mask = np.uint64(len(slots) - 1)
    slot = (key * secret[0] >> np.uint64(20)) & mask
    while slots[slot] != 0:
        begin = known_ends[slots[slot] - 1]
        same = known_ends[slots[slot]] - begin == last - first
        i = 0
        while same and i < last - first:
            same = known[begin + i] == data[first + i]
            i += 1
        if same:
            break
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(nogil=True)
def _enter(ends, data, slots, secret):  # type: ignore[no-untyped-def]  # pragma: no cover
    for code in range(len(ends) - 1):
        slot = _slot(ends, data, code, ends, data, slots, secret)
        if slots[slot] == 0:
            slots[slot] = code + 1


@njit(nogil=True)
def _look_up(known_ends, known, ends, data, slots, secret, out):  # type: ignore[no-untyped-def]  # pragma: no cover
    for at in range(len(out)):
        out[at] = slots[_slot(ends, data, at, known_ends, known, slots, secret)] - 1


def canonical(text: str) -> bool:
    """Whether a text is what an integer prints as: 7, but not 007."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and str(int(text)) == text


def apart(texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Where each of these texts (none missing) begins, and the last ends, in the bytes of them all.

    >>> together(*apart(pa.array(["a", "bc"])[1:])).to_pylist()
    ['bc']
    """
    ends, data = _bytes(texts)
    return ends - ends[0], data[ends[0] : ends[-1]]


def together(ends: NDArray[np.int32], data: NDArray[np.uint8]) -> pa.Array:
    """The texts that `apart` took apart; bytes that are no text raise `pyarrow.ArrowInvalid`."""
    buffers = (pa.py_buffer(np.ascontiguousarray(each)) for each in (ends, data))
    texts = pa.StringArray.from_buffers(len(ends) - 1, *buffers)
    texts.validate(full=True)
    return texts
