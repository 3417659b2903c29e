"""The command line: one file per command; each only parses, calls the library and prints."""

from __future__ import annotations

import typer

from counterrank.cli.commands import COMMANDS, MARKUP, command, function, listed
from counterrank.cli.runner import Commands, named
from counterrank.screen import prepare_streams
from counterrank.stopping import watch
from counterrank.version import __version__

HELP = """Is the new ranking better, and is it safe to ship? Answers from yesterday's click log.

Examples:

    counterrank check clicks.parquet

    counterrank evaluate clicks.parquet --target new.parquet

    counterrank compare clicks.parquet --target new.parquet

    counterrank demo
"""

app = typer.Typer(cls=Commands, rich_markup_mode=MARKUP, pretty_exceptions_enable=False, help=HELP)


for _name, _sentence in listed().items():
    app.command(_name, help=_sentence)(named)


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="The version, and nothing else.")) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """What the command `counterrank` runs."""
    watch()
    prepare_streams()
    app(prog_name="counterrank")


__all__ = ["COMMANDS", "app", "command", "function", "main"]
