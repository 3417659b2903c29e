"""The papers' tables and figures, one file each, on the library's public API.

A reproduction is a module here with `reproduce(data, out, quick) -> Reproduction`. It is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from counterrank.errors import InputError, unknown
from counterrank.lab.result import Finding, Reproduction, Table

REPRODUCTIONS = {
    "li2018": "counterrank.lab.li2018",
    "swaminathan2017": "counterrank.lab.swaminathan2017",
}
Reproduce = Callable[[Path, Path | None, bool], Reproduction]


def load(name: str) -> Reproduce:
    """What reproduces this paper.

    >>> load("li2018").__module__
    'counterrank.lab.li2018'
    """
    if name not in REPRODUCTIONS:
        raise unknown("reproduction", name, REPRODUCTIONS)
    module: Any = import_module(REPRODUCTIONS[name])
    found: Reproduce = module.reproduce
    return found


def need(data: Path, *names: str) -> list[Path]:
    """These files or folders of the data folder; an error says what is missing."""
    if not data.is_dir():
        raise InputError(f"{data} is not a folder: give the folder of the papers' data with --data or COUNTERRANK_DATA")
    paths = [data / name for name in names]
    for path in paths:
        if not path.exists():
            raise InputError(f"{data} has no {path.relative_to(data)}: --data must be the folder that holds it")
    return paths


__all__ = ["REPRODUCTIONS", "Finding", "Reproduction", "Table", "load", "need"]
