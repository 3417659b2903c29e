"""Cases of one kind: the first few in every run, the others among the slow ones (`make test-slow`)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest


def seeds(cases: Sequence[Any], fast: int) -> list[Any]:
    """The cases, all but the first `fast` marked as slow."""
    later = (case if isinstance(case, tuple) else (case,) for case in cases[fast:])
    return [*cases[:fast], *(pytest.param(*case, marks=pytest.mark.slow) for case in later)]


def in_turn(*lists: Sequence[Any], every: int = 2) -> list[Any]:
    """All combinations, every second marked for every run such that each entry of each list comes, the others as slow.

    With a greater `every`, so many as a part of all; each entry comes where one list is at least as long.
    """
    marked = []
    for places in product(*(range(len(each)) for each in lists)):
        values = [each[place] for each, place in zip(lists, places, strict=True)]
        marked.append(pytest.param(*values, marks=[pytest.mark.slow] * (sum(places) % every > 0)))
    return marked
