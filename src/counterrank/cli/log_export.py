"""`counterrank log export`: the log of a ranking service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterrank.cli.common import print_json
from counterrank.cli.files import READS_STORE, WRITES_TABLE
from counterrank.cli.options import AnswerOptions
from counterrank.cli.stores import STORE, opened
from counterrank.cli.tables import console, say
from counterrank.screen import json_text
from counterrank.words import counted


def log_export(
    *,
    store: Annotated[str, typer.Argument(help=f"The store: {STORE}."), READS_STORE],
    out: Annotated[Path, typer.Option(help="The log: .parquet, .csv or .jsonl."), WRITES_TABLE],
    since: Annotated[
        str | None, typer.Option(help="Impressions shown at this moment or later: a date or time, in UTC.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Impressions shown before this moment.")] = None,
    policy: Annotated[str | None, typer.Option(help="Impressions that this policy ranked.")] = None,
    answer: AnswerOptions = AnswerOptions(),
) -> None:
    """Write the log of a ranking service: what it showed with what chance, and what was clicked.

    Examples:

        counterrank log export sqlite:///counterrank.db --out log.parquet

        counterrank log export counterrank.db --out june.parquet --since 2026-06-01 --until 2026-07-01
    """
    with opened(store) as source:
        from counterrank.service.export import Choice, moment

        choice = Choice(moment(since, "since"), moment(until, "until"), policy)
        done = source.export(out, choice)
    if answer.as_json:
        print_json(json_text({**done.to_dict(), "written": str(out)}))
        return
    said = f"{counted(done.impressions, 'impression')} with {counted(done.clicks, 'click')} written to {out}"
    console().print(said, soft_wrap=True)
    say(done.notes)
