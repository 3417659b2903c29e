"""The log that was opened last by the name of its file: who names it again gets the same, and what is known of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from counterrank.log.log import Log
from counterrank.log.version import Version, version_of
from counterrank.memory import one_answer
from counterrank.records import dataclass


@dataclass(frozen=True)
class Opened:
    """A log of a single file, and which file it was, opened with which options."""

    name: tuple[str, str]  # as it was given, and from the root
    asked: Any
    version: Version
    log: Log


_last: list[Opened] = []  # one at most


def remember_opened(source: Any, asked: Any, log: Log) -> None:
    """It takes the place of the one before."""
    _last.clear()
    if isinstance(source, str | Path) and os.path.isfile(source) and not one_answer():
        version = version_of(log.parts)
        if version is not None:
            _last.append(Opened(_name(source), asked, version, log))


def opened_before(source: Any, asked: Any) -> Log | None:
    """The last log, if it is of this file, the options are the same, and so is the file."""
    for each in _last:
        if isinstance(source, str | Path) and (each.name, each.asked) == (_name(source), asked):
            return each.log if version_of(each.log.parts) == each.version else None
    return None


def _name(source: str | Path) -> tuple[str, str]:
    return str(source), os.path.abspath(source)
