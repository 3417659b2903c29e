"""Files that we write: each appears whole or not at all.

What is written goes to a hidden file beside, which is synced to disk and then takes the name that was asked for. Until
that moment the old file stands as it was, afterwards the new one; what was begun and not ended is removed. Links are
followed. What is no regular file (`/dev/stdout`, a named pipe) gets its bytes at the end, all at once.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from counterrank import temporary
from counterrank.errors import InputError

_SPECIAL = ("/dev/", "/proc/")  # there a file may be a name for something that is open already


@contextmanager
def writing(path: str | Path, option: str = "") -> Iterator[BinaryIO]:
    """A binary file to write to, which becomes `path` when the block ends well. `option` is named in errors.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "numbers.txt"
    >>> with writing(path) as file:
    ...     _ = file.write(b"1 2 3")
    ...     path.exists()
    False
    >>> path.read_text()
    '1 2 3'
    """
    label = f"{option} {path}".strip()
    try:
        with _special(path) if is_special(path) else _beside(path) as file:
            yield file
    except OSError as error:
        if isinstance(error, BrokenPipeError) or (error.filename is not None and not _near(error.filename, path)):
            raise  # nobody reads on, or it is not about this file
        raise InputError(f"{label}: cannot be written ({error.strerror or error}): {_advice(error)}") from None


def write(path: str | Path, content: bytes, option: str = "") -> None:
    """These bytes as a file, whole or not at all."""
    with writing(path, option) as file:
        file.write(content)


def make_folder(path: str | Path, option: str = "") -> None:
    """A folder for files to come, with those above it, or one line on why not."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        what = "a file is there" if isinstance(error, FileExistsError) else error.strerror or str(error)
        raise InputError(f"{option} {path}: the folder cannot be made ({what}): give another".strip()) from None


def is_special(path: str | Path) -> bool:
    """Whether a name stands for something else than a regular file, or leads to a file that is open already."""
    name = os.path.abspath(path)
    for _ in range(40):  # as many links as the system follows
        if name.startswith(_SPECIAL):
            return True
        if not os.path.islink(name):
            break
        name = os.path.normpath(os.path.join(os.path.dirname(name), os.readlink(name)))
    with contextlib.suppress(FileNotFoundError):
        return not stat.S_ISREG(os.stat(path).st_mode)
    return False


def _near(one: str | Path, other: str | Path) -> bool:
    """Whether two names are in one folder."""
    return os.path.dirname(os.path.realpath(one)) == os.path.dirname(os.path.realpath(other))


def _advice(error: OSError) -> str:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return "make room there, or give another path" if full else "give another path"


@contextmanager
def _beside(path: str | Path) -> Iterator[BinaryIO]:
    place = os.path.realpath(path)
    try:
        old = os.stat(place)
    except FileNotFoundError:
        old = None
    descriptor, name = temporary.create_beside(place, 0o666 if old is None else 0o600)
    try:
        with open(descriptor, "wb") as file:
            if old is not None:
                _dress(descriptor, old)
            yield cast(BinaryIO, file)
            file.flush()
            _sync(descriptor)
        os.replace(name, place)
        temporary.forget(name)
    except BaseException:
        temporary.remove(name)
        raise
    _sync_folder(os.path.dirname(place))


def _dress(descriptor: int, old: os.stat_result) -> None:
    """Owner and mode of the file that was there, as far as we may."""
    with contextlib.suppress(OSError):
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode) & 0o777)


@contextmanager
def _special(path: str | Path) -> Iterator[BinaryIO]:
    """Bytes are gathered where nobody sees them and copied at the end."""
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    with tempfile.TemporaryFile() as file:
        yield cast(BinaryIO, file)
        file.seek(0)
        with open(path, "wb") as device:
            shutil.copyfileobj(file, device)


def _sync(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems know no sync
            raise


def _sync_folder(path: str) -> None:
    """The new name is on disk too. The file is there by now: what goes wrong here is no reason to stop."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
