"""Work shared between two threads: kernels and most of NumPy let go of the interpreter."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")


def in_two(run: Callable[[int, int], None], size: int, worth: int) -> None:
    """run(begin, end) on 0 to `size`: in two halves, side by side, if there are as many rows as `worth`."""
    if size < worth:
        run(0, size)
    else:
        side_by_side(lambda: run(0, size // 2), lambda: run(size // 2, size))


def side_by_side(one: Callable[[], A], other: Callable[[], B]) -> tuple[A, B]:
    """What both give. The second runs in a thread, under the same settings of NumPy's warnings.

    >>> side_by_side(lambda: 1, lambda: 2)
    (1, 2)
    """
    from concurrent.futures import ThreadPoolExecutor  # slow to import

    settings = copy_context()
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(settings.run, other)
        return one(), second.result()


def in_turn(jobs: Sequence[Callable[[], A]]) -> list[A]:
    """What all of them give, done by two threads, each of which takes the next that nobody has begun.

    >>> in_turn([lambda: 1, lambda: 2, lambda: 3])
    [1, 2, 3]
    """
    found: dict[int, A] = {}
    left = iter(range(len(jobs)))  # whose next number one thread gets, and no other

    def work() -> None:
        for number in left:
            found[number] = jobs[number]()

    side_by_side(work, work)
    return [found[number] for number in range(len(jobs))]


def one_thread_for_matrices() -> AbstractContextManager[object]:
    """For many small matrices: the linear algebra library's own threads would wait for each other, and, when there is
    nothing more to do, go on waiting on the core that our second thread could use."""
    if os.environ.get("OPENBLAS_NUM_THREADS") == "1":  # nothing to look for
        return nullcontext()
    limit: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limit


@cache
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # looking for them takes longer than a small estimate
