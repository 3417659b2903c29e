"""Keys that are told apart."""

from __future__ import annotations

import numpy as np
import pytest

from counterrank.statistics.hashing import distinct


@pytest.mark.parametrize("size", [0, 1, 5000])
def test_distinct_keys_are_numbered_as_they_are_met(size: int) -> None:
    keys = np.random.default_rng(size).integers(0, 700, size).astype(np.uint64)
    keys[::7] = np.uint64(2**64 - 1)
    first, number = distinct(keys)
    _, earliest = np.unique(keys, return_index=True)
    assert first.tolist() == sorted(earliest)
    assert (keys[first][number] == keys).all()
