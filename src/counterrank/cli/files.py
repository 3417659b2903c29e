"""What a command reads and writes: every parameter that names a file says so, and one check looks at them all.

An output is never something that is read, nor another output: not by its name, nor by a link of either kind, nor as one
of the files that a folder or a glob stands for, now or once it is there.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from glob import glob
from pathlib import Path
from typing import Any, get_args

from counterrank.errors import InputError
from counterrank.log.files import database_table, kind_of
from counterrank.log.write import check_folder, check_output, check_place
from counterrank.output import is_special
from counterrank.policy.directory import check_replaceable


@dataclass(frozen=True)
class Reads:
    """A parameter that names what is read: a file, a folder, a glob, `file.duckdb:table`, or a word that is none.

    `store`: it is the address of a ranking service's store, which is several files where it is SQLite's.
    """

    store: bool = False

    def files(self, value: str) -> list[str]:
        """The files that a value stands for."""
        if not self.store:
            return [value]
        path = value.removeprefix("sqlite:///")
        return [] if "://" in path else [f"{path}{end}" for end in ("", "-wal", "-shm", "-lock", "-secret", "-shared")]


@dataclass(frozen=True)
class Writes:
    """A parameter that names a file to write, with what is refused before anything is computed."""

    check: Callable[[Path, str], None]
    folder: bool = False


def _check_directory(path: Path, option: str) -> None:
    """A policy directory takes the place of another, or of nothing."""
    if kind_of(path) is not None:
        raise InputError(f"{option} {path}: a policy directory is written: give a name without such an ending")
    try:
        check_replaceable(path)
    except InputError as error:
        raise InputError(f"{option} {error}") from None


def _check_page(path: Path, option: str) -> None:
    from counterrank.pages.write import check_page  # most runs write none

    check_page(path, option)


READS = Reads()
READS_STORE = Reads(store=True)
WRITES_TABLE = Writes(check_output)
WRITES_LINES = Writes(functools.partial(check_output, kinds=("jsonl",)))
WRITES_PAGE = Writes(_check_page)
WRITES_FILE = Writes(check_place)
WRITES_FOLDER = Writes(check_folder, folder=True)
WRITES_DIRECTORY = Writes(_check_directory, folder=True)


def marks(command: Callable[..., None]) -> dict[str, Reads | Writes]:
    """The parameters of a command that name files, in order."""
    found = {}
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        for mark in get_args(parameter.annotation)[1:]:
            if isinstance(mark, Reads | Writes):
                found[name] = mark
    return found


def checked(command: Callable[..., None]) -> Callable[..., None]:
    """The same command, which looks at all its files before it begins."""
    marked, signature = marks(command), inspect.signature(command)

    @functools.wraps(command)
    def run(*words: Any, **options: Any) -> None:
        given = signature.bind(*words, **options)
        given.apply_defaults()
        values = {name: value for name, value in given.arguments.items() if name in marked and value is not None}
        check_files(
            {
                f"{name} {number}": file
                for name, value in values.items()
                if isinstance(mark := marked[name], Reads)
                for number, file in enumerate(
                    file for each in (value if isinstance(value, list) else [value]) for file in mark.files(str(each))
                )
            },
            {name: (Path(value), mark) for name, value in values.items() if isinstance(mark := marked[name], Writes)},
            foreign=given.arguments.get("format") is not None,
        )
        command(*words, **options)

    return run


def check_files(inputs: dict[str, str], outputs: dict[str, tuple[Path, Writes]], *, foreign: bool = False) -> None:
    """Refuse outputs that could not be written, that are read, or that are one file."""
    earlier: dict[str, Path] = {}
    for name, (path, mark) in outputs.items():
        option = f"--{name.replace('_', '-')}"
        mark.check(path, option)
        if is_special(path) and not mark.folder:
            continue
        for source in inputs.values():
            if _same(Path(source), path):
                raise InputError(f"{option} {path}: that file is an input of this command: give another name")
            if not mark.folder and _among(source, path, foreign):
                raise InputError(
                    f"{option} {path}: that file is among those that {source} stands for: give another name, elsewhere"
                )
        for other, place in earlier.items():
            if _same(place, path):
                raise InputError(f"{option} {path}: that is {other} too: give another name, each output its own")
        if _is_stdout(path):
            raise InputError(f"{option} {path}: stdout goes there already: give another name")
        earlier[option] = path


def _same(one: Path, other: Path) -> bool:
    """Whether two names lead to one place; of files that are there, whether they are one, whatever they are called."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def _among(source: str, path: Path, foreign: bool) -> bool:
    """Whether a folder, a glob or `file.duckdb:table` stands for this file, now or once it is there."""
    given, place = Path(source), Path(os.path.realpath(path))
    if given.is_dir():
        data = foreign or kind_of(path) is not None
        return (data and place.is_relative_to(os.path.realpath(given))) or any(_same(f, path) for f in _below(given))
    if given.exists():
        return False
    if table := database_table(source):
        return _same(Path(table[0]), path)
    if any(sign in source for sign in "*?["):
        pattern = os.path.join(os.path.realpath(given.parent), given.name)
        beside = place.parent == Path(pattern).parent and fnmatch(place.name, given.name)
        deep = "**" in source and fnmatch(str(place), os.path.abspath(source).replace("**/", "*"))
        return beside or deep or any(_same(Path(file), path) for file in glob(source, recursive=True))
    return False


def _below(folder: Path) -> Iterator[Path]:
    """All files in a folder and below, through links, each folder once."""
    seen = set()
    for where, folders, files in os.walk(folder, followlinks=True):
        known = os.stat(where)
        if (known.st_dev, known.st_ino) in seen:
            folders.clear()
            continue
        seen.add((known.st_dev, known.st_ino))
        yield from (Path(where) / file for file in files)


def _is_stdout(path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(sys.stdout.fileno()), os.stat(path))
    except (OSError, ValueError, AttributeError):  # no such file yet, or a stdout that is none
        return False
