"""`counterrank backtest`: which estimator and clip to trust on this log."""

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
from counterrank.errors import InputError
from counterrank.evaluate.backtest import CLIPS, PROBLEMS, tested
from counterrank.evaluate.backtest import backtest as test
from counterrank.evaluate.options import EXAMINATIONS, WEIGHTS, numbers

GRID = ",".join("none" if clip == float("inf") else f"{clip:g}" for clip in CLIPS)


def backtest(
    log: LogPath,
    estimator: Annotated[
        str | None, typer.Option(help=f"Comma-separated: {', '.join(tested())}. Default: all.")
    ] = None,
    clips: Annotated[str, typer.Option(help="Clips to try, comma-separated; none is no clip.")] = GRID,
    top: Annotated[int | None, typer.Option(help="Predict the clicks at the first K positions only.")] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            help=f"What a click at a position is worth: {', '.join(WEIGHTS)}, or 1,0.5,… "
            f"Default, without --top: {', '.join(PROBLEMS)}, the problems of li2018."
        ),
    ] = None,
    examination: Annotated[
        str, typer.Option(help=f"How likely a position is looked at, for pbm: {', '.join(EXAMINATIONS)}, or 1,0.7,…")
    ] = "reciprocal",
    queries: Annotated[int | None, typer.Option(help="Test the N most frequent queries only. Default: all.")] = None,
    min_impressions: Annotated[
        int, typer.Option(help="Test a day if it and the query's other days have this many impressions.")
    ] = 1,
    confidence: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the resampling behind the intervals.")] = 0,
    columns: Columns = None,
    format: Format = None,
    time_unit: TimeUnit = None,
    bad_rows: BadRows = None,
    ignore: Ignore = None,
    repair_repeats: RepairRepeats = False,
    engine: EngineName = "duckdb",
    as_json: AsJson = False,
) -> None:
    """Find the estimator and clip to trust on this log: each day in turn is predicted from the others.

    Examples:

        counterrank backtest clicks.parquet

        counterrank backtest clicks.parquet --weights dcg --top 5 --clips 5,50,none

        counterrank backtest search-log.tsv.gz --format yandex --queries 100 --json
    """
    if queries is not None and queries < 1:
        raise InputError(f"--queries is {queries}: expected how many of the most frequent queries to test, 1 or more")
    if seed < 0:
        raise InputError(f"--seed is {seed}: expected 0 or more")
    source = open_log(log, columns, format, time_unit, bad_rows, ignore, repair_repeats)
    with counting(engine) as chosen:
        result = test(
            source,
            estimators=estimator,
            clips=[clip.strip() for clip in clips.split(",") if clip.strip()],
            top=top,
            weights=numbers(weights, "weights", WEIGHTS) if weights is not None else None,
            examination=numbers(examination, "examination", EXAMINATIONS),
            queries=queries,
            min_impressions=min_impressions,
            confidence=confidence,
            seed=seed,
            engine=chosen,
        )
    if as_json:
        print_json(result.to_json())
        return
    console().print(result.summary(), style="bold")
    print_table(*result.cells())
    say(result.remarks())
