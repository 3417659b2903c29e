"""What a command does without, so that it starts soon: Pandas alone takes as long to import as a small log to judge.

Arrow imports Pandas at its first conversion, wherever it is installed, and NumPy's masked arrays, only to see whether
values are of their types; and it writes a page of documentation for each of its functions. A command that counts in
this process makes no such values, and nobody reads those pages. A program that uses the library is left alone, and so
are engines that work with Pandas, and installed packages that offer members of ours and may.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from counterrank import memory
from counterrank.cli.listing import offered

_ABSENT = "pandas"
_TURN = 0.0005  # seconds that a thread of Python's may go on while others wait
_lean: list[str] = []  # the command, once it is known to need nothing that was left out
SMALL = ("check", "evaluate", "compare", "clicks", "backtest")  # commands without large matrices


class _Refuses:
    """Among Python's finders of modules: one does not let itself be found."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == _ABSENT:
            raise ModuleNotFoundError(f"{name} is not looked for", name=name)


class _NoMask:
    """In the place of masked arrays that nobody has made: nothing is one, until one is asked for."""

    def __new__(cls, *given: Any, **more: Any) -> Any:
        return import_module("numpy.ma").MaskedArray(*given, **more)


class _Masks(ModuleType):
    """In the place of the module of masked arrays; whoever imports it, or asks for anything else in it, gets it."""

    MaskedArray = _NoMask

    def is_masked(self, values: object) -> bool:
        return "numpy.ma" in sys.modules and bool(import_module("numpy.ma").is_masked(values))

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("numpy.ma"), name)


class _NoPage:
    """In the place of what reads documentation: one without parameters."""

    def __init__(self, text: str) -> None:
        pass

    def __getitem__(self, part: str) -> list[str]:
        return []


def ends_at_once() -> bool:
    """Whether this process needs no long farewell: nothing of others' is in it that may wait for one."""
    return bool(_lean)


def leave_out(command: str) -> None:
    """All that this command does without; before NumPy and Arrow are imported."""
    _leave_cores_free(command)
    if _ABSENT in sys.modules or offered():
        return
    _lean.extend([command] if command in SMALL else [])
    _leave_pandas_out()
    _leave_masks_out()
    _leave_pages_out()


def _leave_cores_free(command: str) -> None:
    """Linear algebra takes one thread where its matrices are small: more of them would wait in a loop for the next,
    on the core where rows are counted. Arrow shares the memory of all else, which was touched before and is quicker to
    have than its own. A setting of the user's stays. Whoever comes back from compiled code takes the interpreter over
    soon: the five milliseconds that Python grants are a fifth of what it takes to count a batch of rows."""
    if command in SMALL and "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
        memory.keep()
        sys.setswitchinterval(_TURN)


def _leave_pandas_out() -> None:
    """Arrow shall look for Pandas now, and not find it."""
    import pyarrow as pa

    refuses: Any = _Refuses()
    sys.meta_path.insert(0, refuses)
    try:
        pa.scalar(True)
    finally:
        sys.meta_path.remove(refuses)


def _leave_masks_out() -> None:
    import numpy

    if "numpy.ma" not in sys.modules:
        vars(numpy)["ma"] = _Masks("numpy.ma")


def _leave_pages_out() -> None:
    """Arrow's functions shall be made now, without their pages."""
    reader = "pyarrow.vendored.docscrape"
    if "pyarrow.compute" in sys.modules or reader in sys.modules:
        return
    stand_in: Any = ModuleType(reader)
    stand_in.NumpyDocString = _NoPage
    sys.modules[reader] = stand_in
    try:
        import_module("pyarrow.compute")
    except Exception:  # another Arrow than was tried: the next import is an ordinary one
        sys.modules.pop("pyarrow.compute", None)
    finally:
        sys.modules.pop(reader, None)
