"""`counterrank log backup`: a store as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterrank.cli.common import print_json
from counterrank.cli.files import READS_STORE, WRITES_FILE
from counterrank.cli.options import AnswerOptions
from counterrank.cli.stores import STORE, opened
from counterrank.cli.tables import console
from counterrank.screen import json_text
from counterrank.words import counted


def log_backup(
    *,
    store: Annotated[str, typer.Argument(help=f"The store: {STORE}."), READS_STORE],
    out: Annotated[Path, typer.Option(help="The backup: a file of SQLite's, which is a store itself."), WRITES_FILE],
    answer: AnswerOptions = AnswerOptions(),
) -> None:
    """Write the store of a ranking service to one file, while it runs.

    Examples:

        counterrank log backup postgresql://localhost/ranking --out tonight.db
    """
    with opened(store) as source:
        last = source.backup(out)
    if answer.as_json:
        print_json(json_text({"sequence": last, "written": str(out)}))
        return
    console().print(f"{counted(last, 'event')} written to {out}", soft_wrap=True)
