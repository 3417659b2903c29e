"""`counterrank backtest`: which estimator and clip to trust on this log."""

from __future__ import annotations

from typing import Annotated

import typer

from counterrank.backtesting.backtest import CLIPS, PROBLEMS, tested
from counterrank.backtesting.backtest import backtest as test
from counterrank.cli.common import print_json
from counterrank.cli.flags import phrase
from counterrank.cli.groups import Told
from counterrank.cli.options import AnswerOptions, LogOptions, WorthOptions
from counterrank.cli.tables import console, print_table, say
from counterrank.errors import InputError
from counterrank.setting.options import WEIGHTS

GRID = ",".join("none" if clip == float("inf") else f"{clip:g}" for clip in CLIPS)
QUESTION = Told(
    top="Predict the clicks at the first K positions only.",
    weights=f"What a click at a position is worth: {', '.join(WEIGHTS)}, or 1,0.5,… "
    f"Default, without --top: {', '.join(PROBLEMS)}, the problems of li2018.",
)


def backtest(
    *,
    estimator: Annotated[
        str | None, typer.Option(help=f"Comma-separated: {', '.join(tested())}. Default: all.")
    ] = None,
    clips: Annotated[str, typer.Option(help="Clips to try, comma-separated; none is no clip.")] = GRID,
    queries: Annotated[int | None, typer.Option(help="Test the N most frequent queries only. Default: all.")] = None,
    min_impressions: Annotated[
        int, typer.Option(help="Test a day if it and the query's other days have this many impressions.")
    ] = 1,
    confidence: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the resampling behind the intervals.")] = 0,
    question: Annotated[WorthOptions, QUESTION] = WorthOptions(),
    source: LogOptions,
    answer: AnswerOptions = AnswerOptions(),
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
    log, asked = source.open(), question.asked()
    with source.counting() as engine:
        result = test(
            log,
            estimators=estimator,
            clips=[clip.strip() for clip in clips.split(",") if clip.strip()],
            queries=queries,
            min_impressions=min_impressions,
            confidence=confidence,
            seed=seed,
            engine=engine,
            **asked,
        )
    phrase(result)
    if answer.as_json:
        print_json(result.to_json())
        return
    console().print(result.summary(), style="bold")
    print_table(*result.cells())
    say(result.remarks())
