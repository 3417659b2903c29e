"""Compiled code in files: one for each function and types of arguments.

Written whole, checked before it is read, made anew where it is not as it must be: a file that is damaged disturbs
nobody. Of two processes that need the same at once, one compiles and the other waits for it (`alone`). The checksum
finds damage. It is no signature: whoever can write to the user's folders can change the program itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import cache, cached_property
from typing import Any

from counterrank import temporary
from counterrank.compiled import ahead
from counterrank.compiled.folders import place
from counterrank.compiled.machine import Code, folder, processor

try:
    import fcntl
except ImportError:  # Windows: whoever needs it compiles it
    fcntl = None  # type: ignore[assignment]

_DIGEST = 32  # bytes of a checksum
_PATIENCE, _GLANCE = 60.0, 0.02  # seconds to wait for another process that compiles, and between looks


class Kept:
    """The files of one function."""

    def __init__(self, function: Any) -> None:
        self.function = function

    @cached_property
    def folder(self) -> str | None:
        """None where nothing can be kept."""
        if enclosed(self.function) is None:
            return None
        return place(os.path.dirname(os.path.abspath(self.function.__code__.co_filename)))

    @cached_property
    def stamp(self) -> str:
        """The source, that of the compiled functions it calls, and who compiles: another of these, another file."""
        sources = sorted(_sources(self.function, set()))
        return _digest([_content(path) for path in sources], _compiler())[:16]

    @cached_property
    def name(self) -> str:
        """The function's, and those of the compiled functions that it was made around."""
        around = "".join(f"{each.__module__}.{each.__qualname__}," for each in enclosed(self.function) or ())
        made = _digest(around)[:12] + "." if around else ""
        return f"{self.function.__module__}.{self.function.__qualname__.replace('<locals>', 'in')}.{made}"

    def path(self, kinds: str) -> str | None:
        """Of the code for arguments of these kinds."""
        if (into := ahead.collecting()) is not None:
            return self._ahead(kinds, into)
        if self.folder is None:
            return None
        key = _digest(kinds, processor(), hashlib.sha256(self.function.__code__.co_code).hexdigest())[:24]
        return os.path.join(self.folder, f"{self.name}{self.stamp}.{key}.compiled")

    def _ahead(self, kinds: str, folder: str) -> str | None:
        """The same of code that comes with the package: where that is installed must not matter."""
        if enclosed(self.function) is None:
            return None
        sources = sorted(map(_content, _sources(self.function, set())))
        code = hashlib.sha256(self.function.__code__.co_code).hexdigest()
        key = _digest(kinds, code, sources, _versions(), ahead.made_for())[:24]
        return os.path.join(folder, f"{self.name}{key}.compiled")

    def read(self, kinds: str) -> Code | None:
        """The code for arguments of these kinds, or None where it is not kept, or not as it must be."""
        found = _read(self.path(kinds), kinds)
        if found is None and ahead.collecting() is None and ahead.fits():
            found = _read(self._ahead(kinds, ahead.FOLDER), kinds)
        return found

    def write(self, kinds: str, code: Code) -> None:
        """Keep it; where there is no room, the next run compiles it again."""
        path = self.path(kinds)
        if path is None:
            return
        told = asdict(code)
        data = told.pop("machine")
        data = json.dumps({"kinds": kinds, **told}).encode() + b"\n" + data
        with contextlib.suppress(OSError):
            descriptor, beside = temporary.create_beside(path, 0o600)
            try:
                with open(descriptor, "wb") as file:
                    file.write(hashlib.sha256(data).digest() + data)
                os.replace(beside, path)
            finally:
                temporary.remove(beside)
            if ahead.collecting() is None:
                self._forget(os.path.dirname(path), lambda name: not name.startswith(f"{self.name}{self.stamp}."))

    @contextlib.contextmanager
    def alone(self, kinds: str) -> Iterator[None]:
        """While this process compiles, others that need the same wait; who has waited long compiles too.

        However a process ends, the system gives its lock back.
        """
        path = self.path(kinds) if fcntl is not None else None
        descriptor = None
        with contextlib.suppress(OSError):
            if path is not None:
                descriptor = os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
                _lock(descriptor)
        try:
            yield
        finally:
            if descriptor is not None:
                with contextlib.suppress(OSError):
                    os.unlink(f"{path}.lock")
                with contextlib.suppress(OSError):
                    fcntl.flock(descriptor, fcntl.LOCK_UN)  # a process forked meanwhile has it too
                os.close(descriptor)

    def _forget(self, folder: str, old: Callable[[str], bool]) -> None:
        for name in os.listdir(folder):
            if name.startswith(self.name) and name.endswith(".compiled") and old(name):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))


def _read(path: str | None, kinds: str) -> Code | None:
    """What a file has for arguments of these kinds; None where it is not there, or damaged."""
    try:
        if path is None:
            return None
        with open(path, "rb") as file:
            checksum, data = file.read(_DIGEST), file.read()
        if hashlib.sha256(data).digest() == checksum:
            head, _, machine = data.partition(b"\n")
            told = json.loads(head)
            if told.pop("kinds") == kinds:
                return Code(**told, machine=machine)
    except Exception:  # noqa: S110 - then it is compiled
        pass
    return None


def _lock(descriptor: int) -> None:
    """Lock a file for this process, if need be after another that has it."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_GLANCE)


def enclosed(function: Any) -> list[Any] | None:
    """The compiled functions around which a function was made; None where it was made around anything else."""
    inner = [getattr(cell.cell_contents, "py_func", None) for cell in function.__closure__ or ()]
    return None if None in inner else inner


def _sources(function: Any, seen: set[str]) -> set[str]:
    """The files of a function and of all compiled ones that it calls."""
    found = {function.__code__.co_filename}
    seen.add(f"{function.__module__}.{function.__qualname__}")
    named = [getattr(function.__globals__.get(name), "py_func", None) for name in function.__code__.co_names]
    for called in [*named, *(enclosed(function) or ())]:
        if called is not None and f"{called.__module__}.{called.__qualname__}" not in seen:
            found |= _sources(called, seen)
    return found


def _digest(*told: Any) -> str:
    return hashlib.sha256(repr(told).encode()).hexdigest()


@cache
def _compiler() -> list[str]:
    """What makes the code, and what its environment asks of it."""
    unasked = ("NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS")
    asked = [name for name in sorted(os.environ) if name.startswith("NUMBA_") and name not in unasked]
    return [*_versions(), sys.version, *(f"{name}={os.environ[name]}" for name in asked)]


def _versions() -> list[str]:
    """Of Numba and of LLVM's binding, which are not imported for it."""
    return [_content(os.path.join(folder(name), "_version.py")) for name in ("numba", "llvmlite")]


@cache
def _content(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
