"""Arrays as bytes, to be sent from one process to another: NumPy's .npz form, without pickles."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def packed(arrays: Mapping[str, NDArray[Any] | None]) -> bytes:
    """Named arrays; those that are None are left out.

    >>> unpacked(packed({"a": np.arange(3), "b": None}))
    {'a': array([0, 1, 2])}
    """
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **{name: array for name, array in arrays.items() if array is not None})
    return out.getvalue()


def unpacked(data: Any) -> Arrays:
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def text_arrays(name: str, texts: pa.Array) -> Arrays:
    """Texts (none missing) as two arrays, of where each begins and of their bytes.

    >>> texts_of("id", text_arrays("id", pa.array(["a", "bc"])[1:])).to_pylist()
    ['bc']
    """
    _, offsets, data = texts.buffers()
    if not len(texts) or data is None:
        return {f"{name}.ends": np.zeros(len(texts) + 1, dtype=np.int32), f"{name}.bytes": np.zeros(0, dtype=np.uint8)}
    ends = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    used = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]]
    return {f"{name}.ends": ends - ends[0], f"{name}.bytes": used}


def texts_of(name: str, arrays: Mapping[str, NDArray[Any]]) -> pa.Array:
    """The texts that `text_arrays` took apart."""
    ends, data = (np.ascontiguousarray(arrays[f"{name}.{half}"]) for half in ("ends", "bytes"))
    texts = pa.StringArray.from_buffers(len(ends) - 1, pa.py_buffer(ends), pa.py_buffer(data))
    texts.validate(full=True)
    return texts
