"""A kernel over many rows, in two threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.click.base import Floats

WORTH = 1 << 15  # rows below which a second thread costs more than it brings


def in_halves(
    kernel: Callable[..., float], rows: Sequence[NDArray[Any]], shared: Sequence[Any], sums: Sequence[Floats]
) -> float:
    """kernel(*rows, *shared, *sums): it fills `sums` and gives a number, both of which add over rows."""
    size = len(rows[0])
    if size < WORTH:
        return float(kernel(*rows, *shared, *sums))
    more = [np.zeros_like(each) for each in sums]
    half = size // 2
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(kernel, *(each[half:] for each in rows), *shared, *more)
        total = float(kernel(*(each[:half] for each in rows), *shared, *sums))
        total += float(other.result())
    for own, added in zip(sums, more, strict=True):
        own += added
    return total
