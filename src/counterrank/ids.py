"""Ids as text and as codes: strings become integers once, and come back as they came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.errors import InputError

Codes = NDArray[np.int64]


def as_text(values: Any, what: str = "id") -> pa.Array:
    """Ids of any Arrow type as a string array: integers as their digits, whole floats as integers."""
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    if pa.types.is_string(kind):
        return array
    if pa.types.is_null(kind):
        return array.cast(pa.string())
    if pa.types.is_floating(kind):
        whole = pc.all(pc.or_kleene(pc.equal(array, pc.floor(array)), pc.is_null(array, nan_is_null=True))).as_py()
        if whole is False:
            raise InputError(
                f"{what} must be text or whole numbers, but came as {kind} with fractions: store them as text"
            )
        try:
            return pc.if_else(pc.is_nan(array), None, array).cast(pa.int64()).cast(pa.string())
        except pa.ArrowInvalid:
            raise InputError(
                f"{what} must be text or whole numbers, but came as {kind} with numbers too large: store them as text"
            ) from None
    if pa.types.is_integer(kind) or is_text(kind) or (pa.types.is_decimal(kind) and kind.scale == 0):
        return array.cast(pa.string())
    raise InputError(f"{what} must be text or whole numbers, but came as {kind}: store them as text or integers")


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
