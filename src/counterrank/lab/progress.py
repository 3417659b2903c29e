"""What a long reproduction is doing, on stderr, and only where that is a terminal."""

from __future__ import annotations

import sys


def tell(what: str) -> None:
    """One line for what begins now."""
    if sys.stderr.isatty():
        print(f"{what} …", file=sys.stderr, flush=True)
