"""Machine code that Numba made, run without Numba.

Numba makes of each function an object file, with an entry that takes Python's arguments. What it does with it when it
reads its own cache is done here, by the same small extension modules, which come with it: addresses of helpers are
told to LLVM, the object is linked in this process, and each *environment*, constants that the entry needs, is put
where the entry looks for it. This leans on the inside of Numba (tried on 0.68): where anything is not as expected,
nothing is loaded, and Numba itself compiles.
"""

from __future__ import annotations

import builtins
import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from threading import Lock
from typing import Any

import numpy as np

from counterrank.records import dataclass

_lock = Lock()
_PICKLED = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


@dataclass(frozen=True, kw_only=True)
class Code:
    """One function for arguments of certain types."""

    entry: str  # the name of what Python calls
    needs: list[str]  # names that others must have
    environments: list[tuple[str, list[str]]]  # their names, with dtypes; the entry's own is the first
    machine: bytes  # an object file


def code_of(result: Any) -> Code | None:
    """What Numba compiled; None where it cannot be kept."""
    if result.library.has_dynamic_globals or result.lifted or result.reload_init or result.objectmode:
        return None
    environments = [result.environment, *result._find_referenced_environments()]
    if not all(isinstance(each, np.dtype) and each.fields is None for env in environments for each in env.consts):
        return None
    final = result.library._final_module
    declared = [each.name for each in (*final.functions, *final.global_variables) if each.is_declaration]
    return Code(
        entry=result.fndesc.llvm_cpython_wrapper_name,
        needs=[name for name in declared if not name.startswith("llvm.")],
        environments=[(env.env_name, [each.str for each in env.consts]) for env in environments],
        machine=result.library._get_compiled_object(),
    )


def load(code: Code, name: str) -> Callable[..., Any] | None:
    """What Python can call; None where something is missing."""
    with _lock:
        llvm, engine, make, environment = _linker()
        if not all(map(llvm.address_of_symbol, code.needs)):
            return None
        engine.add_object_file(llvm.ObjectFileRef.from_data(code.machine))
        engine.finalize_object()
        kept = []
        for place, constants in code.environments:
            made = environment({"__name__": name})
            made.consts.extend(map(np.dtype, constants))
            kept.append(made)
            if address := engine.get_global_value_address(place):
                ctypes.c_void_p.from_address(address).value = id(made)
        entry = engine.get_function_address(code.entry)
        return make(sys, name, "", entry, kept[0], (engine, kept)) if entry else None


@cache
def processor() -> tuple[str, ...]:
    """What code is made for."""
    llvm = _llvm()
    try:
        found = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM cannot tell
        found = ""
    return triple(), llvm.get_host_cpu_name(), found


def triple() -> str:
    """The architecture, the maker and the system, as LLVM calls them."""
    return str(_llvm().get_process_triple())


def features() -> set[str]:
    """What this processor has, as LLVM calls it."""
    return {each[1:] for each in processor()[2].split(",") if each.startswith("+")}


@cache
def _llvm() -> Any:
    return import_module("llvmlite.binding")


@cache
def _linker() -> tuple[Any, Any, Any, Any]:
    """LLVM, what links, what makes a function of an address, and the kind of environments."""
    llvm = _llvm()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    helpers, functions, memory = map(_extension, ("_helperlib", "_dynfunc", "core.runtime._nrt_python"))
    for name, address in {**helpers.c_helpers, **functions.c_helpers}.items():
        llvm.add_symbol(f"numba_{name}", address)
        if not llvm.address_of_symbol(name):  # a function of C's that is found nowhere else
            llvm.add_symbol(name, address)
    for name, address in memory.c_helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
    llvm.add_symbol("_Py_NoneStruct", id(None))
    for each in vars(builtins).values():
        if isinstance(each, type) and issubclass(each, BaseException):
            llvm.add_symbol(f"PyExc_{each.__name__}", id(each))
    if "numba" not in sys.modules:  # Numba's own would import all of it
        llvm.add_symbol("numba_unpickle", ctypes.cast(_unpickles, ctypes.c_void_p).value)
    target = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(opt=3, jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    return llvm, engine, functions.make_function, functions.Environment


def folder(package: str) -> str:
    """Where an installed package is, which is not imported for it."""
    found = find_spec(package)
    places = found.submodule_search_locations if found is not None else None
    if not places:
        raise ImportError(package)
    return places[0]


def _extension(name: str) -> Any:
    """An extension module of Numba's, without the packages that it is in."""
    full = f"numba.{name}"
    if full in sys.modules:
        return sys.modules[full]
    for suffix in EXTENSION_SUFFIXES:
        path = os.path.join(folder("numba"), *name.split(".")) + suffix
        spec = spec_from_file_location(full, path, loader=ExtensionFileLoader(full, path))
        if os.path.exists(path) and spec is not None and spec.loader is not None:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ImportError(full)


def _unpickled(address: int, size: int, _: int) -> Any:
    """A class that the code itself holds as a pickle: a named tuple that is returned, an error that is raised."""
    import pickle

    return pickle.loads(ctypes.string_at(address, size))  # noqa: S301 - a part of the machine code that asks for it


_unpickles = _PICKLED(_unpickled)
