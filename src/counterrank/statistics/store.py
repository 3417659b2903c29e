"""Counts as one file: arrays in NumPy's .npz form, without pickles, so that a file from elsewhere is safe to open.

The file ends with the SHA-256 of all bytes before it (as the comment of a zip file, so that NumPy reads it too), and
none is read whose bytes have another: one changed byte could lose a whole field without a sign.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.ids import Ids, apart, together
from counterrank.output import writing
from counterrank.statistics.cells import Cells, Tally
from counterrank.statistics.counts import Counts, sum_chunks
from counterrank.statistics.days import DaySums
from counterrank.statistics.item_chances import ItemChances
from counterrank.statistics.looks import LookCounts
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.patterns import Patterns
from counterrank.statistics.rankings import Rankings

FORMAT, VERSION, BEFORE = "counterrank-counts", 5, 4  # which had whole numbers in eight bytes each
MOST_BYTES = 1 << 31  # of all ids of a kind together, as Arrow has them
_DIGEST = 64  # bytes of a SHA-256 in hexadecimal digits
_GROUPS = ("rankings", "pages")
_INSIDE: dict[str, Callable[..., Any]] = {
    "pairs": Pairs, "cells": Cells, "whole": Tally, "whole.cells": Cells, "rankings": Rankings, "pages": Rankings,
    "looks": LookCounts, "patterns": Patterns, "days": DaySums, "item_chances": ItemChances,
}  # fmt: skip
Arrays = dict[str, NDArray[Any]]


def save_counts(counts: Counts, path: str | Path) -> None:
    """Write counts; a file that is there is replaced. Groups of rankings that live on disk are read whole."""
    content = packed_counts(counts)
    with writing(path) as file:
        file.write(content)


def stored_fields() -> list[str]:
    """What of counts a file holds: all but what was made of them."""
    return [each.name for each in fields(Counts) if each.name != "memo"]


def packed_counts(counts: Counts) -> bytes:
    """Counts as the bytes of such a file."""
    arrays: Arrays = {}
    numbers: dict[str, Any] = {}
    for name in stored_fields():
        value = getattr(counts, name)
        _put(name, sum_chunks(value) if name in _GROUPS and value is not None else value, arrays, numbers)
    head = json.dumps({"format": FORMAT, "version": VERSION, "numbers": numbers})
    packed = io.BytesIO()
    short = {name: shortened(array) for name, array in arrays.items()}
    np.savez(packed, allow_pickle=False, head=np.frombuffer(head.encode(), dtype=np.uint8), **short)
    return sealed(packed)


def read_counts(path: str | Path) -> Counts:
    """The counts that `save` wrote; whatever is not as it should be is refused in one line."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}): check the path") from None
    try:
        return unpacked_counts(data)
    except InputError as error:
        raise InputError(f"{path}: {error}: count the log anew") from None
    except (ValueError, KeyError, TypeError, IndexError, EOFError, OSError, MemoryError, OverflowError, RecursionError,
            zipfile.BadZipFile, NotImplementedError, SyntaxError, pa.ArrowException) as error:  # fmt: skip
        said = (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
        raise InputError(f"{path}: not a whole file of counts ({said}): count the log anew") from None


def sealed(packed: io.BytesIO) -> bytes:
    """A zip file with the SHA-256 of its bytes at its end."""
    with zipfile.ZipFile(packed, "a") as file:
        file.comment = b"0" * _DIGEST
    end = packed.seek(-_DIGEST, io.SEEK_END)
    packed.write(_digest(packed.getbuffer()[:end]))
    return packed.getvalue()


def _digest(content: bytes | memoryview) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def unpacked_counts(data: bytes) -> Counts:
    """The counts that `packed_counts` gave."""
    if _digest(memoryview(data)[:-_DIGEST]) != data[-_DIGEST:]:
        raise InputError("the file was changed or is not whole: its SHA-256 is not the one at its end")
    with zipfile.ZipFile(io.BytesIO(data)) as packed:  # what comes of it is at most eight times as large as the file
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in packed.infolist()):
            raise InputError("the file is compressed, which counts never are")
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    head = json.loads(arrays.pop("head").tobytes().decode())
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise InputError(f"the file does not say that it is {FORMAT}")
    if head.get("version") not in (VERSION, BEFORE):
        raise InputError(f"the file is of version {str(head.get('version'))[:20]}, but this program reads {VERSION}")
    numbers = dict(head["numbers"])
    arrays = {name: array if name.endswith(".bytes") else lengthened(array) for name, array in arrays.items()}
    counts = Counts(**{name: _get(name, arrays, numbers) for name in stored_fields()})
    if arrays or numbers:
        raise InputError(f"the file holds {min([*arrays, *numbers])!r}, which no counts have")
    _check(counts)
    return counts


def shortened(array: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers of eight bytes, none of them negative, in as few bytes as they need; anything else as it is.

    >>> shortened(np.array([3, 300])).dtype, lengthened(shortened(np.array([3, 300])))
    (dtype('uint16'), array([  3, 300]))
    """
    if array.dtype != np.int64 or not array.size or array.min() < 0:
        return array
    most = array.max()
    for kind in (np.uint8, np.uint16, np.uint32):
        if most <= np.iinfo(kind).max:
            return array.astype(kind)
    return array


def lengthened(array: NDArray[Any]) -> NDArray[Any]:
    """What `shortened` was given."""
    return array.astype(np.int64) if array.dtype.kind == "u" and array.itemsize < np.int64().itemsize else array


def _put(name: str, value: Any, arrays: Arrays, numbers: dict[str, Any]) -> None:
    """A field as arrays and numbers, under its name and those of what is inside; nothing of what is None."""
    if isinstance(value, Ids):
        ends, arrays[f"{name}.bytes"] = apart(value.texts)
        arrays[f"{name}.offsets"] = ends.astype(np.int64)
        numbers[f"{name}.integer"] = value.integer
    elif is_dataclass(value):
        for each in fields(value):
            _put(f"{name}.{each.name}", getattr(value, each.name), arrays, numbers)
    elif isinstance(value, tuple):
        arrays[f"{name}.0"], arrays[f"{name}.1"] = map(np.asarray, value)
    elif isinstance(value, np.ndarray):
        arrays[name] = value
    elif value is not None:
        numbers[name] = value


def _get(name: str, arrays: Arrays, numbers: dict[str, Any]) -> Any:
    """The field that `_put` took apart."""
    last = name.rpartition(".")[2]
    if last in ("query_ids", "item_ids"):
        texts = _texts(arrays.pop(f"{name}.offsets"), arrays.pop(f"{name}.bytes"))
        return Ids(texts, bool(numbers.pop(f"{name}.integer")))
    if name in _INSIDE:
        make = _INSIDE[name]
        if not any(key.startswith(f"{name}.") for key in arrays):
            return None
        return make(**{each.name: _get(f"{name}.{each.name}", arrays, numbers) for each in fields(make)})  # type: ignore[arg-type]
    if f"{name}.0" in arrays:
        both = arrays.pop(f"{name}.0"), arrays.pop(f"{name}.1")
        return both if both[0].ndim else (float(both[0]), float(both[1]))
    if name in arrays:
        return arrays.pop(name)
    return numbers.pop(name, None)


def _texts(offsets: NDArray[Any], data: NDArray[Any]) -> pa.Array:
    if offsets.ndim != 1 or len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != data.size:
        raise InputError("the ids are not whole")
    if (np.diff(offsets) < 0).any():
        raise InputError("the ids are not in order")
    if data.size >= MOST_BYTES:
        raise InputError("the ids take 2 GiB or more")
    texts = together(offsets.astype(np.int32), data.astype(np.uint8))
    if len(texts.unique()) < len(texts):
        raise InputError("an id comes twice")
    return texts


def _check(counts: Counts) -> None:
    """Refuse counts whose arrays do not fit each other, before a compiled loop trusts them."""
    pairs = counts.pairs
    if not isinstance(pairs, Pairs) or type(pairs.positions) is not int or pairs.positions < 0:
        raise InputError("the pairs are not whole")
    q, p, k = len(pairs.query_ids), len(pairs.items), pairs.positions
    _shaped("starts", pairs.starts, (q + 1,), 0, p)
    _shaped("items", pairs.items, (p,), 0, len(pairs.item_ids) - 1)
    _shaped("lengths", pairs.lengths, (q,), 0)
    if pairs.starts[0] != 0 or pairs.starts[-1] != p or (np.diff(pairs.starts) < 0).any():
        raise InputError("the pairs are not in order")
    _shaped("impressions", counts.impressions, (q,), 0)
    _check_cells(counts, p, k)
    if counts.whole is not None:
        _check_cells(counts.whole)
    for name in ("reward", "reward2"):
        _shaped(name, getattr(counts, name), (q,))
    for groups in (counts.rankings, counts.pages):
        if isinstance(groups, Rankings):
            g = len(groups.queries)
            _shaped("queries of rankings", groups.queries, (g,), 0, q - 1)
            _shaped("rankings", groups.rows, (g, k), -1, p - 1)
            for each in (groups.impressions, groups.reward, groups.reward2, groups.propensity):
                _shaped("sums of rankings", each, (g,)) if each is not None else None
    if counts.looks is not None:
        _shaped("looks", counts.looks.table, (p, 4), 0)
        _shaped("last clicks", counts.looks.last_at, (q, k), 0)
    if counts.patterns is not None:
        g = len(counts.patterns.queries)
        _shaped("queries of patterns", counts.patterns.queries, (g,), 0, q - 1)
        _shaped("patterns", counts.patterns.coded, (g, k), -1, 2 * p - 1)
        _shaped("impressions of patterns", counts.patterns.impressions, (g,), 0)
        _shaped("days of patterns", counts.patterns.days, (g,)) if counts.patterns.days is not None else None
    if counts.item_chances is not None:
        for name in ("inverse", "clicked", "least"):
            _shaped(name, getattr(counts.item_chances, name), (len(counts.cells),))
    if counts.days is not None:
        size = (len(counts.days.days),)
        for name in ("days", "impressions", "reward", "reward2"):
            _shaped(name, getattr(counts.days, name), size)
    for name in ("log_impressions", "longest"):
        if type(getattr(counts, name)) is not int:
            raise InputError(f"{name} is not a whole number")
    if isinstance(counts.origin, bool) or not isinstance(counts.origin, int | float):
        raise InputError("the origin is not a number")


def _check_cells(counts: Counts | Tally, pairs: int | None = None, positions: int | None = None) -> None:
    cells = counts.cells
    if not isinstance(cells, Cells) or type(cells.depth) is not int or positions not in (None, cells.depth):
        raise InputError("the cells are not whole")
    size = len(cells.positions)
    _shaped("starts of cells", cells.starts, (len(cells.starts) if pairs is None else pairs + 1,), 0, size)
    _shaped("positions of cells", cells.positions, (size,), 0, cells.depth - 1)
    if cells.starts[0] != 0 or cells.starts[-1] != size or (np.diff(cells.starts) < 0).any():
        raise InputError("the cells are not in order")
    if (np.diff(cells.keys) <= 0).any():
        raise InputError("the cells are not in order")
    _shaped("shown", counts.shown, (size,), 0)
    _shaped("clicked", counts.clicked, (size,), 0)


def _shaped(name: str, array: Any, shape: tuple[int, ...], low: float | None = None, high: float | None = None) -> None:
    """An array of finite numbers of this shape; whole ones from `low` to `high` where they are given."""
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype.kind not in "if":
        came = array.shape if isinstance(array, np.ndarray) else type(array).__name__
        raise InputError(f"{name}: {came} came where {shape} numbers were expected")
    if not np.isfinite(array).all() or (low is not None and array.dtype.kind != "i"):
        raise InputError(f"{name}: some are not whole numbers, or not finite")
    if array.size and ((low is not None and array.min() < low) or (high is not None and array.max() > high)):
        raise InputError(f"{name}: some are out of range")


__all__ = ["packed_counts", "read_counts", "save_counts", "unpacked_counts"]
