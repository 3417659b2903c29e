"""Tables and remarks for people, drawn by Rich."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from typing import Any, Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from counterrank.screen import visible

_FILL = re.compile(r" +((?:\x1b\[[0-9;]*m)*)$")
GAP = 2  # spaces between columns
TEXT = 12  # columns of the screen that a text gets at least, if it is as long as that


class Screen(Console):
    """A console that takes no text for markup or emoji, and shows control characters by their numbers."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)


def console() -> Console:
    """Where tables for people go: as wide as the terminal, else as COLUMNS says, else 100 columns."""
    out = Screen()
    return out if out.is_terminal or os.environ.get("COLUMNS") else Screen(width=100)


COLOURS = {"trust": "green", "caution": "yellow", "do not trust": "red"}


def print_answer(result: Any) -> None:
    """The decision in the colour of its trust, then the table, then in grey what says nothing."""
    out, text = console(), result.headline()
    if text is not None:
        found = getattr(result, "diagnosis", None)
        trust = found.verdict if found is not None else ""
        _print_lines(out, Text(visible(text), style=f"bold {COLOURS.get(trust, '')}".strip()))
        out.print()
    header, rows = result.cells()
    words = [i for i, cell in enumerate(rows[0]) if not any(sign.isdigit() for sign in cell)] if rows else []
    print_table(header, rows, title=result.summary(), texts={0, *words})
    for line in result.quiet():
        _print_lines(out, Text(visible(line), style="dim"))


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None, texts: Collection[int] = (0,)
) -> None:
    """A table of numbers, but for the columns that hold texts: those stand left, and wrap where room is short.

    Columns that do not fit beside the others follow below in a table of their own, beside the first column again:
    no digit is ever cut.
    """
    out = console()
    if title:
        _print_lines(out, Text(visible(title), style="bold"))
    cells = [[visible(str(cell)) for cell in row] for row in rows]
    names = [visible(name) for name in header]
    widths = [max(cell_len(row[i]) for row in [names, *cells]) for i in range(len(names))]
    least = [min(width, TEXT) if i in texts else width for i, width in enumerate(widths)]
    for number, part in enumerate(_side_by_side(least, out.width)):
        if number:
            out.print()
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for i in part:
            text = i in texts
            side: Literal["left", "right"] = "left" if text else "right"
            table.add_column(names[i], justify=side, no_wrap=not text, overflow="fold", min_width=least[i])
        for row in cells:
            table.add_row(*(row[i] for i in part))
        _print_lines(out, table)


def _side_by_side(widths: Sequence[int], room: int) -> list[list[int]]:
    """Columns in groups that fit side by side, each group beside the first column."""
    parts = [[0]]
    for i in range(1, len(widths)):
        if len(parts[-1]) > 1 and sum(widths[j] + GAP for j in parts[-1]) + widths[i] > room:
            parts.append([0])
        parts[-1].append(i)
    return parts


def _print_lines(out: Console, content: Table | Text) -> None:
    """Without the spaces that fill lines up, which copies and diffs do not want."""
    with out.capture() as drawn:
        out.print(content)
    for line in drawn.get().splitlines():
        out.file.write(_FILL.sub(r"\1", line) + "\n")


def say(lines: Sequence[str]) -> None:
    """Remarks below a table, as bullets that wrap well."""
    out = console()
    for line in lines:
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_row("•", line)
        _print_lines(out, table)
