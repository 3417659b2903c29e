"""Chunks of Parquet that are plain, decoded by loops of our own.

Arrow reads any Parquet; of a list it writes down the levels of every value before it makes offsets of them, which takes
as long as all that is counted of a row. A chunk, which is one column of a row group, is plain if it has whole numbers,
doubles, or texts that the file has once each, bare or in lists, none of them missing and no list empty, in the
encodings that writers choose by themselves. What this reader gives for a plain chunk is what Arrow gives, but for whole
numbers, which have 64 bits, or come as a dictionary where that is wanted and the file has few different ones, and for
clicks, which have 8 bits. Any other chunk is left to Arrow.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from counterrank.log.parquet_pages import CODECS, INDEXED, PLAIN, NotPlain, Page, pages
from counterrank.log.parquet_runs import all_defined, cut_texts, read_codes, read_flags, row_starts

WORTH = 4096  # values of a page from which on it is worth its header
FEW = 4  # times as many values as there are different ones make these few
_MOST = 1 << 24  # values of a chunk, which is held as a whole: 128 MB


def plain_columns(
    file: pa.NativeFile, metadata: pq.FileMetaData, number: int, kinds: Mapping[str, pa.DataType], clicks: str | None
) -> dict[str, pa.Array]:
    """Those columns of a row group that are plain, by name.

    `kinds` has the types that Arrow would give them, dictionaries where these are wanted; `clicks` names the column
    whose values can only be 0 and 1.
    """
    group = metadata.row_group(number)
    leaves: dict[str, list[int]] = {}
    for i in range(group.num_columns):
        leaves.setdefault(metadata.schema.column(i).path.split(".")[0], []).append(i)
    found = {}
    for name, kind in kinds.items():
        if len(leaves.get(name, ())) != 1:
            continue
        chunk, leaf = group.column(leaves[name][0]), metadata.schema.column(leaves[name][0])
        with contextlib.suppress(NotPlain):
            found[name] = _Chunk(chunk, leaf, kind, group.num_rows, clicks=name == clicks).read(file)
    return found


class _Chunk:
    """A chunk on the way to be an array."""

    def __init__(
        self, chunk: pq.ColumnChunkMetaData, leaf: pq.ColumnSchema, kind: pa.DataType, rows: int, *, clicks: bool
    ) -> None:
        self.chunk, self.rows, self.listed = chunk, rows, pa.types.is_list(kind)
        self.levels = leaf.max_repetition_level, leaf.max_definition_level
        if self.levels[0] != self.listed or self.levels[1] > 3 or chunk.compression not in CODECS:
            raise NotPlain
        self.values = _Values(kind.value_type if self.listed else kind, chunk, clicks)
        self.ends = pa.allocate_buffer(4 * (rows + 1))
        self.starts: NDArray[np.int32] = np.frombuffer(memoryview(self.ends), dtype=np.int32)
        self.begun = 0  # rows

    def read(self, file: pa.NativeFile) -> pa.Array:
        values, listed = self.values, self.listed
        for page in pages(_content(file, self.chunk), self.chunk.compression, self.levels):
            if not page.is_dictionary:
                self._check(page)
            values.add(page)
        if values.size != self.chunk.num_values or self.rows != (self.begun if listed else values.size):
            raise NotPlain
        if not listed:
            return values.array()
        if self.starts[0] != 0:
            raise NotPlain
        self.starts[-1] = values.size
        inside = values.array()
        return pa.Array.from_buffers(pa.list_(inside.type), self.rows, [None, self.ends], children=[inside])

    def _check(self, page: Page) -> None:
        """Find where the rows of a page begin, and that nothing is missing in it."""
        left = self.chunk.num_values - self.values.size
        if not min(WORTH, left) <= page.count <= left:
            raise NotPlain
        if self.levels[1] and not all_defined(page.definition, page.count, self.levels[1]):
            raise NotPlain
        if self.listed:
            self.begun = row_starts(page.repetition, page.count, self.values.size, self.starts[:-1], self.begun)
            if self.begun < 0:
                raise NotPlain


def _content(file: pa.NativeFile, chunk: pq.ColumnChunkMetaData) -> pa.Buffer:
    begin, size = chunk.data_page_offset, chunk.total_compressed_size
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        begin = min(begin, chunk.dictionary_page_offset)
    if not (0 < size <= file.size() - begin and begin > 0):
        raise NotPlain
    return pa.py_buffer(file.read_at(size, begin))


class _Values:
    """The values of a chunk, page after page: codes of those in its dictionary for as long as all pages have these."""

    def __init__(self, kind: pa.DataType, chunk: pq.ColumnChunkMetaData, clicks: bool) -> None:
        self.stored = chunk.physical_type
        if not _reads(self.stored, kind) or not 0 < chunk.num_values <= _MOST:
            raise NotPlain
        self.most, self.indexed = chunk.num_values, pa.types.is_dictionary(kind)
        self.clicks = clicks and pa.types.is_integer(kind)
        self.kind = kind if self.indexed or self.stored == "DOUBLE" else pa.int8() if self.clicks else pa.int64()
        self.known: NDArray[Any] | None = None  # what the dictionary has
        self.texts: pa.Array | None = None
        self.size = 0
        self.room, self.values = self._made(pa.int32() if self.indexed else self.kind)

    def _made(self, kind: pa.DataType) -> tuple[pa.Buffer, NDArray[Any]]:
        room = pa.allocate_buffer(self.most * kind.bit_width // 8)
        return room, np.frombuffer(memoryview(room), dtype=f"i{kind.bit_width // 8}")  # of doubles, too

    def add(self, page: Page) -> None:
        """Decode one page more."""
        if page.is_dictionary:
            if self.known is not None or page.encoding != PLAIN:
                raise NotPlain
            self.known = self._texts(page) if self.stored == "BYTE_ARRAY" else self._numbers(page)
            return
        if page.encoding == PLAIN and self.stored != "BYTE_ARRAY":
            self._spell()
            self.values[self.size : self.size + page.count] = self._numbers(page)
        elif page.encoding in INDEXED and self.known is not None:
            self._look_up(page, self.known)
        else:
            raise NotPlain
        self.size += page.count

    def _look_up(self, page: Page, known: NDArray[Any]) -> None:
        """Decode a page of codes."""
        into, first = self.values, self.size
        if page.at >= len(page.content):
            raise NotPlain
        if self.clicks and len(known) == 2 and page.content[page.at] == 1:  # of how many bits each code is
            into[first : first + page.count] = known[0]
            if not read_flags(page.content, page.at, _spelt(known), into, each_eight(into), first, page.count):
                raise NotPlain
            return
        codes = into if self.indexed else np.empty(page.count, dtype=np.int32)
        largest = read_codes(
            page.content, each_eight(page.content), page.at, codes, first if self.indexed else 0, page.count
        )
        if not 0 <= largest < len(known):
            raise NotPlain
        if not self.indexed:
            known.take(codes, out=into[first : first + page.count], mode="clip")

    def _spell(self) -> None:
        """From now on have the numbers themselves."""
        if not self.indexed:
            return
        codes, self.indexed, self.kind = self.values, False, pa.int64()
        self.room, self.values = self._made(self.kind)
        if self.known is not None:
            self.known.take(codes[: self.size], out=self.values[: self.size], mode="clip")

    def array(self) -> pa.Array:
        known = self.texts
        if self.indexed and known is None and self.known is not None and FEW * len(self.known) <= self.size:
            known = pa.array(self.known)
        if known is None:
            self._spell()
            return pa.Array.from_buffers(self.kind, self.size, [None, self.room])
        indices = pa.Array.from_buffers(pa.int32(), self.size, [None, self.room])
        return pa.DictionaryArray.from_arrays(indices, known, safe=False)  # all were compared with how many are known

    def _numbers(self, page: Page) -> NDArray[Any]:
        """The numbers of a page that has them one after the other."""
        each: np.dtype[Any] = np.dtype("<i4" if self.stored == "INT32" else "<i8")
        if not 0 < page.count <= (len(page.content) - page.at) // each.itemsize:
            raise NotPlain
        numbers = np.frombuffer(page.content, each, page.count, page.at)
        if self.clicks and ((numbers & 1) != numbers).any():
            raise NotPlain
        return numbers.astype(np.int8 if self.clicks else np.int64)

    def _texts(self, page: Page) -> NDArray[Any]:
        """The codes of texts that come with their lengths, the texts being kept."""
        if not 0 < page.count <= len(page.content) // 4:
            raise NotPlain
        ends = np.empty(page.count + 1, dtype=np.int32)
        texts = np.empty(len(page.content), dtype=np.uint8)
        if not cut_texts(page.content, ends, texts):
            raise NotPlain
        self.texts = pa.StringArray.from_buffers(page.count, pa.py_buffer(ends), pa.py_buffer(texts[: ends[-1]]))
        return np.arange(page.count, dtype=np.int32)


def each_eight(data: NDArray[Any]) -> NDArray[np.uint64]:
    """The eight bytes from each byte on, wherever that is."""
    return np.ndarray((max(len(data) - 7, 0),), np.uint64, data.data.cast("B"), 0, (1,))


def _spelt(known: NDArray[np.int8]) -> NDArray[np.uint64]:
    """What the eight bits of each byte stand for, known[0] and known[1], as eight bytes."""
    return np.asarray(known[(np.arange(256)[:, None] >> np.arange(8)) & 1].view(np.uint64).ravel())


def _reads(stored: str, kind: pa.DataType) -> bool:
    """Whether values that are stored so are what we make of this type."""
    if pa.types.is_dictionary(kind) and kind.index_type == pa.int32() and kind.value_type == pa.string():
        return stored == "BYTE_ARRAY"
    if pa.types.is_float64(kind):
        return stored == "DOUBLE"
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_signed_integer(kind) and stored in ("INT32", "INT64")
