"""The pages of a chunk of Parquet, which is one column of a row group.

A page is a header in Thrift's compact form and its content, most often compressed. Of the header we read the numbers
that tell how to read the content; of anything unexpected we say that the chunk is not plain, and Arrow reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.records import dataclass

PLAIN, RLE, INDEXED = 0, 3, (2, 8)  # encodings; the second of the last two is the first by its newer name
CODECS = ("UNCOMPRESSED", "SNAPPY", "ZSTD", "GZIP", "BROTLI")
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3  # kinds of pages
# fields of a header, and of what it says of a page of each kind
_KIND, _SIZE, _PACKED, _OF = 1, 2, 3, {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}
_LARGEST = 1 << 27  # bytes of a page
_MOST = 1 << 31  # values of a page
_DEEPEST = 4
_TRUE, _FALSE, _BYTE, _WHOLE, _DOUBLE, _TEXT, _STRUCT = 1, 2, 3, (4, 5, 6), 7, 8, 12  # types of fields
Bytes = NDArray[np.uint8]


class NotPlain(Exception):
    """A chunk that is left to Arrow."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """Values of a column, or its dictionary: `content` from `at` on. The levels are encoded."""

    content: Bytes
    at: int = 0
    count: int
    encoding: int
    repetition: Bytes | None = None
    definition: Bytes | None = None
    is_dictionary: bool = False


def pages(content: pa.Buffer, codec: str, levels: tuple[int, int]) -> Iterator[Page]:
    """All pages of a chunk; `levels`: the highest of repetition and of definition."""
    view = memoryview(content).cast("B")
    at = 0
    try:
        while at < len(view):
            header, at = _struct(view, at, 0)
            packed = content.slice(at, _size(header[_PACKED], len(view) - at))
            at += header[_PACKED]
            kind = header[_KIND]
            if kind not in _OF:
                raise NotPlain
            yield _page(packed, codec, kind, header, levels)
    except (IndexError, KeyError, TypeError, pa.ArrowException, OSError):
        raise NotPlain from None


def _page(packed: pa.Buffer, codec: str, kind: int, header: dict[int, Any], levels: tuple[int, int]) -> Page:
    own, size = header[_OF[kind]], _size(header[_SIZE], _LARGEST)
    count = _size(own[1], _MOST)
    if kind == _DATA_V2:
        defined, repeated = (_size(own[field], packed.size) for field in (5, 6))
        if own[2] or defined + repeated > min(packed.size, size):
            raise NotPlain
        before = np.frombuffer(packed, dtype=np.uint8)[: defined + repeated]
        rest = packed.slice(defined + repeated)
        values = _unpacked(rest, codec if own.get(7, True) else "UNCOMPRESSED", size - defined - repeated)
        first, then = before[:repeated], before[repeated:]
        return Page(content=values, count=count, encoding=own[4], repetition=first, definition=then)
    content = _unpacked(packed, codec, size)
    if kind == _DICTIONARY:
        encoding = PLAIN if own[2] in INDEXED else own[2]  # by its older name
        return Page(content=content, count=count, encoding=encoding, is_dictionary=True)
    parts: list[Bytes | None] = []
    at = 0
    for highest, encoded in zip(levels, (own[4], own[3]), strict=True):
        length = 0
        if highest:
            length = _size(int.from_bytes(content[at : at + 4].tobytes(), "little"), len(content) - at - 4)
            if encoded != RLE:
                raise NotPlain
            at += 4
        parts.append(content[at : at + length] if highest else None)
        at += length
    return Page(content=content, at=at, count=count, encoding=own[2], repetition=parts[0], definition=parts[1])


def _size(said: int, most: int) -> int:
    if not 0 <= said <= most:
        raise NotPlain
    return said


def _unpacked(packed: pa.Buffer, codec: str, size: int) -> Bytes:
    if codec != "UNCOMPRESSED":
        packed = pa.Codec(codec.lower()).decompress(packed, size)
    if packed.size != size:
        raise NotPlain
    return np.frombuffer(packed, dtype=np.uint8)


def _struct(view: memoryview, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """The numbers, truths and structs in a struct by their fields, and where it ends; texts are passed over."""
    if depth > _DEEPEST:
        raise NotPlain
    found: dict[int, Any] = {}
    field = 0
    while kind := view[at]:
        step, kind = kind >> 4, kind & 15
        at += 1
        if step:
            field += step
        else:
            number, at = _varint(view, at)
            field = _signed(number)
        if kind in _WHOLE:
            number, at = _varint(view, at)
            found[field] = _signed(number)
        elif kind in (_TRUE, _FALSE):
            found[field] = kind == _TRUE
        elif kind == _STRUCT:
            found[field], at = _struct(view, at, depth + 1)
        elif kind == _TEXT:
            number, at = _varint(view, at)
            at += number
        elif kind in (_BYTE, _DOUBLE):
            at += 1 if kind == _BYTE else 8
        else:
            raise NotPlain
    return found, at + 1


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    number = shift = 0
    while view[at] > 127:
        number |= (view[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if shift > 63:
            raise NotPlain
    return number | view[at] << shift, at + 1


def _signed(number: int) -> int:
    return (number >> 1) ^ -(number & 1)
