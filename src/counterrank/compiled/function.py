"""Functions that run as machine code: found by the types of their arguments, or made by Numba."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from functools import cached_property, update_wrapper
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np

from counterrank.compiled.kept import Kept
from counterrank.compiled.machine import code_of, load

_MOST = 1 << 63  # a whole number below it is signed
_ROWS, _COLUMNS = 0x1, 0x2  # of an array's flags: its rows, or its columns, in a row in memory
_ARRAY = _ROWS | _COLUMNS | 0x100 | 0x400  # and aligned, writeable
_SCALARS: dict[type, type] = {  # values of one kind, by the type that stands for it
    float: float, np.float64: float, bool: bool, np.bool_: bool, np.int64: int, np.uint64: np.uint64,
    np.int32: np.int32, np.uint32: np.uint32, np.int8: np.int8, np.uint8: np.uint8, np.float32: np.float32,
    type(None): type(None),
}  # fmt: skip
_made = [0]  # functions that this process compiled
_first: list[Callable[[], object]] = []  # to be called before the first is


class _Unknown:
    """The kind of all other values, which Numba must look at."""


def njit(**options: Any) -> Callable[[Any], Any]:
    """As `numba.njit(cache=True, …)`; to ask for Numba's own cache beside ours is an error."""
    if "cache" in options:
        raise TypeError("njit keeps what it compiles by itself: leave cache out")
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return lambda function: function
    return lambda function: Compiled(function, options)


def made() -> int:
    """How many functions this process has compiled, rather than found in the cache."""
    return _made[0]


def before_compiling(tell: Callable[[], object]) -> None:
    """Call this, once, when something must be compiled that is not kept."""
    _first[:] = [tell]


class Compiled:
    """In the place of a function: machine code for the kinds of arguments that it is called with."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func, self.options = function, options
        self._codes: dict[Any, Callable[..., Any]] = {}
        self._kept = Kept(function)

    def __call__(self, *given: Any) -> Any:
        kinds = tuple(map(kind, given))
        code = self._codes.get(kinds)
        if code is None:
            code = self._found(kinds, given)
        return code(*given)

    @cached_property
    def dispatcher(self) -> Any:
        """The same by Numba, for Python to call."""
        return self._by_numba(no_cfunc_wrapper=True)

    @cached_property
    def inner(self) -> Any:
        """The same for other compiled functions to call: without an entry for Python, which takes long to make."""
        return self._by_numba(no_cfunc_wrapper=True, no_cpython_wrapper=True)

    def _by_numba(self, **without: Any) -> Any:
        import numba

        return numba.njit(**{**self.options, **without})(_with_dispatchers(self.py_func))

    def _found(self, kinds: tuple[Any, ...], given: tuple[Any, ...]) -> Callable[..., Any]:
        if _Unknown in _flat(kinds) or len(given) != self.py_func.__code__.co_argcount:
            return self.dispatcher  # type: ignore[no-any-return]
        told = " ".join(map(_told, _flat(kinds)))
        code = self._loaded(told)
        if code is None:
            if _first:
                _first.pop()()
            with self._kept.alone(told):
                code = self._loaded(told)  # by another process, since
                if code is None:
                    code = self._compiled(told, given)
        self._codes[kinds] = code
        return code

    def _loaded(self, told: str) -> Callable[..., Any] | None:
        with contextlib.suppress(Exception):  # another Numba than was tried: then it compiles
            kept = self._kept.read(told)
            return load(kept, self.py_func.__qualname__) if kept is not None else None
        return None

    def _compiled(self, told: str, given: tuple[Any, ...]) -> Callable[..., Any]:
        import numba

        types = tuple(map(numba.typeof, given))
        entry: Callable[..., Any] = self.dispatcher.compile(types)
        _made[0] += 1
        with contextlib.suppress(Exception):  # the same: then nothing is kept
            if (code := code_of(self.dispatcher.overloads[types])) is not None:
                self._kept.write(told, code)
        return entry


def kind(value: Any) -> Any:
    """What of a value the code that takes it depends on; a tuple's is that of its members."""
    what = type(value)
    if what is np.ndarray:
        flags = value.flags.num & _ARRAY
        return value.dtype, value.ndim, flags & ~_COLUMNS if flags & _ROWS else flags  # as Numba: a single row is both
    if what is int:
        return int if -_MOST <= value < _MOST else np.uint64
    if what is tuple:
        return tuple(map(kind, value))
    if isinstance(value, tuple):
        return what, tuple(map(kind, value))
    return _SCALARS.get(what) or _other(what)


def _other(what: type) -> Any:
    """The kind of a generator of random numbers, whose module a run may well do without; of others nothing is known."""
    if what.__name__ == "Generator" and what is np.random.Generator:
        _SCALARS[what] = what
        return what
    return _Unknown


def _flat(kinds: Any) -> Iterator[Any]:
    """The same with brackets as members, so that each nesting reads differently."""
    for each in kinds:
        if isinstance(each, tuple):
            yield "("
            yield from _flat(each)
            yield ")"
        else:
            yield each


def _told(each: Any) -> str:
    """A kind, or a part of one, in words."""
    if isinstance(each, np.dtype):
        return str(each.descr).replace(" ", "") if each.fields is not None else each.str
    return f"{each.__module__}.{each.__qualname__}" if isinstance(each, type) else str(each)


def _with_dispatchers(function: Any) -> Any:
    """The function, calling what Numba knows instead of what stands here in its place."""
    known = {**function.__globals__}
    for name in _names(function.__code__):
        if isinstance(known.get(name), Compiled) and known[name].py_func is not function:
            known[name] = known[name].inner
    around = [cell.cell_contents for cell in function.__closure__ or ()]
    cells = tuple(CellType(each.inner if isinstance(each, Compiled) else each) for each in around)
    same = FunctionType(function.__code__, known, function.__name__, function.__defaults__, cells)
    same.__qualname__, same.__module__ = function.__qualname__, function.__module__
    return same


def _names(code: CodeType) -> set[str]:
    """All that a function names, and functions in it."""
    return set(code.co_names).union(*(_names(each) for each in code.co_consts if isinstance(each, CodeType)))
