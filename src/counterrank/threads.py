"""Work on numbered rows, shared between two threads: kernels and NumPy's sorts let go of the interpreter."""

from __future__ import annotations

from collections.abc import Callable


def in_two(run: Callable[[int, int], None], size: int, worth: int) -> None:
    """run(begin, end) on 0 to `size`: in two halves, side by side, if there are as many rows as `worth`."""
    if size < worth:
        run(0, size)
        return
    from concurrent.futures import ThreadPoolExecutor  # slow to import

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(run, size // 2, size)
        run(0, size // 2)
        other.result()
