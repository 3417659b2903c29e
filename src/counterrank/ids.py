"""Ids as text and as codes: strings become integers once, and come back as they came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.records import dataclass

Codes = NDArray[np.int64]


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
        found = pc.index_in(texts, value_set=self.texts)
        return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), dtype=np.int64)

    def native(self, codes: Codes) -> list[Any]:
        """The ids of these codes as they came: integers as integers, text as text."""
        taken = self.texts.take(pa.array(codes)).to_pylist()
        return [int(t) if canonical(t) else t for t in taken] if self.integer else taken

    def column(self) -> pa.Array:
        """All ids as they came, as text where they are not all 64-bit integers.

        >>> Ids(pa.array(["7", "8"]), integer=True).column().type, Ids(pa.array(["7", "x"]), integer=True).column().type
        (DataType(int64), DataType(string))
        """
        texts = self.texts.to_pylist() if self.integer else ["x"]
        if all(canonical(text) and -(2**63) <= int(text) < 2**63 for text in texts):
            return self.texts.cast(pa.int64())
        return self.texts


def canonical(text: str) -> bool:
    """Whether a text is what an integer prints as: 7, but not 007."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and str(int(text)) == text
