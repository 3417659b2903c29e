"""Whether the files behind a log are those that were read before."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from counterrank.log.long_form import LongPart
from counterrank.log.parts import ParquetPart, Part, TablePart
from counterrank.log.text import TextPart

SETTLED = 2.0  # seconds after which the clock of any file system tells a further change from the last

Version = tuple[tuple[object, ...], ...]


def version_of(parts: Sequence[Part]) -> Version | None:
    """What changes when the rows of these parts may have changed; None where nobody can tell, as of a database."""
    found: list[tuple[object, ...]] = []
    for part in parts:
        if isinstance(part, LongPart):
            inner = version_of(part.parts)
            if inner is None:
                return None
            found.extend(inner)
        elif isinstance(part, ParquetPart | TextPart):
            stamp = file_version(part.path)
            if stamp is None:
                return None
            found.append(stamp)
        elif isinstance(part, TablePart):
            found.append((id(part.table),))  # which nobody can change, and which the part holds
        else:
            return None
    return tuple(found)


def file_version(path: Path) -> tuple[object, ...] | None:
    """Of one file; None where it is no plain file, or was changed just now, so that one more change may go unseen."""
    try:
        found = path.stat()
    except OSError:
        return None
    if not path.is_file() or time.time() - found.st_mtime < SETTLED:
        return None
    return str(path), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
