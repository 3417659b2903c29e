"""A table X as scikit-learn passes it: features, and the columns that are none."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from counterrank.errors import InputError, near
from counterrank.learning.examples import Matrix
from counterrank.limits import LARGEST
from counterrank.records import dataclass


@dataclass(frozen=True)
class Columns:
    """X taken apart."""

    width: int  # of X
    features: Matrix  # (N, F)
    names: list[str]  # of the features
    page: NDArray[Any] | None  # (N,)
    position: NDArray[Any] | None  # (N,)


def columns_of(X: Any, page: int | str | None, position: int | str | None) -> Columns:
    """The features of X, an array or a data frame, and the columns of page and position, by number or by name."""
    framed = hasattr(X, "columns")
    array = X if framed else check_array(X, dtype=None)
    every = [str(name) for name in X.columns] if framed else [f"f{k + 1}" for k in range(array.shape[1])]
    taken = [None if name is None else _place(name, every, framed) for name in (page, position)]
    kept = [k for k in range(len(every)) if k not in taken]
    if framed:
        parts = [None if k is None else np.asarray(X[X.columns[k]]) for k in taken]
        rest = X[[X.columns[k] for k in kept]]
    else:
        parts = [None if k is None else np.asarray(array[:, k]) for k in taken]
        rest = array[:, kept]
    features = check_array(rest, dtype=np.float64)
    largest = float(np.abs(features).max())
    if largest > LARGEST:
        raise InputError(f"X has a number of size {largest:g}: expected up to {LARGEST:g}")
    return Columns(len(every), features, [every[k] for k in kept], *parts)


def _place(name: int | str, every: list[str], framed: bool) -> int:
    """The number of a column."""
    if isinstance(name, str):
        if not framed:
            raise InputError(f"column {name!r} is a name, but X is an array: give a data frame, or the column's number")
        if name not in every:
            raise InputError(f"X has no column {name!r}{near(name, every)}; it has {', '.join(every)}")
        return every.index(name)
    if not -len(every) <= name < len(every):
        raise InputError(f"X has {len(every)} columns, and none is number {name}: they count from 0")
    return name % len(every)
