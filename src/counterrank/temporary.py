"""Temporary files and folders: known by name before they are made, and gone however the process ends."""

from __future__ import annotations

import atexit
import contextlib
import os
import weakref
from pathlib import Path

from counterrank.errors import InputError

_files: dict[str, int] = {}  # path -> the process that made it
_folders: dict[str, int] = {}
_room: list[str] = []  # the folder of this process, once it is there


def create_beside(path: str, mode: int = 0o666) -> tuple[int, str]:
    """A new hidden file in the folder of another, open for writing; its name, which nobody can guess."""
    name = os.path.join(os.path.dirname(path), f".counterrank-{os.urandom(8).hex()}.tmp")
    _files[name] = os.getpid()
    try:
        return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), mode), name
    except BaseException:
        remove(name)
        raise


def remove(path: str) -> None:
    """Remove a temporary file, if it is there still, and forget it."""
    with contextlib.suppress(OSError):
        os.unlink(path)
    _files.pop(path, None)


def forget(path: str) -> None:
    """The file or folder is temporary no longer: it has got its own name, or is meant to stay."""
    _files.pop(path, None)
    _folders.pop(path, None)


def make_folder(prefix: str) -> str:
    """A new folder in the system's temporary folder, private to this user; it goes when the process ends."""
    from tempfile import gettempdir

    try:
        name = os.path.join(gettempdir(), prefix + os.urandom(8).hex())
        _folders[name] = os.getpid()
        os.mkdir(name, 0o700)
    except OSError as error:
        raise InputError(
            f"no temporary folder can be made ({error.strerror or error}): make room, or set TMPDIR to a folder that "
            "can be written"
        ) from None
    return name


def folder_beside(path: str) -> str:
    """A new hidden folder in the folder of another; it goes when the process ends, unless it is forgotten."""
    name = os.path.join(os.path.dirname(path), f".counterrank-{os.urandom(8).hex()}.tmp")
    _folders[name] = os.getpid()
    os.mkdir(name)
    return name


def room() -> str:
    """The one folder of this process for what does not fit in memory, made when it is first asked for."""
    if not _room or _folders.get(_room[0]) != os.getpid() or not os.path.isdir(_room[0]):
        _room[:] = [make_folder("counterrank-")]
    return _room[0]


class Folder:
    """A folder inside `room`, which goes with this object."""

    def __init__(self) -> None:
        from tempfile import mkdtemp

        self.name = mkdtemp(dir=room())
        weakref.finalize(self, _remove_folder, self.name, os.getpid()).atexit = False  # `clear` comes then


def _remove_folder(path: str, maker: int) -> None:
    from shutil import rmtree

    if maker == os.getpid():
        rmtree(path, ignore_errors=True)


@atexit.register
def clear() -> None:
    """Remove all that is temporary and was made by this process (not by the one it was forked from).

    Names stay known: one that is just being made is there when this is called again.
    """
    for path, maker in list(_files.items()):
        if maker == os.getpid():
            with contextlib.suppress(OSError):
                os.unlink(path)
    for path, maker in list(_folders.items()):
        if maker == os.getpid():
            for _ in range(5):  # threads may still be writing there
                from shutil import rmtree

                rmtree(path, ignore_errors=True)
                if not Path(path).exists():
                    break
