"""The end of a command: what was printed is out, an error is one line on stderr, the exit code says which it was."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from typing import Any, NoReturn

from counterrank.errors import InputError
from counterrank.screen import one_line

BAD_INPUT = 2
BUG = 3
INTERRUPTED = 130
CLOSED_PIPE = 141  # as if by the signal that other programs get then


def flush() -> None:
    """All that was printed is out, or it is an error: an answer that nobody got is none."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _drop(sys.stdout)
        raise InputError(f"cannot read or write: {error.strerror} (stdout)") from None


def fail(message: str, code: int) -> NoReturn:
    """Say it, and exit with this code."""
    try:
        print(f"counterrank: {one_line(message)}", file=sys.stderr, flush=True)
    except BrokenPipeError:
        code = CLOSED_PIPE
    except OSError:  # nobody can be told; the exit code still tells
        pass
    leave(code)


def leave(code: int) -> NoReturn:
    """Exit, without another try to print what could not be printed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            _drop(stream)
    sys.exit(code)


def end_at_once(code: object) -> None:
    """End the process when all that was to be done at its end is done. Python would first take apart what it made, one
    by one, which takes a fifth of a second; the system takes it back as a whole. Nothing where the code is no number.
    """
    if code is None or isinstance(code, int):
        with contextlib.suppress(Exception):  # whatever one of them says, the answer is out
            atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code or 0)


def print_and_leave(text: str) -> NoReturn:
    """Print a text that needed no command, and exit."""
    try:
        print(text)
        flush()
    except BrokenPipeError:
        leave(CLOSED_PIPE)
    except InputError as error:
        fail(str(error), BAD_INPUT)
    sys.exit(0)


def _drop(stream: Any) -> None:
    """What is still to be printed goes nowhere."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
