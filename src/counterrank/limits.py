"""How large a number may be: beyond, squares and sums of squares leave what floating point holds."""

from __future__ import annotations

LARGEST = 1e50  # rewards, features, weights, in size
LEAST = 1e-50  # numbers that are divided by
NOISE = 1e-14  # below it a number for people is 0: what rounding leaves of a difference
CONFIDENT = 1 - 1e-9  # the largest confidence: nothing is measured beyond it


def reasonable(value: float) -> bool:
    """Whether a number is finite and not beyond LARGEST in size.

    >>> reasonable(-1e50), reasonable(1e51), reasonable(float("nan"))
    (True, False, False)
    """
    return abs(value) <= LARGEST
