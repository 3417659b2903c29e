"""Logs in other people's formats: what every reader gives, what they share, and the registry.

A reader turns foreign files into our list form. It repairs what it can and counts what it repaired: each of its
notes is one sentence with the number in it. What it cannot read is an `InputError` with file, line and expectation.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.records import dataclass

SHOWN = 80  # characters of a bad line that an error repeats


@dataclass(frozen=True)
class Foreign:
    """A log in list form, one row per page, and what was repaired on the way.

    The columns are `query` (string), `items` (list of string), `clicks` (list of int8, as long as `items`), and
    `day`, `propensity` where the format has them.
    """

    table: pa.Table
    notes: list[str]


class Reader(Protocol):
    """Reads files of one format. `time_unit` is for formats whose times are bare numbers."""

    def __call__(self, paths: Sequence[Path], *, time_unit: str | None = None) -> Foreign: ...


@dataclass(frozen=True)
class Lazy:
    """A reader whose module is loaded when it is first used: the modules import this one for `Foreign`."""

    module: str

    def __call__(self, paths: Sequence[Path], *, time_unit: str | None = None) -> Foreign:
        read: Reader = import_module(f"counterrank.log.{self.module}").read
        return read(paths, time_unit=time_unit)


FORMATS: dict[str, Reader] = {
    "ubi": Lazy("ubi"),
    "yandex": Lazy("yandex"),
    "obd": Lazy("obd"),
    "letor": Lazy("letor"),
}
PATTERNS = {"obd": "*.csv*"}  # which files of a folder are meant, where not all are


def clipped(text: str) -> str:
    """A line for an error message: on one line, and no longer than a reader can bear."""
    short = text if len(text) <= SHOWN else text[:SHOWN] + "…"
    return repr(short)


def bad_line(path: Path, number: int, text: str, expected: str) -> InputError:
    """The error for a line that is not of the format."""
    return InputError(f"{path}, line {number}: came {clipped(text)}, expected {expected}")


def no_time_unit(time_unit: str | None, why: str) -> None:
    """Refuse a time unit where it would be ignored."""
    if time_unit is not None:
        raise InputError(f"`time_unit={time_unit}` does not apply: {why}. Leave it out")


def files_of(paths: Sequence[Path], pattern: str = "*") -> list[Path]:
    """The files that are meant: a folder stands for the files in it and below that fit the pattern, sorted."""
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = [p for p in path.rglob(pattern) if p.is_file() and not p.name.startswith((".", "_"))]
            if not inside:
                raise InputError(f"{path}: a folder with no {pattern} file in it, expected at least one")
            found += sorted(inside)
        elif path.is_file():
            found.append(path)
        else:
            raise InputError(f"{path}: no such file")
    if not found:
        raise InputError("no file was given, expected at least one")
    return found


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"{path}: cannot be read ({error}): is the file whole, and may you read it?")


def opening(path: Path, size: int = 65_536) -> str:
    """The first line of a file that is not blank, cut to a size: enough to tell a layout from."""
    try:
        with path.open("rb") as plain:
            zipped = plain.read(2) == b"\x1f\x8b"
        with gzip.open(path) if zipped else path.open("rb") as file:
            for line in iter(lambda: file.readline(size), b""):
                if line.strip():
                    return line.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace").strip("\r\n")
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from None
    raise InputError(f"{path}: the file is empty, expected at least one line")


def content(path: Path) -> bytes:
    """All bytes of a file, unzipped if it is gzipped (told by its first bytes, not by its name)."""
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from None
    if not data.strip():
        raise InputError(f"{path}: the file is empty, expected at least one line")
    return data.removeprefix(b"\xef\xbb\xbf")


@dataclass(frozen=True)
class Lines:
    """The lines of some files that are not blank, with their file and their number in it, from 1."""

    paths: list[Path]
    file: NDArray[np.int64]
    numbers: NDArray[np.int64]
    texts: pa.Array  # large_string

    def check(self, good: Any, expected: str) -> None:
        """Stop at the first line that is not good. `good` is a boolean array of NumPy or Arrow."""
        wrong = np.flatnonzero(~np.asarray(good, dtype=bool))
        if len(wrong):
            at = int(wrong[0])
            raise bad_line(self.paths[self.file[at]], int(self.numbers[at]), self.texts[at].as_py(), expected)


def lines_of(paths: list[Path], *, separator: str = "\n", trim: str = "") -> Lines:
    """The lines of files, without a Python loop over them; each loses the characters of `trim` at its right end.

    A `separator` other than a newline ends a record too; numbers are those of the lines still.
    """
    parts = [_split(path, separator, trim) for path in paths]
    file = np.repeat(np.arange(len(parts)), [len(texts) for texts, _ in parts])
    numbers = np.concatenate([numbers for _, numbers in parts])
    return Lines(list(paths), file, numbers, pa.concat_arrays([texts for texts, _ in parts]))


def _split(path: Path, separator: str, trim: str) -> tuple[pa.Array, NDArray[np.int64]]:
    data = content(path)
    codes = np.frombuffer(data, dtype=np.uint8)
    newline = codes == ord("\n")
    ends = np.flatnonzero(newline | (codes == ord(separator))) + 1
    if not len(ends) or ends[-1] < len(codes):
        ends = np.append(ends, len(codes))
    offsets = np.concatenate([[0], ends]).astype(np.int64)
    numbers = 1 + np.concatenate([[0], np.cumsum(newline[ends[:-1] - 1])]).astype(np.int64)
    texts = pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(data))
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        raise _not_utf8(path, data) from None
    texts = pc.ascii_rtrim(texts, characters="\r\n" + separator + trim)
    full = pc.greater(pc.binary_length(pc.ascii_trim_whitespace(texts)), 0)
    return texts.filter(full), numbers[full.to_numpy(zero_copy_only=False)]


def _not_utf8(path: Path, data: bytes) -> InputError:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        return InputError(f"{path}, line {number}: came a byte that is not UTF-8, expected UTF-8 text")
    return InputError(f"{path}: cannot be read as UTF-8 text")
