"""`counterrank check`: what is in a log, and how much it can answer."""

from __future__ import annotations

from typing import Annotated

import typer

from counterrank.checking.check import Check
from counterrank.checking.check import check as look
from counterrank.cli.common import print_json
from counterrank.cli.options import AnswerOptions, LogOptions
from counterrank.cli.tables import console, print_table, say


def check(
    *,
    top: Annotated[int | None, typer.Option(help="Look at the first K positions only.")] = None,
    require_clean: Annotated[bool, typer.Option(help="Exit with 1 if any row is bad.")] = False,
    source: LogOptions,
    answer: AnswerOptions = AnswerOptions(),
) -> None:
    """Tell what is in a log, what is wrong in it, and how much it can answer.

    Examples:

        counterrank check clicks.parquet

        counterrank check search-log.tsv.gz --format yandex --json
    """
    log = source.open()
    with source.counting() as engine:
        result = look(log, top=top, engine=engine)
    if answer.as_json:
        print_json(result.to_json())
    else:
        _print(source.log, result)
    if require_clean and not result.clean:
        raise typer.Exit(1)


def _print(name: str, result: Check) -> None:
    out = console()
    out.print(name, style="bold", soft_wrap=True)
    for line in [result.summary(), *result.means(), ""]:
        out.print(line)
    header, rows = result.cells()
    print_table(header, rows)
    if len(result.positions) > len(rows):
        out.print(f"… and {len(result.positions) - len(rows)} more (--json has all)")
    out.print()
    if result.problems:
        bad = [[f"{p['count']:,}", p["problem"], p["where"]] for p in result.problems]
        print_table(["bad rows", "problem", "where"], bad, texts=(1, 2))
    else:
        out.print("No bad rows.")
    out.print()
    say(result.said())
