"""Errors as one line on stderr, and exit codes: 0 done, 1 the answer is no, 2 bad input or usage; 141 a closed pipe."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from typing import Any, NoReturn

import typer
from typer.completion import shell_complete
from typer.core import TyperGroup

from counterrank.cli.commands import COMMANDS, GROUPS, MARKUP, command, listed
from counterrank.cli.flags import flags, speak_of
from counterrank.errors import InputError
from counterrank.screen import one_line, prepare_streams

BAD_INPUT = 2
BUG = 3
INTERRUPTED = 130
CLOSED_PIPE = 141  # as if by the signal that other programs get then


def named() -> None:
    """A command by its name and sentence only; a group takes the whole one in its place when it is called."""


class Listed(TyperGroup):
    """A group of commands that are imported when they are called."""

    prefix = ""  # the first word of their names, where these have two

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that is called, or whose words are completed, with its options."""
        name, _, rest = super().resolve_command(ctx, args)
        if name in GROUPS and not self.prefix:
            return name, group(str(name)), rest or ([] if ctx.resilient_parsing else ["--help"])
        called = command(f"{self.prefix} {name}".strip())
        speak_of(called)
        if sys.stderr.isatty() and not ctx.resilient_parsing:
            _tell_of_compiling()
        return name, called, rest


@cache
def group(name: str) -> Any:
    """The commands whose names begin with this word, as one command."""
    below = type("Group", (Listed,), {"prefix": name})
    sub = typer.Typer(
        cls=below, help=GROUPS[name], add_completion=False, rich_markup_mode=MARKUP, pretty_exceptions_enable=False
    )
    for second, sentence in listed(name).items():
        sub.command(second, help=sentence)(named)
    return typer.main.get_command(sub)


class Commands(Listed):
    """The group of all commands, which says what went wrong in one line."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]
        words = list(sys.argv[1:] if args is None else args)
        sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
        prepare_streams()
        try:
            code = self._called(words or ["--help"], prog_name or "counterrank", extra)
            _flush()
        except (BrokenPipeError, SystemExit):  # whoever read our output has gone; Rich exits then
            _leave(CLOSED_PIPE)
        except (KeyboardInterrupt, typer.Abort):
            _fail("stopped", INTERRUPTED)
        except Exception as error:
            _fail(*self._told(error, words))
        sys.exit(code)

    def _called(self, words: list[str], name: str, extra: dict[str, Any]) -> int:
        """The exit code of one command. Click's own way out would take a closed pipe for the answer no."""
        extra.pop("standalone_mode", None)
        extra.setdefault("obj", words)  # what was typed, for a report
        try:
            with self._parsed(words, name, extra) as context:
                self.invoke(context)
        except typer.Exit as end:
            return int(end.exit_code)
        except SystemExit as end:  # of Typer's options for completion; what Rich exits with is not 0
            if end.code:
                raise
        return 0

    def _parsed(self, words: list[str], name: str, extra: dict[str, Any]) -> Any:
        """What was typed. A shell that completes a word says so in its environment, and has its answer here."""
        variable = f"_{name.upper()}_COMPLETE"
        try:
            if asked := os.environ.get(variable):
                raise typer.Exit(shell_complete(self, extra, name, variable, asked))
            return self.make_context(name, list(words), **extra)
        except typer.Exit as end:
            raise typer.Exit(BAD_INPUT if end.exit_code else 0) from None  # a shell that is not known

    def _told(self, error: Exception, words: list[str]) -> tuple[str, int]:
        """What to say of an error, and the exit code."""
        if isinstance(error, InputError):
            return flags(str(error)), BAD_INPUT
        if isinstance(error, MemoryError) or _of_duckdb(error, "OutOfMemoryException"):
            return "out of memory: cut the log with --top, or judge fewer queries at a time", BAD_INPUT
        if isinstance(error, OSError) or _of_duckdb(error, "IOException"):
            why = getattr(error, "strerror", None) or str(error)
            place = getattr(error, "filename", None)
            return f"{place}: {why}" if place else f"cannot read or write: {why}", BAD_INPUT
        if (message := getattr(error, "format_message", None)) is not None:  # a usage error of Click's
            called = next((f"{n} " for n in (" ".join(words[:2]), *words[:1]) if n in COMMANDS or n in GROUPS), "")
            return f"{message()} (see counterrank {called}--help)", BAD_INPUT
        if os.environ.get("COUNTERRANK_DEBUG"):
            traceback.print_exc()
        return f"a bug in counterrank: {type(error).__name__}: {error} (COUNTERRANK_DEBUG=1 shows where)", BUG


def _tell_of_compiling() -> None:
    """Tell why each run begins slowly, where no folder can keep what is compiled."""
    from counterrank import compiled
    from counterrank.engine import kernels

    if compiled.place(os.path.dirname(kernels.__file__)) is None:
        print("counterrank: compiling anew, since no folder can keep it: set NUMBA_CACHE_DIR to one", file=sys.stderr)


def _of_duckdb(error: Exception, kind: str) -> bool:
    """Whether an error is one of DuckDB's, which is not imported for it."""
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(error, getattr(duckdb, kind))


def _flush() -> None:
    """All that was printed is out, or it is an error: an answer that nobody got is none."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _drop(sys.stdout)
        raise InputError(f"cannot read or write: {error.strerror} (stdout)") from None


def _fail(message: str, code: int) -> NoReturn:
    try:
        print(f"counterrank: {one_line(message)}", file=sys.stderr, flush=True)
    except BrokenPipeError:
        code = CLOSED_PIPE
    except OSError:  # nobody can be told; the exit code still tells
        pass
    _leave(code)


def _leave(code: int) -> NoReturn:
    """Exit, without another try to print what could not be printed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            _drop(stream)
    sys.exit(code)


def _drop(stream: Any) -> None:
    """What is still to be printed goes nowhere."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
