"""Our data classes are Python's own in all that anybody sees."""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import pytest

from counterrank.records import dataclass


def _classes(make: Any) -> dict[str, Any]:
    @make(frozen=True)
    class Base:
        """A."""

        a: int
        b: list[int] = field(default_factory=list)
        kind: ClassVar[str] = "base"

        @cached_property
        def twice(self) -> int:
            return 2 * self.a

    @make(frozen=True, kw_only=True)
    class Below(Base):
        """B."""

        c: float = 0.5
        quiet: int = field(default=3, repr=False, compare=False)

    @make
    class Open:
        """C."""

        a: int = 1
        made: int = field(init=False)

        def __post_init__(self) -> None:
            self.made = self.a + 1

    @make(frozen=True, eq=False)
    class Alone:
        """D."""

        a: int

    @make(frozen=True)
    class Own:
        """E."""

        a: int

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "own"

    return {each.__name__: each for each in (Base, Below, Open, Alone, Own)}


OURS, PYTHONS = _classes(dataclass), _classes(dataclasses.dataclass)
MADE: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "Base": ((1,), {}),
    "Below": ((1, [2]), {"c": 2.5}),
    "Open": ((4,), {}),
    "Alone": ((1,), {}),
    "Own": ((1,), {}),
}


@pytest.mark.parametrize("name", MADE)
def test_the_same_as_pythons_own(name: str) -> None:
    args, named = MADE[name]
    mine, theirs = OURS[name](*args, **named), PYTHONS[name](*args, **named)
    assert repr(mine) == repr(theirs)
    assert asdict(mine) == asdict(theirs)
    assert [each.name for each in fields(mine)] == [each.name for each in fields(theirs)]
    signatures = [inspect.signature(classes[name]).parameters.values() for classes in (OURS, PYTHONS)]
    assert len({tuple((each.name, each.kind, each.annotation) for each in one) for one in signatures}) == 1
    again, other = OURS[name](*args, **named), PYTHONS[name](*args, **named)
    assert (mine == again) == (theirs == other)
    assert (mine == theirs) == (theirs == mine)
    assert (OURS[name].__hash__ is None) == (PYTHONS[name].__hash__ is None)


def test_frozen_is_frozen_and_keeps_what_it_computes() -> None:
    mine = OURS["Below"](1)
    with pytest.raises(FrozenInstanceError):
        mine.a = 2
    with pytest.raises(FrozenInstanceError):
        del mine.c
    assert mine.twice == 2
    assert replace(mine, a=3).twice == 6
    assert mine.b is not OURS["Below"](1).b


def test_hashes_go_by_what_is_compared() -> None:
    @dataclass(frozen=True)
    class Point:
        """P."""

        x: int
        y: int = field(default=0, compare=False)

    assert len({Point(1), Point(1, 2), Point(2)}) == 2


def test_wrong_arguments_are_refused() -> None:
    for args, named in (((), {}), ((1, [], 2.0), {}), ((1,), {"d": 1})):
        for classes in (OURS, PYTHONS):
            with pytest.raises(TypeError):
                classes["Below"](*args, **named)
