"""Packages that are imported when they are first used: what a run does not need does not slow its start."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Late:
    """In a package's place until somebody asks for something in it.

    >>> Late("math").sqrt(4)
    2.0
    """

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, what: str) -> Any:
        found = getattr(import_module(self._name), what)
        self.__dict__[what] = found
        return found
