"""`njit`: Numba's, with a cache of our own for what was compiled.

Numba's own cache raises at import where no folder can be written, ends in a traceback where a file of it is damaged,
and can mix up two processes that compile at once. Ours holds one file for each function and types of arguments:
written whole, checked before it is read, made anew where it is not as it must be. Folders, in order: NUMBA_CACHE_DIR,
beside the source, the user's cache, the system's temporary folder; else nothing is kept.

This is the one place where a pickle is opened. The files hold machine code, which runs as the user, and Numba gives it
in no other form. So the folder is what is trusted: it is used only if it is the user's own, no link, and nobody else
can write there or move it (`_trusted`; on Windows only whether we can write there is looked at). The checksum finds
damage. It is no signature: whoever can write to the user's folders can change the program itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import Any

import numba
from numba.core import config
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from counterrank import temporary

_numba: Any = config  # typed in part only
_rebuilt: Any = CompileResult._rebuild
_dumped: Any = dumps
_runtime: Any = rtsys
_DIGEST = 32  # bytes of a checksum
_made = [0]  # functions that this process compiled
_first: list[Callable[[], object]] = []  # to be called before the first is


def njit(**options: Any) -> Callable[[Any], Any]:
    """As `numba.njit(cache=True, …)`; to ask for Numba's own cache beside ours is an error."""
    if "cache" in options:
        raise TypeError("njit keeps what it compiles by itself: leave cache out")

    def compiled(function: Any) -> Any:
        made = numba.njit(**options)(function)
        folder = place(os.path.dirname(os.path.abspath(function.__code__.co_filename)))
        if folder is not None and _enclosed(function) is not None:
            made._cache = Kept(function, folder)
        return made

    return compiled


def made() -> int:
    """How many functions this process has compiled, rather than found in the cache."""
    return _made[0]


def before_compiling(tell: Callable[[], object]) -> None:
    """Call this, once, when something must be compiled that is not kept."""
    _first[:] = [tell]


@cache
def place(source: str) -> str | None:
    """The folder for what is compiled from the sources of one folder, made if need be; None where there is none."""
    for folder in _folders(source, hashlib.sha256(source.encode()).hexdigest()[:16]):
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
            if _trusted(folder):
                return folder
    return None


def _folders(source: str, name: str) -> Iterator[str]:
    if _numba.CACHE_DIR:
        yield os.path.join(os.path.abspath(_numba.CACHE_DIR), f"counterrank-{name}")
    yield os.path.join(source, "__pycache__")
    home, given = os.path.expanduser("~"), os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(given):
        yield os.path.join(given, "counterrank", name)
    elif os.path.isabs(home) and os.path.isdir(home):  # a home that is not there is not made
        yield os.path.join(home, ".cache", "counterrank", name)
    with contextlib.suppress(OSError):
        user = os.getuid() if hasattr(os, "getuid") else "user"
        yield os.path.join(tempfile.gettempdir(), f"counterrank-compiled-{user}", name)


def _trusted(folder: str) -> bool:
    """Whether a folder is ours, the one above ours or the system's, and nobody else can put or move a file there."""
    if os.name == "posix":
        for path, own in ((folder, True), (os.path.dirname(folder), False)):
            found = os.lstat(path)
            shared = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            guarded = not own and found.st_mode & stat.S_ISVTX  # others may write there, but not move what is ours
            owners = (os.geteuid(),) if own else (os.geteuid(), 0)
            if not stat.S_ISDIR(found.st_mode) or (shared and not guarded) or found.st_uid not in owners:
                return False
    return os.access(folder, os.W_OK | os.X_OK)


class Kept:
    """What was compiled of one function, as a dispatcher of Numba asks for it."""

    def __init__(self, function: Any, folder: str) -> None:
        self.function, self.cache_path = function, folder

    @cached_property
    def stamp(self) -> str:
        """The source, that of the compiled functions it calls, and who compiles: another of these, another file."""
        sources = sorted(_sources(self.function, set()))
        told = [*(_content(path) for path in sources), numba.__version__, sys.version]
        return hashlib.sha256("\0".join(told).encode()).hexdigest()[:16]

    def _path(self, sig: Any, codegen: Any) -> str:
        code = hashlib.sha256(self.function.__code__.co_code).hexdigest()
        key = hashlib.sha256(repr((sig, codegen.magic_tuple(), code)).encode()).hexdigest()[:24]
        return os.path.join(self.cache_path, f"{self._name}{self.stamp}.{key}.compiled")

    @property
    def _name(self) -> str:
        """The function's, and those of the compiled functions that it was made around."""
        around = "".join(f"{each.__module__}.{each.__qualname__}," for each in _enclosed(self.function) or ())
        made = hashlib.sha256(around.encode()).hexdigest()[:12] + "." if around else ""
        return f"{self.function.__module__}.{self.function.__qualname__.replace('<locals>', 'in')}.{made}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function, or None where it is not kept, or not as it must be."""
        _runtime.initialize(target_context)  # all that running needs: what compiling needs takes 0.4 s more to load
        try:
            with open(self._path(sig, target_context.codegen()), "rb") as file:
                checksum, data = file.read(_DIGEST), file.read()
            if hashlib.sha256(data).digest() == checksum:
                known, result = pickle.loads(data)  # noqa: S301 - from a folder where nobody else can write
                if known == sig:
                    return _rebuilt(target_context, *result)
        except Exception:  # noqa: S110 - not there, or damaged: it is compiled
            pass
        with contextlib.suppress(IndexError):
            _first.pop()()
        return None

    def save_overload(self, sig: Any, result: Any) -> None:
        """Keep a compiled function; where there is no room, the next run compiles it again."""
        _made[0] += 1
        if result.library.has_dynamic_globals or result.lifted:
            return
        data = _dumped((sig, result._reduce()))
        path = self._path(sig, result.codegen)
        with contextlib.suppress(OSError):
            descriptor, beside = temporary.create_beside(path, 0o600)
            try:
                with open(descriptor, "wb") as file:
                    file.write(hashlib.sha256(data).digest() + data)
                os.replace(beside, path)
            finally:
                temporary.remove(beside)
            self._forget(lambda name: not name.startswith(f"{self._name}{self.stamp}."))

    def _forget(self, old: Callable[[str], bool]) -> None:
        for name in os.listdir(self.cache_path):
            if name.startswith(self._name) and name.endswith(".compiled") and old(name):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(self.cache_path, name))

    def flush(self) -> None:
        self._forget(lambda name: True)

    def enable(self) -> None:
        """It is always on: part of what Numba calls a cache."""

    def disable(self) -> None:
        """The same."""


def _sources(function: Any, seen: set[str]) -> set[str]:
    """The files of a function and of all compiled ones that it calls."""
    found = {function.__code__.co_filename}
    seen.add(f"{function.__module__}.{function.__qualname__}")
    named = [getattr(function.__globals__.get(name), "py_func", None) for name in function.__code__.co_names]
    for called in [*named, *(_enclosed(function) or ())]:
        if called is not None and f"{called.__module__}.{called.__qualname__}" not in seen:
            found |= _sources(called, seen)
    return found


def _enclosed(function: Any) -> list[Any] | None:
    """The compiled functions around which a function was made; None where it was made around anything else."""
    inner = [getattr(cell.cell_contents, "py_func", None) for cell in function.__closure__ or ()]
    return None if None in inner else inner


@cache
def _content(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
