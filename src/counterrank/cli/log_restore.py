"""`counterrank log restore`: a store from a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterrank.cli.common import print_json
from counterrank.cli.files import READS, READS_STORE
from counterrank.cli.options import AnswerOptions
from counterrank.cli.stores import STORE, opened
from counterrank.cli.tables import console
from counterrank.screen import json_text
from counterrank.words import counted


def log_restore(
    *,
    backup: Annotated[Path, typer.Argument(help="A file that log backup wrote."), READS],
    store: Annotated[str, typer.Option(help=f"The store, which is empty or made anew: {STORE}."), READS_STORE],
    answer: AnswerOptions = AnswerOptions(),
) -> None:
    """Fill an empty store from a backup.

    Examples:

        counterrank log restore tonight.db --store postgresql://localhost/ranking
    """
    with opened(store, create=True) as target:
        last = target.restore(backup)
        verified = target.verify()
    if answer.as_json:
        print_json(json_text({"sequence": last, **verified.to_dict()}))
        return
    console().print(f"{counted(last, 'event')} restored", soft_wrap=True)
    console().print(f"{counted(verified.pairs, 'pair')} of query and item verified, {verified.differences} differ")
