"""What a regression is: it collects rows in chunks, then fits, its one hyper-parameter chosen by cross-validation."""

from __future__ import annotations

from typing import ClassVar, Protocol
from zlib import crc32

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.ids import Codes

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
FOLDS = 5


class Fitted(Protocol):
    """A fitted regression. `r2`: how much of the variance it explains in folds that it did not see, None if unknown."""

    @property
    def chosen(self) -> str:
        """The hyper-parameter, in words."""

    @property
    def r2(self) -> float | None: ...

    @property
    def notes(self) -> list[str]: ...

    def predict(self, x: Matrix) -> Vector: ...


class Training(Protocol):
    """Rows to learn from, each in a fold; the rows of one query are all in the same."""

    name: ClassVar[str]
    linear: ClassVar[bool]  # it fits intercept + x @ coefficients

    def __init__(self, width: int, folds: int = FOLDS) -> None: ...

    def add(self, x: Matrix, y: Vector, weight: Vector, fold: Codes) -> None:
        """More rows: x is (N, width), and fold counts from 0."""

    def fit(self, without: int | None = None) -> Fitted:
        """Fit on all folds, or all but one; the hyper-parameter by cross-validation over the same folds."""


def folds_of(queries: pa.Array, folds: int = FOLDS) -> Codes:
    """A fold for each query, from its text alone: the same in every engine and whatever the order of rows.

    >>> folds_of(pa.array(["a", "b", "a"]), 2).tolist()
    [1, 1, 1]
    """
    return np.array([crc32(text.encode()) % folds for text in queries.to_pylist()], dtype=np.int64)


def splits(present: list[int]) -> list[tuple[int, list[int]]]:
    """Each fold with the others, to be tested by them; nothing where there is only one."""
    return [(fold, [other for other in present if other != fold]) for fold in present] if len(present) > 1 else []
