"""The commands by name. Each is imported when it is called: the engine takes a second, and the version needs none."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any, Final

MARKUP: Final = "markdown"
OURS: Final = "duckdb"  # the engine that counts in this process
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
    "warm": "Compile now what commands would compile at their first run; once after each installation.",
    "demo": "Simulate a log, check it, judge three policies beside the truth, compare, optimize, report, and learn.",
}
GROUPS = {"log": "What a ranking service stored: export, import, erase, backup, restore."}  # names of two words


@cache
def function(name: str) -> Callable[..., None]:
    """What a command does: one parameter for each of its options, and its files looked at first."""
    from counterrank.cli.files import checked
    from counterrank.cli.groups import flat

    written = name.replace(" ", "_")
    return checked(flat(getattr(import_module(f"counterrank.cli.{written}"), written)))


@cache
def command(name: str) -> Any:
    """A command as it is parsed and run, a command of Typer's; what it does is imported once its words are parsed."""
    import typer

    from counterrank.cli.listing import listed
    from counterrank.cli.plain import take_plainly

    alone = typer.Typer(add_completion=False, rich_markup_mode=MARKUP, pretty_exceptions_enable=False)
    alone.command(name)(listed(name, partial(_run, name)) or function(name))
    return take_plainly(typer.main.get_command(alone))


def _run(name: str, **given: Any) -> None:
    gc.disable()  # modules stay: to look through them again and again for what has gone takes a tenth of a second
    if given.get("engine") == OURS:
        from counterrank.cli.lean import leave_out

        leave_out(name)
    run = function(name)
    gc.freeze()
    atexit.register(gc.unfreeze)  # else libraries that count what they made speak of leaks at exit
    gc.enable()
    if sys.stderr.isatty() and name != "warm":
        _tell_of_compiling()
    run(**given)


def _tell_of_compiling() -> None:
    """Tell why a first run begins slowly; or each one, where no folder can keep what is compiled."""
    from counterrank import compiled
    from counterrank.engine import kernels

    if compiled.place(os.path.dirname(kernels.__file__)) is None:
        print("counterrank: compiling anew, since no folder can keep it: set NUMBA_CACHE_DIR to one", file=sys.stderr)
        return
    once = "counterrank: compiling, which happens once (`counterrank warm` does it ahead of time)"
    compiled.before_compiling(lambda: print(once, file=sys.stderr))


def sentences(group: str = "") -> dict[str, str]:
    """The commands of a group by their second words, or the first words of all, with what each is for."""
    if group:
        return {name.removeprefix(f"{group} "): said for name, said in COMMANDS.items() if name.startswith(f"{group} ")}
    return {(first := name.partition(" ")[0]): GROUPS.get(first, said) for name, said in COMMANDS.items()}
