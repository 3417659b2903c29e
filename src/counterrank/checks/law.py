"""What a law is: a function of one member whose docstring says the law. It raises where the member breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from counterrank.registry import Registry

T = TypeVar("T")
Law = Callable[[T], None]


class LawBroken(AssertionError):
    """Which law a member breaks, what came and what was expected, in one line."""


def hold(who: str, member: T, laws: Iterable[Law[T]]) -> None:
    """Run the laws one by one; the first that is broken is told."""
    for law in laws:
        says = (law.__doc__ or law.__name__).strip().splitlines()[0].rstrip(".")
        try:
            law(member)
        except LawBroken as broken:
            raise LawBroken(f"{who} breaks a law: {says}. {broken}") from None
        except Exception as error:
            lines = str(error).splitlines() or [""]
            raise LawBroken(f"{who} breaks a law: {says}. {type(error).__name__} came: {lines[0]}") from error


def expect(holds: object, came: object, expected: object) -> None:
    """Refuse what does not hold."""
    if not holds:
        raise LawBroken(f"{came} came, {expected} was expected")


def expect_near(came: Any, expected: Any, what: str, rel: float = 1e-9, least: float = 1e-12) -> None:
    """Refuse numbers that differ by more than rounding; None is like None only."""
    if came is None or expected is None:
        expect(came is expected, f"{what} {came}", expected)
        return
    one, two = np.asarray(came, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    expect(one.shape == two.shape, f"{what} of shape {one.shape}", f"shape {two.shape}")
    wrong = ~np.isclose(one, two, rtol=rel, atol=least, equal_nan=True)
    if wrong.any():
        expect(False, f"{what} {one[wrong].flat[0]:.12g}", f"{two[wrong].flat[0]:.12g}")


@contextmanager
def registered(registry: Registry[T], name: str, member: T) -> Iterator[None]:
    """The registry with this member, for as long as it is tried."""
    there = dict.__contains__(registry, name)
    before = dict.get(registry, name)
    registry[name] = member
    try:
        yield
    finally:
        if there and before is not None:
            registry[name] = before
        else:
            del registry[name]
