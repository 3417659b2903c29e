"""Rows kept for regressions that need them one by one: all, or a random part of them where they are too many."""

from __future__ import annotations

import numpy as np

from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.regress.base import FOLDS, Matrix, Vector

CELLS = 48_000_000  # numbers that are kept at most: 192 MB


class RowTraining:
    """Rows in memory as 32-bit numbers. Each row gets a random number; beyond `CELLS` the smallest are kept."""

    def __init__(self, width: int, folds: int = FOLDS) -> None:
        self.width, self.folds = width, folds
        self.room = max(CELLS // max(width, 1), 1000)
        self.seen = 0
        self._limit = 1.0
        self._rng = np.random.default_rng(0)
        self._chunks: list[tuple[Matrix, Vector, Vector, Codes, Vector]] = []
        self._kept = 0

    def add(self, x: Matrix, y: Vector, weight: Vector, fold: Codes) -> None:
        key = self._rng.random(len(y))
        self.seen += len(y)
        keep = key < self._limit
        self._chunks.append((x[keep].astype(np.float32), y[keep], weight[keep], fold[keep], key[keep]))
        self._kept += int(keep.sum())
        if self._kept > 2 * self.room:
            self._thin()

    def _thin(self) -> None:
        key = np.concatenate([chunk[4] for chunk in self._chunks])
        if len(key) > self.room:
            self._limit = float(np.partition(key, self.room)[self.room])
        self._chunks = [self._below(chunk) for chunk in self._chunks]
        self._kept = sum(len(chunk[1]) for chunk in self._chunks)

    def _below(
        self, chunk: tuple[Matrix, Vector, Vector, Codes, Vector]
    ) -> tuple[Matrix, Vector, Vector, Codes, Vector]:
        x, y, weight, fold, key = chunk
        keep = key < self._limit
        return x[keep], y[keep], weight[keep], fold[keep], key[keep]

    def gathered(self, without: int | None) -> tuple[Matrix, Vector, Vector, Codes, list[str]]:
        """All rows but those of one fold, and what to say of them."""
        if self._kept > self.room:
            self._thin()
        if len(self._chunks) > 1:
            x, y, weight, fold, key = (np.concatenate(parts) for parts in zip(*self._chunks, strict=True))
            self._chunks = [(x, y, weight, fold, key)]
        if not self._chunks:
            raise _nothing()
        x, y, weight, fold, _ = self._chunks[0]
        keep = weight > 0
        if without is not None:
            keep &= fold != without
        if not keep.any():
            raise _nothing()
        said = []
        if self._kept < self.seen:
            said = [f"the model learnt from {self._kept:,} of {self.seen:,} rows, drawn at random"]
        return x[keep], _rounded(y[keep]), weight[keep], fold[keep], said


def _rounded(y: Vector) -> Vector:
    """To 24 bits of the largest: sums that differ by their last bits must not decide between equally good splits."""
    largest = float(np.abs(y).max()) * (1 + 1e-9)  # so that the last bits of a power of two do not matter either
    if not 0 < largest < np.inf:
        return y
    step = 2.0 ** max(np.ceil(np.log2(largest)) - 24, np.finfo(np.float64).minexp)
    return np.asarray(np.round(y / step) * step)


def _nothing() -> InputError:
    return InputError("there are no rows to learn from: give features for the items that the log shows")
