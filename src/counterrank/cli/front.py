"""What `counterrank --help` says, as plain text: it needs nothing but the names of the commands."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping

from counterrank.cli.commands import COMMANDS

ABOUT = "Is the new ranking better, and is it safe to ship? Answers from yesterday's click log."
EXAMPLES = (
    "counterrank check clicks.parquet",
    "counterrank evaluate clicks.parquet --target new.parquet",
    "counterrank compare clicks.parquet --target new.parquet",
    "counterrank demo",
)
OPTIONS = {
    "--version": "The version, and nothing else.",
    "--install-completion": "Install completion for the current shell.",
    "--show-completion": "Show completion for the current shell, to copy it or customize the installation.",
    "--help": "Show this message and exit.",
}
WIDTHS = (60, 100)  # columns of the screen at least and at most


def text() -> str:
    """As wide as the terminal, or as COLUMNS says; within reason."""
    width = min(max(shutil.get_terminal_size((WIDTHS[1], 24)).columns, WIDTHS[0]), WIDTHS[1])
    lines = ["Usage: counterrank COMMAND [ARGUMENTS] [OPTIONS]", "", *textwrap.wrap(ABOUT, width), ""]
    lines += ["Examples:", *(f"  {example}" for example in EXAMPLES), ""]
    lines += ["Commands:", *_listed(COMMANDS, width), ""]
    lines += ["Options:", *_listed(OPTIONS, width), ""]
    return "\n".join([*lines, "counterrank COMMAND --help tells what a command takes."])


def _listed(told: Mapping[str, str], width: int) -> list[str]:
    """A name and its sentence a line, sentences below each other."""
    left = max(map(len, told)) + 4
    return [
        line
        for name, sentence in told.items()
        for line in textwrap.wrap(sentence, width, initial_indent=f"  {name}".ljust(left), subsequent_indent=" " * left)
    ]
