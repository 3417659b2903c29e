"""The files that a folder or a glob holds, and those of them that are not read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from pathlib import Path

from counterrank.errors import InputError
from counterrank.records import dataclass

NAMED = 10  # files that a note names
_HIDDEN = "a name that begins with . or _"
_UNKNOWN = "no kind of file that we read"
_TWICE = "leads to what is read already"
_FOLDER = "a folder"
_GONE = "leads nowhere"


@dataclass(frozen=True)
class Found:
    """Files to read, in order, and what was left out, with why."""

    files: list[Path]
    left_out: dict[Path, str] = field(default_factory=dict)

    def notes(self, name: str) -> list[str]:
        """What was left out, in words."""
        if not self.left_out:
            return []
        shown = [f"{path} ({why})" for path, why in sorted(self.left_out.items())[:NAMED]]
        more = [f"and {len(self.left_out) - NAMED:,} more"] if len(self.left_out) > NAMED else []
        one = len(self.left_out) == 1
        return [f"{name}: {len(self.left_out):,} {'was' if one else 'were'} not read: {', '.join([*shown, *more])}"]


def in_folder(folder: Path, known: Callable[[Path], object]) -> Found:
    """The files below a folder whose kind is known. Links are followed, but nothing is read twice."""
    left_out: dict[Path, str] = {}
    files = [path for path in _walk(folder, {os.path.realpath(folder)}, left_out) if _of_a_kind(path, known, left_out)]
    return _once(files, left_out, folder)


def of_glob(paths: Iterable[str]) -> Found:
    """The files that a pattern met."""
    left_out: dict[Path, str] = {}
    files = []
    for path in map(Path, paths):
        if path.is_file():
            files.append(path)
        else:
            left_out[path] = _FOLDER if path.is_dir() else _GONE
    return _once(files, left_out)


def _walk(folder: Path, seen: set[str], left_out: dict[Path, str]) -> Iterator[Path]:
    """What is no folder below this one; folders that are links come after the others."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder}: the folder cannot be read ({error.strerror}): check its rights") from None
    folders = []
    for path in entries:
        if path.name.startswith((".", "_")):
            left_out[path] = _HIDDEN
        elif path.is_dir():
            folders.append(path)
        else:
            yield path
    for path in sorted(folders, key=lambda path: (path.is_symlink(), path)):
        place = os.path.realpath(path)
        if place in seen:
            left_out[path] = _TWICE
            continue
        seen.add(place)
        yield from _walk(path, seen, left_out)


def _of_a_kind(path: Path, known: Callable[[Path], object], left_out: dict[Path, str]) -> bool:
    if path.is_file() and known(path):
        return True
    left_out[path] = _UNKNOWN if path.exists() else _GONE
    return False


def _once(files: list[Path], left_out: dict[Path, str], folder: Path | None = None) -> Found:
    """Each file once, by its own name where it has one; the paths of what was left out as seen from the folder."""
    first: dict[str, Path] = {}
    for path in sorted(files, key=lambda path: (path.is_symlink(), path)):
        if (place := os.path.realpath(path)) in first:
            left_out[path] = _TWICE
        first.setdefault(place, path)
    seen_from = {path.relative_to(folder) if folder else path: why for path, why in left_out.items()}
    return Found(sorted(first.values()), seen_from)
