"""`counterrank check`: what is in a log, and how much it can answer."""

from __future__ import annotations

from typing import Annotated

import typer

from counterrank.cli.common import (
    AsJson,
    BadRows,
    Columns,
    EngineName,
    Format,
    Ignore,
    LogPath,
    RepairRepeats,
    TimeUnit,
    console,
    counting,
    open_log,
    print_json,
    print_table,
    say,
)
from counterrank.evaluate.check import Check
from counterrank.evaluate.check import check as look
from counterrank.log.foreign import counted

SHOWN = 20  # positions that the table shows


def check(
    log: LogPath,
    top: Annotated[int | None, typer.Option(help="Look at the first K positions only.")] = None,
    require_clean: Annotated[bool, typer.Option(help="Exit with 1 if any row is bad.")] = False,
    columns: Columns = None,
    format: Format = None,
    time_unit: TimeUnit = None,
    bad_rows: BadRows = None,
    ignore: Ignore = None,
    repair_repeats: RepairRepeats = False,
    engine: EngineName = "duckdb",
    as_json: AsJson = False,
) -> None:
    """Tell what is in a log, what is wrong in it, and how much it can answer.

    Examples:

        counterrank check clicks.parquet

        counterrank check search-log.tsv.gz --format yandex --json
    """
    source = open_log(log, columns, format, time_unit, bad_rows, ignore, repair_repeats)
    with counting(engine) as chosen:
        result = look(source, top=top, engine=chosen)
    if as_json:
        print_json(result.to_json())
    else:
        _print(log, result)
    if require_clean and not result.clean:
        raise typer.Exit(1)


def _print(name: str, result: Check) -> None:
    facts = result.facts
    out = console()
    out.print(name, style="bold", soft_wrap=True)
    plurals = {"query": "queries"}
    nouns = ("impression", "query", "item", "ranking", "position", "day")
    counts = [(facts[plurals.get(noun, noun + "s")], noun) for noun in nouns]
    out.print(", ".join(counted(count, noun, plurals.get(noun)) for count, noun in counts if count is not None))
    if facts["mean_clicks"] is not None:
        out.print(f"{counted(facts['clicks'], 'click')}, {facts['mean_clicks']:.4g} an impression")
    if facts["mean_reward"] is not None:
        out.print(f"mean reward {facts['mean_reward']:.4g}")
    rows = [
        [
            p["position"],
            f"{p['impressions']:,}",
            "–" if p["click_rate"] is None else f"{p['click_rate']:.4f}",
            "–" if page["supported_pairs"] is None else f"{page['supported_pairs']:.1%}",
        ]
        for p, page in zip(result.positions[:SHOWN], result.pages, strict=False)
    ]
    out.print()
    print_table(["position", "impressions", "click rate", "pages to here"], rows)
    if len(result.positions) > SHOWN:
        out.print(f"… and {len(result.positions) - SHOWN} more (--json has all)")
    out.print()
    if result.problems:
        bad = [[f"{p['count']:,}", p["problem"], p["where"]] for p in result.problems]
        print_table(["bad rows", "problem", "where"], bad, texts=(1, 2))
    else:
        out.print("No bad rows.")
    out.print()
    say([*result.answers, *result.notes, result.reading.line()])
