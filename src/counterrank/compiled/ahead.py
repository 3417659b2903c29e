"""Code that comes with the package: compiled when its wheel was made, for any processor of a kind, so that a first run
compiles nothing.

It is looked for after the user's own. Another source, another Numba or Python, another system, an older processor:
then nothing is found here, and Numba compiles as it would without.
"""

from __future__ import annotations

import os
import sys
from functools import cache

from counterrank.compiled.machine import features, triple
from counterrank.errors import InputError

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kept_ahead")
_KINDS: dict[str, tuple[str, ...]] = {  # by architecture, what a processor must have: those of the last ten years do
    "x86_64": (
        "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16", "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt",
        "movbe",
    ),
    "aarch64": (),
    "arm64": (),
}  # fmt: skip
_into: list[str] = []  # the folder that all goes to, in the process that makes a wheel


def collect(folder: str) -> None:
    """From now on compile for any processor of this one's kind, and put what is compiled into this folder.

    To be called before anything is compiled: Numba reads these settings when it is imported.
    """
    needed = _KINDS.get(_architecture())
    if needed is None or "numba" in sys.modules:
        raise InputError(
            f"nothing can be compiled ahead on {triple()}, or after Numba was imported: do it in a process of its own"
        )
    os.makedirs(folder, exist_ok=True)
    os.environ["NUMBA_CPU_NAME"] = "generic"
    os.environ["NUMBA_CPU_FEATURES"] = ",".join(f"+{each}" for each in needed)
    _into[:] = [folder]


def collecting() -> str | None:
    """The folder that all goes to; None in any other process."""
    return _into[0] if _into else None


@cache
def fits() -> bool:
    """Whether this processor can run what comes with the package, if there is any."""
    needed = _KINDS.get(_architecture())
    return needed is not None and os.path.isdir(FOLDER) and set(needed) <= features()


def made_for() -> tuple[str, ...]:
    """What the code goes by, beside its source and who compiled it."""
    return (triple(), str(sys.implementation.cache_tag), *_KINDS.get(_architecture(), ()))


def _architecture() -> str:
    return triple().partition("-")[0]
