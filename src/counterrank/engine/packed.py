"""Arrays as bytes, to be sent from one process to another: NumPy's .npz form, without pickles."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
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
