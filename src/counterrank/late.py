"""Packages that are imported when they are first used: what a run does not need does not slow its start."""

from __future__ import annotations

import sys
from importlib import import_module
from threading import Thread
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


def soon(*names: str) -> None:
    """Import these in a thread of their own, since what follows will need them: compiled code, in which a log is
    counted, leaves the interpreter free for it."""
    missing = [name for name in names if name not in sys.modules]
    if missing:
        Thread(target=_imported, args=(missing,), daemon=True, name="counterrank-imports").start()


def _imported(names: list[str]) -> None:
    for name in names:
        import_module(name)
