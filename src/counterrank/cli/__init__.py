"""The command line: one file per command; each only parses, calls the library and prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import typer

from counterrank.cli.backtest import backtest
from counterrank.cli.check import check
from counterrank.cli.clicks import clicks
from counterrank.cli.compare import compare
from counterrank.cli.demo import demo
from counterrank.cli.evaluate import evaluate
from counterrank.cli.files import checked
from counterrank.cli.optimize import optimize
from counterrank.cli.rank import rank
from counterrank.cli.reproduce import reproduce
from counterrank.cli.runner import Commands
from counterrank.cli.simulate import simulate
from counterrank.compiled import place
from counterrank.engine import kernels
from counterrank.screen import prepare_streams
from counterrank.stopping import watch

HELP = """Is the new ranking better, and is it safe to ship? Answers from yesterday's click log.

Examples:

    counterrank check clicks.parquet

    counterrank evaluate clicks.parquet --target new.parquet

    counterrank compare clicks.parquet --target new.parquet

    counterrank demo
"""

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help=HELP,
)
COMMANDS: dict[str, Callable[..., None]] = {
    "check": check,
    "evaluate": evaluate,
    "compare": compare,
    "backtest": backtest,
    "clicks": clicks,
    "optimize": optimize,
    "rank": rank,
    "simulate": simulate,
    "reproduce": reproduce,
    "demo": demo,
}
for _name, _command in COMMANDS.items():
    app.command(_name)(checked(_command))


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="The version, and nothing else.")) -> None:
    if version:
        from counterrank import __version__

        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """What the command `counterrank` runs."""
    watch()
    prepare_streams()
    if sys.stderr.isatty() and place(os.path.dirname(kernels.__file__)) is None:
        print("counterrank: compiling anew, since no folder can keep it: set NUMBA_CACHE_DIR to one", file=sys.stderr)
    app(prog_name="counterrank")


__all__ = ["COMMANDS", "app", "main"]
