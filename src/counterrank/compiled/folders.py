"""Where compiled code is kept: in a folder that is the user's own, no link, and where nobody else can write.

The code runs as the user, so the folder is what is trusted (`_trusted`; on Windows only whether we can write there is
looked at). Folders, in order: NUMBA_CACHE_DIR, beside the source, the user's cache, the system's temporary folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from functools import cache


@cache
def place(source: str) -> str | None:
    """The folder for what is compiled from the sources of one folder, made if need be; None where there is none."""
    for folder in _folders(source, hashlib.sha256(source.encode()).hexdigest()[:16]):
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
            if _trusted(folder):
                return folder
    return None


def _folders(source: str, name: str) -> Iterator[str]:
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        yield os.path.join(os.path.abspath(chosen), f"counterrank-{name}")
    yield os.path.join(source, "__pycache__")
    home, given = os.path.expanduser("~"), os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(given):
        yield os.path.join(given, "counterrank", name)
    elif os.path.isabs(home) and os.path.isdir(home):  # a home that is not there is not made
        yield os.path.join(home, ".cache", "counterrank", name)
    with contextlib.suppress(OSError):
        user = os.getuid() if hasattr(os, "getuid") else "user"
        yield os.path.join(tempfile.gettempdir(), f"counterrank-compiled-{user}", name)


def _trusted(folder: str) -> bool:
    """Whether a folder is ours, the one above ours or the system's, and nobody else can put or move a file there."""
    if os.name == "posix":
        for path, own in ((folder, True), (os.path.dirname(folder), False)):
            found = os.lstat(path)
            shared = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            guarded = not own and found.st_mode & stat.S_ISVTX  # others may write there, but not move what is ours
            owners = (os.geteuid(),) if own else (os.geteuid(), 0)
            if not stat.S_ISDIR(found.st_mode) or (shared and not guarded) or found.st_uid not in owners:
                return False
    return os.access(folder, os.W_OK | os.X_OK)
