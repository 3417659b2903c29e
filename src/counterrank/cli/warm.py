"""`counterrank warm`: compile now what the first run of a command would compile."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterrank.cli.common import print_json, working
from counterrank.cli.files import WRITES_FOLDER
from counterrank.cli.tables import console
from counterrank.compiled import collect
from counterrank.screen import json_text
from counterrank.simulate.warm import warm as warmed
from counterrank.words import counted


def warm(
    commands: Annotated[
        list[str] | None, typer.Argument(help="The commands to make ready. Default: all that read a log.")
    ] = None,
    *,
    ahead: Annotated[
        Path | None,
        WRITES_FOLDER,
        typer.Option(
            help="Put it all into this folder instead, for any processor of this one's kind: what `make wheel` packs."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout, and nothing else.")] = False,
) -> None:
    """Compile now what commands would compile at their first run; once after each installation.

    Examples:

        counterrank warm

        counterrank warm evaluate compare
    """
    done, out = [], console()
    if ahead is not None:
        collect(str(ahead))
    with working() as tell:
        tell("compiling: this happens once")
        for each in warmed(commands or ()):
            done.append(each)
            if not as_json:
                out.print(f"{each.command}: {counted(each.compiled, 'function')} compiled, {each.seconds:.1f} s")
    if as_json:
        print_json(json_text({"commands": [vars(each) for each in done]}))
