"""`counterrank log import`: the evidence of a log, for a service to begin with."""

from __future__ import annotations

from typing import Annotated

import typer

from counterrank.cli.common import print_json
from counterrank.cli.files import READS_STORE
from counterrank.cli.options import AnswerOptions, LogOptions
from counterrank.cli.stores import STORE, needed, opened
from counterrank.cli.tables import console, say
from counterrank.screen import json_text
from counterrank.words import counted


def log_import(
    *,
    store: Annotated[str, typer.Option(help=f"The store, made where there is none: {STORE}."), READS_STORE],
    again: Annotated[
        bool, typer.Option("--again", help="Count the log once more, though it was imported before.")
    ] = False,
    source: LogOptions,
    answer: AnswerOptions = AnswerOptions(),
) -> None:
    """Begin a ranking service with the evidence of a log.

    Examples:

        counterrank log import clicks.parquet --store sqlite:///counterrank.db
    """
    with needed():
        from counterrank.service.imported import add_evidence, count_log
    log = source.open()
    with source.counting() as engine:
        found = count_log(log, engine=engine)
    with opened(store, create=True) as target:
        add_evidence(target.database, found, again=again)
    if answer.as_json:
        print_json(json_text(found.to_dict()))
        return
    pairs = f"{counted(found.pairs, 'pair')} of query and item"
    clicks = counted(found.clicks, "click")
    console().print(f"{counted(found.impressions, 'impression')} with {clicks} imported, {pairs}", soft_wrap=True)
    say([*found.notes, *found.reading.notes, found.reading.line()])
