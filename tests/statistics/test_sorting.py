"""Sorting in compiled code gives what NumPy's stable sort gives."""

from __future__ import annotations

import numpy as np
import pytest

from counterrank.statistics.sorting import falling


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 9, 64, 100, 1000])
def test_the_order_is_that_of_a_stable_sort(size: int) -> None:
    rng = np.random.default_rng(size)
    for values in (rng.random(size), rng.integers(0, 5, size).astype(float), np.zeros(size), np.arange(size) * 1.0):
        assert falling(values).tolist() == np.argsort(-values, kind="stable").tolist()


def test_what_is_no_number_comes_last_and_infinity_has_its_place() -> None:
    values = np.array([np.nan, 1.0, np.inf, np.nan, -np.inf, 1.0])
    assert falling(values).tolist() == [2, 1, 5, 4, 0, 3]
