"""Errors as one line on stderr, and exit codes: 0 done, 1 the answer is no, 2 bad input or usage."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from counterrank.errors import InputError
from counterrank.screen import one_line, prepare_streams

BAD_INPUT = 2
BUG = 3


class Commands(TyperGroup):
    """The group of all commands, which says what went wrong in one line."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> Any:  # type: ignore[override]
        prepare_streams()
        extra["standalone_mode"] = False
        extra.setdefault("obj", list(sys.argv[1:] if args is None else args))  # what was typed, for a report
        try:
            code = super().main(args=args, prog_name=prog_name or "counterrank", **extra)
        except InputError as error:
            _fail(str(error), BAD_INPUT)
        except (KeyboardInterrupt, typer.Abort):
            _fail("stopped", 130)
        except BrokenPipeError:
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - whoever read our output has gone
            sys.exit(1)
        except MemoryError:
            _fail("out of memory: cut the log with --top, or judge fewer queries at a time", BAD_INPUT)
        except (PermissionError, IsADirectoryError, NotADirectoryError, FileNotFoundError) as error:
            _fail(f"{error.filename}: {error.strerror}", BAD_INPUT)
        except Exception as error:
            message = getattr(error, "format_message", None)
            if message is not None:  # a usage error of Click's
                _fail(f"{message()} (see counterrank {self._command(args)}--help)", BAD_INPUT)
            if os.environ.get("COUNTERRANK_DEBUG"):
                traceback.print_exc()
            _fail(f"a bug in counterrank: {type(error).__name__}: {error} (COUNTERRANK_DEBUG=1 shows where)", BUG)
        sys.exit(code if isinstance(code, int) else 0)

    def _command(self, args: Sequence[str] | None) -> str:
        """The command that was called, where there is one of this name."""
        words = list(sys.argv[1:] if args is None else args)
        return f"{words[0]} " if words and words[0] in self.commands else ""


def _fail(message: str, code: int) -> None:
    print(f"counterrank: {one_line(message)}", file=sys.stderr)
    sys.exit(code)
