"""Files that are small by nature: settings, tokens, secrets. A device that never ends is not one."""

from __future__ import annotations

from pathlib import Path

MOST = 1 << 20  # bytes


def small(path: Path) -> bytes:
    """What is in a file; more than a megabyte is a ValueError."""
    with path.open("rb") as file:
        content = file.read(MOST + 1)
    if len(content) > MOST:
        raise ValueError("it has more than a megabyte")
    return content
