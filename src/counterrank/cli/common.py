"""What commands share: words for help texts, progress, and JSON. Tables for people are in `tables`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from counterrank.engine import Embedded, Engine, open_engine
from counterrank.registry import Registry
from counterrank.screen import fitting, visible


def choices(registry: Registry[Any]) -> str:
    """The names to choose from, for a help text. Packages are looked at only where somebody reads it."""
    if "--help" not in sys.argv:
        return ", ".join(registry)
    return "; left out: ".join([", ".join(registry.names()), *registry.left_out()])


def command_line(context: typer.Context) -> str:
    """What was typed, so that it can be typed again."""
    words = context.find_root().obj
    return shlex.join(["counterrank", *words]) if words else "counterrank"


@contextmanager
def counting(engine: str) -> Iterator[Engine]:
    """The engine, with a progress line on stderr where that is a terminal and the work takes a while."""
    chosen = open_engine(engine)
    if not isinstance(chosen, Embedded) or not sys.stderr.isatty():
        yield chosen
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # slow to import

    from counterrank.cli.tables import Screen

    line = Progress(
        TextColumn("{task.description}"), BarColumn(pulse_style="cyan"), TextColumn("{task.completed:,} rows"),
        TimeElapsedColumn(), console=Screen(stderr=True), transient=True,
    )  # fmt: skip
    task = line.add_task("reading the log", total=None)
    with line:
        chosen.progress = lambda rows: line.advance(task, rows)
        yield chosen


@contextmanager
def working() -> Iterator[Callable[[str], object]]:
    """A function that tells what is being done, on stderr where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda what: None
        return
    from rich.text import Text

    from counterrank.cli.tables import Screen

    with Screen(stderr=True).status("") as line:
        yield lambda what: line.update(Text(visible(what)))


def print_json(text: str | Iterator[str]) -> None:
    """JSON on stdout, whole or bit by bit, in characters that it has."""
    for part in [text] if isinstance(text, str) else text:
        typer.echo(fitting(part, getattr(sys.stdout, "encoding", None)), nl=False)
    typer.echo()
