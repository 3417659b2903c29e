"""How an engine tells that it gets on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Progress = Callable[[int], Any]  # called with the number of rows just done


def silent(rows: int) -> None:
    """No progress is shown."""
