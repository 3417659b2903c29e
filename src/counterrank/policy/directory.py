"""A policy directory: `policy.json` and the files it seals by their SHA-256. Nothing in it is ever run."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from counterrank import temporary
from counterrank.errors import InputError
from counterrank.policy.stored import Stored, checked_names, checked_object, checked_text, read_object

SEAL = "policy.json"
FORMAT, VERSION = "counterrank-policy", 1
MOST = 16 << 20  # bytes of policy.json, at most
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,200}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def is_directory(path: str | Path) -> bool:
    """Whether a policy directory is meant: a folder with a policy.json."""
    return os.path.lexists(Path(path) / SEAL)


def read_directory(path: str | Path) -> Stored:
    """What a policy directory holds, once its seal is found whole.

    Each file is read once: what is checked is what is used. Links out of the directory, files that policy.json does
    not name, and names that are no plain file names are refused.
    """
    folder = Path(path)
    try:
        return _read(folder)
    except InputError as error:
        raise InputError(f"{folder}: {error}: write the policy anew") from None
    except OSError as error:
        raise InputError(f"{folder}: {error.filename or 'a file'} cannot be read ({error.strerror})") from None


def _read(folder: Path) -> Stored:
    seal = _seal(_bytes(folder, SEAL, MOST))
    named = seal["files"]
    _check_names(named, [name for name in named if os.path.lexists(folder / name)], os.listdir(folder))
    return _held(seal, {name: _bytes(folder, name) for name in named})


def unsealed(files: Mapping[str, bytes]) -> Stored:
    """What the files of a policy directory hold, wherever they lie, once their seal is found whole."""
    if SEAL not in files:
        raise InputError(f"{SEAL!r} is missing")
    seal = _seal(files[SEAL])
    _check_names(seal["files"], files, files)
    return _held(seal, {name: files[name] for name in seal["files"]})


def _seal(content: bytes) -> dict[str, Any]:
    """policy.json, with names and digests of files as they should be."""
    seal = read_object(content, SEAL)
    if seal.get("format") != FORMAT:
        raise InputError(f"{SEAL} does not say that this is a {FORMAT}")
    if seal.get("version") != VERSION or isinstance(seal["version"], bool):
        raise InputError(f"{SEAL} is of version {str(seal.get('version'))[:20]}, but this program reads {VERSION}")
    checked_text(seal.get("kind"), "kind")
    named = seal.get("files")
    if not isinstance(named, dict):
        raise InputError(f"{SEAL} does not list its files")
    for name, digest in named.items():
        if not _NAME.fullmatch(name) or name == SEAL:
            raise InputError(f"{SEAL} lists {name[:60]!r}, which is no name of a file in it")
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            raise InputError(f"{SEAL} has no SHA-256 for {name!r}")
    return seal


def _check_names(named: Collection[str], there: Collection[str], entries: Iterable[str]) -> None:
    """Every file that is named is there, and no other."""
    absent = [name for name in named if name not in there]
    if absent:
        raise InputError(f"{absent[0]!r} is missing")
    foreign = sorted(entry for entry in entries if entry not in {SEAL, *named} and entry[:1] != ".")
    if foreign:
        raise InputError(f"{foreign[0]!r} is there, but {SEAL} does not list it")


def _held(seal: Mapping[str, Any], files: dict[str, bytes]) -> Stored:
    for name, data in files.items():
        if hashlib.sha256(data).hexdigest() != seal["files"][name]:
            raise InputError(f"{name!r} was changed: its SHA-256 is not the one in {SEAL}")
    settings = checked_object(seal.get("settings", {}))
    return Stored(seal["kind"], settings, files, checked_names(seal.get("features", [])))


def _bytes(folder: Path, name: str, most: int | None = None) -> bytes:
    """A file's content; it must be a plain file below the folder, also where links lead to it."""
    place = (folder / name).resolve()
    if not place.is_relative_to(folder.resolve()):
        raise InputError(f"{name!r} is a link that leads out of the directory")
    descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
    with open(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise InputError(f"{name!r} is not a plain file")
        if most is not None and about.st_size > most:
            raise InputError(f"{name!r} has {about.st_size:,} bytes, but at most {most:,} were expected")
        return file.read()


def sealed(stored: Stored) -> dict[str, bytes]:
    """The files of a policy directory by name: those of the policy, and the policy.json that seals them."""
    seal = {
        "format": FORMAT,
        "version": VERSION,
        "kind": stored.kind,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in stored.files.items()},
        "features": list(stored.features),
        "settings": dict(stored.settings),
    }
    return {**stored.files, SEAL: (json.dumps(seal, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()}


def write_directory(stored: Stored, path: str | Path) -> None:
    """Write a policy directory whole: made beside and renamed. An existing one is replaced, nothing else is."""
    folder = Path(os.path.abspath(path))
    check_replaceable(folder)
    files = sealed(stored)
    try:
        beside = Path(temporary.folder_beside(str(folder)))
        try:
            for name, data in files.items():
                _write(beside / name, data)
            _swap(beside, folder)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
            temporary.forget(str(beside))
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error}): give another path") from None


def check_replaceable(path: str | Path) -> None:
    """Refuse to write a policy directory over anything but a policy directory or an empty folder."""
    folder = Path(os.path.abspath(path))
    if not folder.parent.is_dir():
        raise InputError(f"{path}: there is no folder {str(folder.parent)!r}: make it first")
    if not os.path.lexists(folder):
        return
    if folder.is_symlink() or not folder.is_dir():
        raise InputError(f"{path}: something is there that is no policy directory: give another name")
    entries = set(os.listdir(folder))
    if not entries:
        return
    listed: set[str] = set()
    if SEAL in entries:
        try:
            seal = read_object(_bytes(folder, SEAL, MOST), SEAL)
            listed = {SEAL, *seal["files"]} if seal.get("format") == FORMAT else set()
        except (InputError, OSError, KeyError, TypeError):
            listed = set()
    if not entries <= listed or any((folder / entry).is_dir() for entry in entries):
        raise InputError(f"{path}: a folder with other things than a policy is there: give another name")


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _swap(new: Path, folder: Path) -> None:
    """Put the new directory where the old one is; if that fails, the old one stays."""
    aside = new.with_name(new.name + ".old")
    had = os.path.lexists(folder)
    if had:
        os.rename(folder, aside)
    try:
        os.rename(new, folder)
    except OSError:
        if had:
            os.rename(aside, folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)
