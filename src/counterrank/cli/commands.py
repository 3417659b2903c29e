"""The commands by name. Each is imported when it is called: the engine takes a second, and the version needs none."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final

import typer

from counterrank.cli.groups import flat

MARKUP: Final = "markdown"
COMMANDS = {  # with what each is for: the first sentence of its help
    "check": "Tell what is in a log, what is wrong in it, and how much it can answer.",
    "evaluate": "Judge a ranking policy from the log of another.",
    "compare": "Tell whether one policy is better than another, with one bound on the difference.",
    "backtest": "Find the estimator and clip to trust on this log: each day in turn is predicted from the others.",
    "clicks": "Fit click models, compare them on clicks held out, and show how far down users look.",
    "optimize": "The ranking with the best lower bound for each query, or a policy that is best by other lights.",
    "learn": "Learn from clicks, and let what was learnt act only where a bound says that it wins.",
    "rank": "Write the rankings of a policy as rows of query, items and probability.",
    "log export": "Write the log of a ranking service: what it showed with what chance, and what was clicked.",
    "log import": "Begin a ranking service with the evidence of a log.",
    "log erase": "Erase the traces of a user or of an item in the store of a ranking service.",
    "log backup": "Write the store of a ranking service to one file, while it runs.",
    "log restore": "Fill an empty store from a backup.",
    "simulate": "Make a click log from a made-up world whose truth is known; or, with --sessions, play a ranking "
    "service.",
    "serve": "Rank over HTTP, learn from clicks, and lose nothing.",
    "reproduce": "Reproduce a paper's tables and figures, beside its own numbers; or measure how often our intervals "
    "are right.",
    "demo": "Simulate a log, check it, judge three policies beside the truth, compare, optimize, report, and learn.",
}
GROUPS = {"log": "What a ranking service stored: export, import, erase, backup, restore."}  # names of two words


@cache
def function(name: str) -> Callable[..., None]:
    """What a command does: one parameter for each of its options, and its files looked at first."""
    from counterrank.cli.files import checked

    written = name.replace(" ", "_")
    return checked(flat(getattr(import_module(f"counterrank.cli.{written}"), written)))


@cache
def command(name: str) -> Any:
    """A command as it is parsed and run, a command of Typer's."""
    alone = typer.Typer(add_completion=False, rich_markup_mode=MARKUP, pretty_exceptions_enable=False)
    alone.command(name)(function(name))
    return typer.main.get_command(alone)


def listed(group: str = "") -> dict[str, str]:
    """The commands of a group by their second words, or the first words of all, with what each is for."""
    if group:
        return {name.removeprefix(f"{group} "): said for name, said in COMMANDS.items() if name.startswith(f"{group} ")}
    return {(first := name.partition(" ")[0]): GROUPS.get(first, said) for name, said in COMMANDS.items()}
