"""JSON Lines that are plain, in one pass over their bytes.

DuckDB reads any JSON, but where ids may be text it makes a text of each before it can be looked at, which takes most of
the time. Nearly all logs hold no more than texts without escapes, whole numbers, and lists of these. A line is plain if
it is an object of such values and has every wanted column once, with a value that could stand in a good row. What this
reader gives for plain lines is what DuckDB gives; a block with any other line is left to DuckDB.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.errors import InputError
from counterrank.log.parts import Wanted

WORTH = 16 << 20  # bytes of a file from which on this reader is worth its start: five seconds, once, to compile it
BLOCK = 8 << 20
_TAIL = 1 << 16  # bytes to look for the end of a line in
_LONGEST = 16 << 20  # bytes of a line beyond its block: whoever has longer ones is DuckDB's to answer
_NEWLINE = 10
_TEXT, _NUMBER, _BIT, _SKIPPED = 0, 1, 2, 3
_KINDS = {  # of our columns: the kind of their values, and whether they come in lists
    "query": (_TEXT, False), "items": (_TEXT, True), "clicks": (_BIT, True), "reward": (_NUMBER, False),
    "day": (_TEXT, False), "propensity": (_NUMBER, False), "item_propensities": (_NUMBER, True),
    "impressions": (_NUMBER, False), "cluster": (_TEXT, False), "segment": (_TEXT, False),
}  # fmt: skip
_WORDS = np.frombuffer(b"truefalsenull", dtype=np.uint8).copy()
Bytes = NDArray[np.uint8]


def plain_pieces(path: Path, wanted: Wanted) -> list[Iterator[pa.RecordBatch | None]]:
    """The rows of a JSON Lines file in blocks that can be read side by side; None instead of a block that is not plain.
    No pieces where the file is not worth it."""
    try:
        found = path.stat()
    except OSError:
        return []  # whoever reads it next says so
    theirs = list(wanted.values())
    if found.st_size < WORTH or len(set(theirs)) < len(theirs) or not all(ours in _KINDS for ours in wanted):
        return []

    same, rooms = (found.st_dev, found.st_ino), [_Room()]  # as many as threads that read

    def piece(start: int) -> Iterator[pa.RecordBatch | None]:
        try:
            room = rooms.pop()
        except IndexError:
            room = _Room()
        try:
            block = _lines(path, start, min(start + BLOCK, found.st_size), same, room)
            if block is None or len(block):
                yield None if block is None else _batch(block, wanted, room)
        finally:
            rooms.append(room)

    return [piece(start) for start in range(0, found.st_size, BLOCK)]


class _Room:
    """Memory that block after block is read into: to ask for new memory costs more than to fill it."""

    def __init__(self) -> None:
        self.block = bytearray()
        self.texts = np.zeros((0, 0), dtype=np.uint8)
        self.ends = self.rows = np.zeros((0, 0), dtype=np.int32)

    def fit(self, columns: int, size: int) -> None:
        """Make room for the values of so many columns and bytes."""
        if len(self.texts) < columns or self.texts.shape[1] < size:
            self.texts = np.empty((columns, size), dtype=np.uint8)
            self.ends = np.zeros((columns, size // 2 + 2), dtype=np.int32)  # a value takes two bytes at least
            self.rows = np.zeros_like(self.ends)


def _lines(path: Path, start: int, stop: int, same: tuple[int, int], room: _Room) -> Bytes | None:
    """The lines that begin from `start` on and before `stop`, in this room; None where the last is too long."""
    try:
        with path.open("rb", buffering=0) as file:
            now = os.fstat(file.fileno())
            if (now.st_dev, now.st_ino) != same:
                raise InputError(f"{path}: the log changed while it was read: try again when nothing writes to it")
            before = max(start - 1, 0)
            file.seek(before)
            end = _fill(room, file, 0, stop - before)
            first = room.block.find(b"\n", 0, end) + 1 if start else 0
            if start and not first:  # in the midst of a line that began before
                return np.zeros(0, dtype=np.uint8)
            while end > first and room.block[end - 1] != _NEWLINE:
                if end > stop - before + _LONGEST:
                    return None
                last = _fill(room, file, end, _TAIL)
                found = room.block.find(b"\n", end, last)
                if last == end:  # the file ends without one
                    room.block[end] = _NEWLINE
                    last += 1
                end = found + 1 if found >= 0 else last
            if now.st_size <= stop and room.block[end - 2 : end].isspace():  # blank lines at the end are none
                end = len(room.block[:end].rstrip(b"\r\n")) + 1
                room.block[end - 1] = _NEWLINE
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    return np.frombuffer(room.block, dtype=np.uint8)[first:end]


def _fill(room: _Room, file: BinaryIO, at: int, size: int) -> int:
    """Read so many bytes to this place, or as many as there are; where they end."""
    if len(room.block) < at + size + 1:
        room.block = room.block[:at] + bytearray(size + 1 + at // 4)
    stop = at + size
    while at < stop:
        with memoryview(room.block) as view:
            read = file.readinto(view[at:stop])  # type: ignore[attr-defined]
        if not read:
            break
        at += read
    return at


def _batch(block: Bytes, wanted: Wanted, room: _Room) -> pa.RecordBatch | None:
    """The wanted columns of these lines, or None where one of them is not plain."""
    names = [theirs.encode() for theirs in wanted.values()]
    name_ends = np.cumsum([0, *map(len, names)])
    kinds = np.array([_KINDS[ours][0] for ours in wanted])
    listed = np.array([_KINDS[ours][1] for ours in wanted])
    room.fit(len(wanted), len(block))
    texts, ends, rows = room.texts, room.ends, room.rows
    count = _parse(block, np.frombuffer(b"".join(names), np.uint8), name_ends, kinds, listed, texts, ends, rows)
    if count < 0 or not _decodable(block):
        return None
    arrays = []
    for i in range(len(wanted)):
        size = int(rows[i, count]) if listed[i] else count
        if kinds[i] == _BIT:
            values = pa.Array.from_buffers(pa.int8(), size, [None, pa.py_buffer(texts[i, :size].copy())])
        else:
            text = pa.py_buffer(texts[i, : ends[i, size] if size else 0].copy())
            values = pa.StringArray.from_buffers(size, pa.py_buffer(ends[i, : size + 1].copy()), text)
        if kinds[i] == _NUMBER:
            values = values.cast(pa.float64())
        arrays.append(pa.ListArray.from_arrays(pa.array(rows[i, : count + 1].copy()), values) if listed[i] else values)
    return pa.RecordBatch.from_arrays(arrays, names=list(wanted))


def _decodable(block: Bytes) -> bool:
    """Whether all of it is UTF-8."""
    if block.max() < 128:
        return True
    try:
        block.tobytes().decode()
    except UnicodeDecodeError:
        return False
    return True


@njit(nogil=True)
def _after_blanks(block, at):  # type: ignore[no-untyped-def]
    while block[at] == 32 or block[at] == 9:
        at += 1
    return at


@njit(nogil=True)
def _text_end(block, at):  # type: ignore[no-untyped-def]
    """Where the closing quote stands; -1 where a character is escaped, or may not stand in a text."""
    while block[at] != 34:
        if block[at] < 32 or block[at] == 92:
            return -1
        at += 1
    return at


@njit(nogil=True)
def _after_digits(block, at):  # type: ignore[no-untyped-def]
    while 48 <= block[at] <= 57:
        at += 1
    return at


@njit(nogil=True)
def _whole_end(block, at):  # type: ignore[no-untyped-def]
    """Where a whole number ends that surely has 64 bits; -1 where there is none."""
    start = at + 1 if block[at] == 45 else at
    end = _after_digits(block, start)
    if end == start or end - start > 18 or (block[start] == 48 and end > start + 1):
        return -1
    return end


@njit(nogil=True)
def _number_end(block, at):  # type: ignore[no-untyped-def]
    """Where a number ends that surely is finite; -1 where there is none."""
    end = _whole_end(block, at)
    if end >= 0 and block[end] == 46:
        start = end + 1
        end = _after_digits(block, start)
        if end == start or end - start > 40:
            return -1
    if end >= 0 and (block[end] | 32) == 101:
        start = end + 1
        if block[start] == 45 or block[start] == 43:
            start += 1
        end = _after_digits(block, start)
        if end == start or end - start > 2:
            return -1
    return end


@njit(nogil=True)
def _value_end(block, at, kind):  # type: ignore[no-untyped-def]
    """Where a number, or a value that is skipped, ends, a text without its closing quote; -1 where there is none."""
    sign = block[at]
    if kind == _SKIPPED and sign == 34:
        return _text_end(block, at + 1)
    if kind == _SKIPPED and sign > 57:
        first, last = (0, 4) if sign == 116 else ((4, 9) if sign == 102 else (9, 13))
        for i in range(first, last):
            if block[at] != _WORDS[i]:
                return -1
            at += 1
        return at
    return _number_end(block, at)


@njit(nogil=True)
def _column(block, start, end, names, name_ends):  # type: ignore[no-untyped-def]
    """Which name stands there: -1 for one that is not wanted, -2 for one that differs from such in its case only."""
    for column in range(len(name_ends) - 1):
        first = name_ends[column]
        if name_ends[column + 1] - first == end - start:
            same = alike = True
            for i in range(end - start):
                same &= block[start + i] == names[first + i]
                alike &= (block[start + i] | 32) == (names[first + i] | 32)
            if alike:
                return column if same else -2
    return -1


@njit(nogil=True)
def _parse(block, names, name_ends, kinds, listed, texts, ends, rows):  # type: ignore[no-untyped-def]
    """How many lines there are, -1 where one is not plain. The last byte ends a line, and with it every loop.

    The values of a column stand in `texts` one after the other, value i up to ends[i + 1]; those of lists are counted
    in `rows`. Of clicks there is a byte each.
    """
    met, used, count = np.zeros(len(kinds), np.int64), np.zeros(len(kinds), np.int64), np.zeros(len(kinds), np.int64)
    at = row = 0
    while at < len(block):
        at = _after_blanks(block, at)
        sign, left = block[at], len(kinds)
        if sign != 123:
            return -1
        while sign != 125:
            at = _after_blanks(block, at + 1)
            end = _text_end(block, at + 1) if block[at] == 34 else -1
            if end < 0:
                return -1
            column = _column(block, at + 1, end, names, name_ends)
            at = _after_blanks(block, end + 1)
            if column == -2 or block[at] != 58:
                return -1
            at = _after_blanks(block, at + 1)
            many, kind, size, filled = block[at] == 91, _SKIPPED, 0, 0
            if column >= 0:
                kind, size, filled = kinds[column], count[column], used[column]
                if met[column] > row or listed[column] != many:
                    return -1
                met[column] = row + 1
                left -= 1
            if many:
                at = _after_blanks(block, at + 1)
            while not (many and block[at] == 93):
                sign = block[at]
                if kind == _BIT:
                    if sign != 48 and sign != 49:
                        return -1
                    texts[column, size] = sign - 48
                    at += 1
                elif kind == _TEXT and sign == 34:
                    at += 1
                    while block[at] != 34:
                        if block[at] < 32 or block[at] == 92:
                            return -1
                        texts[column, filled] = block[at]
                        filled += 1
                        at += 1
                    at += 1
                    ends[column, size + 1] = filled
                elif kind == _TEXT:
                    start = at
                    if sign == 45:
                        texts[column, filled] = sign
                        filled += 1
                        at += 1
                    first = at
                    while 48 <= block[at] <= 57:
                        texts[column, filled] = block[at]
                        filled += 1
                        at += 1
                    if at == first or at - first > 18 or (block[first] == 48 and at > start + 1):
                        return -1
                    ends[column, size + 1] = filled
                else:
                    end = _value_end(block, at, kind)
                    if end < 0:
                        return -1
                    if kind == _NUMBER:
                        for i in range(at, end):
                            texts[column, filled] = block[i]
                            filled += 1
                        ends[column, size + 1] = filled
                    at = end + 1 if sign == 34 else end
                size += 1
                if block[at] <= 32:
                    at = _after_blanks(block, at)
                if not many:
                    break
                if block[at] == 44:
                    at += 1
                    if block[at] <= 32:
                        at = _after_blanks(block, at)
                    if block[at] == 93:
                        return -1
                elif block[at] != 93:
                    return -1
            if many:
                at = _after_blanks(block, at + 1)
            if column >= 0:
                count[column], used[column], rows[column, row + 1] = size, filled, size
            sign = block[at]
            if sign != 44 and sign != 125:
                return -1
        at = _after_blanks(block, at + 1)
        if block[at] == 13:
            at += 1
        if left or block[at] != 10:
            return -1
        at += 1
        row += 1
    return row
