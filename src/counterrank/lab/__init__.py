"""The papers' tables and figures, and what our own intervals are worth: one file each, on the library's public API.

A reproduction is a module here with `reproduce(data, out, quick) -> Reproduction`. It is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from counterrank.errors import InputError, unknown
from counterrank.lab.result import PaperFinding, PaperTable, Reproduction

REPRODUCTIONS = {
    "cief2024": "counterrank.lab.cief2024",
    "ebrank2023": "counterrank.lab.ebrank2023",
    "genspec2021": "counterrank.lab.genspec2021",
    "li2018": "counterrank.lab.li2018",
    "swaminathan2017": "counterrank.lab.swaminathan2017",
    "coverage": "counterrank.lab.coverage",
}
SIMULATED = ("coverage",)  # these need no data
Reproduce = Callable[[Path | None, Path | None, bool], Reproduction]


def load(name: str) -> Reproduce:
    """What reproduces this paper, or measures this.

    >>> load("li2018").__module__
    'counterrank.lab.li2018'
    """
    if name not in REPRODUCTIONS:
        raise unknown("reproduction", name, REPRODUCTIONS)
    module: Any = import_module(REPRODUCTIONS[name])
    found: Reproduce = module.reproduce
    return found


def need(data: Path | None, *names: str) -> list[Path]:
    """These files or folders of the data folder; an error says what is missing."""
    if data is None:
        raise InputError("the data folder is not given: add --data DIR, or set COUNTERRANK_DATA")
    if not data.is_dir():
        raise InputError(f"{data} is not a folder: give the folder of the papers' data with --data or COUNTERRANK_DATA")
    paths = [data / name for name in names]
    for path in paths:
        if not path.exists():
            raise InputError(f"{data} has no {path.relative_to(data)}: --data must be the folder that holds it")
    return paths


__all__ = ["REPRODUCTIONS", "PaperFinding", "PaperTable", "Reproduction", "load", "need"]
