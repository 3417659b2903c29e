"""Where rows are few and long, most (pair, position) cells are empty: coefficients for those that rows show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from counterrank.engine.coder import CodedRows
from counterrank.ids import Codes

SMALL = 1 << 20  # cells up to which a full table costs nothing to speak of


@dataclass(frozen=True)
class ShownCells:
    """The cells that rows show. At each position its pairs are numbered anew from 0: `place`."""

    keys: Codes  # position·pairs + pair, ascending
    pair: Codes
    position: Codes
    place: Codes
    first: Codes  # (K,) where each position's begin
    pairs: int

    @classmethod
    def of(cls, parts: Sequence[CodedRows], pairs: int, positions: int) -> ShownCells | None:
        """None where a table of all cells is small, or not much larger than what the rows show."""
        cells = pairs * positions
        if cells <= SMALL or cells < 4 * sum(part.coded.size for part in parts):
            return None
        shown = [_keys(part.coded, pairs)[_inside(part.coded)] for part in parts]
        keys = np.unique(np.concatenate(shown)) if shown else np.zeros(0, dtype=np.int64)
        position, pair = np.divmod(keys, pairs)
        first = np.searchsorted(position, np.arange(positions))
        return cls(keys, pair, position, np.arange(len(keys)) - first[position], first, pairs)

    @property
    def most(self) -> int:
        """The pairs that stand at one position, at most."""
        return int(self.place.max(initial=-1)) + 1

    def recoded(self, part: CodedRows) -> CodedRows:
        """The same rows, each pair under its place."""
        coded = part.coded
        place = np.searchsorted(self.keys, _keys(coded, self.pairs)) - self.first[: coded.shape[1]]
        return replace(part, coded=np.where(coded >= 0, 2 * place + (coded & 1), -1).astype(np.int32))


def _keys(coded: NDArray[np.int32], pairs: int) -> Codes:
    return np.arange(coded.shape[1]) * pairs + (coded >> 1)


def _inside(coded: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which places of a row are before its end; what is behind the end is no code, whatever is there."""
    return np.asarray(np.logical_and.accumulate(coded >= 0, axis=1))
