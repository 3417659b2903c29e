"""The command line: one file per command; each only parses, calls the library and prints."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from counterrank.cli.commands import COMMANDS, command, function
from counterrank.screen import prepare_streams
from counterrank.stopping import watch

if TYPE_CHECKING:
    from counterrank.cli.root import app


def run() -> None:
    """What the command `counterrank` runs, and the end of the process."""
    try:
        main()
    except SystemExit as end:
        lean = sys.modules.get("counterrank.cli.lean")
        if lean is not None and lean.ends_at_once():
            from counterrank.cli.ending import end_at_once

            end_at_once(end.code)
        raise


def main() -> None:
    """The same without the end: an exit code, as an exception."""
    watch()
    prepare_streams()
    _answer_at_once(sys.argv[1:])
    from counterrank.cli.root import app

    app(prog_name="counterrank")


def _answer_at_once(words: list[str]) -> None:
    """What needs no parser: the version, and what commands there are."""
    if len(words) > 1 or "_COUNTERRANK_COMPLETE" in os.environ:
        return
    from counterrank.cli import ending, front
    from counterrank.version import __version__

    if words == ["--version"]:
        ending.print_and_leave(__version__)
    if words in ([], ["--help"]):
        ending.print_and_leave(front.text())


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'counterrank.cli' has no attribute {name!r}")
    from counterrank.cli.root import app

    return app


__all__ = ["COMMANDS", "app", "command", "function", "main", "run"]
