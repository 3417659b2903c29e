"""Cases of one kind: the first few in every run, the others among the slow ones (`make test-slow`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def seeds(cases: Sequence[Any], fast: int) -> list[Any]:
    """The cases, all but the first `fast` marked as slow."""
    return [*cases[:fast], *(pytest.param(case, marks=pytest.mark.slow) for case in cases[fast:])]
