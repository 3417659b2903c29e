"""Options that several commands share, and how results are printed."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from counterrank.cli.files import READS, WRITES_LINES, WRITES_PAGE
from counterrank.engine import ENGINES, Embedded, Engine, open_engine
from counterrank.log import Log, read_log
from counterrank.log.foreign import FORMATS
from counterrank.log.schema import parse_columns

_FILL = re.compile(r" +((?:\x1b\[[0-9;]*m)*)$")

LogPath = Annotated[
    str,
    typer.Argument(help="Parquet, CSV or JSON Lines (.gz too), a folder or glob of them, or file.duckdb:table."),
    READS,
]
Columns = Annotated[str | None, typer.Option(help="Other column names, e.g. query=q,items=shown.")]
Format = Annotated[str | None, typer.Option(help=f"A foreign format: {', '.join(FORMATS)}.")]
TimeUnit = Annotated[str | None, typer.Option(help="Unit of a yandex log's time: ms (default), s, min, h or day.")]
BadRows = Annotated[
    Path | None, typer.Option(help="Set bad rows aside in this JSON Lines file, count them and go on."), WRITES_LINES
]
EngineName = Annotated[str, typer.Option("--engine", help=f"Where rows are counted: {', '.join(ENGINES)}.")]
Report = Annotated[
    Path | None, typer.Option(help="Also write one HTML page with all there is to say and see."), WRITES_PAGE
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, and nothing else.")]


def open_log(source: str, columns: str | None, format: str | None, time_unit: str | None, bad_rows: Path | None) -> Log:
    """The log that the shared options name."""
    return read_log(source, columns=parse_columns(columns), format=format, time_unit=time_unit, bad_rows=bad_rows)


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
    console = Console(stderr=True)
    line = Progress(
        TextColumn("{task.description}"), BarColumn(pulse_style="cyan"), TextColumn("{task.completed:,} rows"),
        TimeElapsedColumn(), console=console, transient=True,
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
    with Console(stderr=True).status("") as line:
        yield line.update


def console() -> Console:
    """Where tables for people go: as wide as the terminal, else as COLUMNS says, else 100 columns."""
    out = Console(highlight=False)
    return out if out.is_terminal or os.environ.get("COLUMNS") else Console(width=100, highlight=False)


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None, texts: Collection[int] = (0,)
) -> None:
    """A table of numbers, but for the columns that hold texts: those stand left, and wrap where room is short."""
    out = console()
    if title:
        out.print(escape(title), style="bold")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for i, name in enumerate(header):
        text = i in texts
        width = min(max(len(str(row[i])) for row in [header, *rows]), 12) if text else None
        table.add_column(name, justify="left" if text else "right", no_wrap=not text, overflow="fold", min_width=width)
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    _print_lines(out, table)


def _print_lines(out: Console, content: Table) -> None:
    """Without the spaces that fill lines up, which copies and diffs do not want."""
    with out.capture() as drawn:
        out.print(content)
    for line in drawn.get().splitlines():
        out.file.write(_FILL.sub(r"\1", line) + "\n")


def escape(text: str) -> str:
    """Text that is not markup, whatever it holds."""
    return text.replace("[", r"\[")


def say(lines: Sequence[str]) -> None:
    """Remarks below a table, as bullets that wrap well."""
    out = console()
    for line in lines:
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_row("•", escape(line))
        _print_lines(out, table)
