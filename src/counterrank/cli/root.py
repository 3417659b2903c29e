"""All commands as one Typer application."""

from __future__ import annotations

import typer

from counterrank.cli.commands import MARKUP, sentences
from counterrank.cli.front import ABOUT
from counterrank.cli.runner import Commands, named
from counterrank.version import __version__

app = typer.Typer(cls=Commands, rich_markup_mode=MARKUP, pretty_exceptions_enable=False, help=ABOUT)


for _name, _sentence in sentences().items():
    app.command(_name, help=_sentence)(named)


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="The version, and nothing else.")) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit
