"""`counterrank compare`: is the new policy better than the old one, and is that certain?"""

from __future__ import annotations

import math
from pathlib import Path
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
    Report,
    TimeUnit,
    command_line,
    console,
    counting,
    open_log,
    print_json,
    print_table,
    say,
)
from counterrank.cli.files import READS, WRITES_TABLE
from counterrank.errors import InputError
from counterrank.estimate import ESTIMATORS
from counterrank.evaluate import compare as judge
from counterrank.evaluate.options import EXAMINATIONS, WEIGHTS, numbers, read_clip
from counterrank.evaluate.target import open_sides
from counterrank.interval import INTERVALS
from counterrank.log.write import write_table
from counterrank.policy import Policy
from counterrank.regress import REGRESSIONS


def compare(
    context: typer.Context,
    log: LogPath,
    target: Annotated[
        str, typer.Option(help="The new policy: a file, a policy directory, or the word logging or uniform."), READS
    ],
    baseline: Annotated[str, typer.Option(help="The policy to beat: as --target."), READS] = "logging",
    require_improvement: Annotated[
        float | None, typer.Option(help="Exit with 1 unless the lower bound on the difference is above this number.")
    ] = None,
    estimator: Annotated[
        str | None,
        typer.Option(help=f"Compare by paired differences of an estimator instead: {', '.join(ESTIMATORS)}."),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="For --estimator: reward or clicks. Default: reward if both have it.")
    ] = None,
    top: Annotated[int | None, typer.Option(help="Judge the first K positions only.")] = None,
    weights: Annotated[
        str | None,
        typer.Option(help=f"What an item at a position is worth: {', '.join(WEIGHTS)}, or 1,0.5,… Default: dcg."),
    ] = None,
    examination: Annotated[
        str, typer.Option(help=f"How likely a position is looked at: {', '.join(EXAMINATIONS)}, or 1,0.7,…")
    ] = "reciprocal",
    clip: Annotated[
        str | None,
        typer.Option(help="For --estimator: the largest weight an impression may get, or auto. Default: none."),
    ] = None,
    logging: Annotated[
        str | None,
        typer.Option(help="The policy behind the log: log (its shares, the default), uniform, or a file."),
        READS,
    ] = None,
    temperature: Annotated[
        float, typer.Option(help="For policies given as scores: 0 sorts, a positive one is Plackett–Luce.")
    ] = 0.0,
    baseline_temperature: Annotated[
        float | None, typer.Option(help="The same for --baseline FILE. Default: --temperature.")
    ] = None,
    logging_temperature: Annotated[
        float | None, typer.Option(help="The same for --logging FILE. Default: --temperature.")
    ] = None,
    mix: Annotated[float, typer.Option(help="Judge the target with this share of uniform rankings mixed in.")] = 0.0,
    candidates: Annotated[
        str | None,
        typer.Option(help="Rows (query, item): what uniform may show. Default: logged and named items."),
        READS,
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(help=f"For --estimator: {', '.join(INTERVALS)}. Default: normal, t where evidence is thin."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence of the bound.")] = 0.95,
    reward_range: Annotated[
        str | None, typer.Option(help="For --estimator: LO,HI, between what numbers rewards can lie.")
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            help="Rows (query, item, numbers) for dm, dr, dr-list and policies that score; .txt, .letor: LETOR."
        ),
        READS,
    ] = None,
    model: Annotated[
        str | None, typer.Option(help=f"The regression on features: {', '.join(REGRESSIONS)}. Default: ridge.")
    ] = None,
    per_query: Annotated[
        Path | None, typer.Option(help="Also write a verdict per query: .parquet, .csv or .jsonl."), WRITES_TABLE
    ] = None,
    report: Report = None,
    columns: Columns = None,
    format: Format = None,
    time_unit: TimeUnit = None,
    bad_rows: BadRows = None,
    ignore: Ignore = None,
    repair_repeats: RepairRepeats = False,
    engine: EngineName = "duckdb",
    as_json: AsJson = False,
) -> None:
    """Tell whether one policy is better than another, with one bound on the difference.

    Examples:

        counterrank compare clicks.parquet --target new.parquet

        counterrank compare clicks.parquet --target new.parquet --baseline old.parquet --per-query verdicts.csv

        counterrank compare clicks.parquet --target new.parquet --estimator pbm

        counterrank compare clicks.parquet --target new.parquet --require-improvement 0 --json
    """
    if require_improvement is not None and not math.isfinite(require_improvement):
        raise InputError(f"--require-improvement is {require_improvement}: expected a number, e.g. 0")
    source = open_log(log, columns, format, time_unit, bad_rows, ignore, repair_repeats)
    policy, other, logging_policy = open_sides(
        target, baseline, logging, temperature, baseline_temperature, logging_temperature, mix, features
    )
    sides = [side for side in (policy, other, logging_policy) if isinstance(side, Policy)]
    if estimator is None and any(side.scores_features for side in sides):
        features = None  # they were for a policy, and the bound fits no regression
    theta = numbers(weights, "weights", WEIGHTS) if weights is not None else None
    curve = numbers(examination, "examination", EXAMINATIONS)
    with counting(engine) as chosen:
        result = judge(
            source,
            policy,
            other,
            estimator=estimator,
            metric=metric,
            clip=read_clip(clip),
            top=top,
            weights=theta,
            examination=curve,
            logging=logging_policy,
            candidates=candidates,
            interval=interval,
            confidence=confidence,
            engine=chosen,
            reward_range=reward_range,
            features=features,
            model=model,
        )
        if report is not None:
            result.report(report, command_line(context))
    if per_query is not None:
        write_table(result.per_query, per_query)
    if as_json:
        print_json(result.to_json())
    else:
        print_table(*result.cells(), title=result.summary())
        console().print()
        said = [result.by_query.words()] if per_query is not None and result.by_query else []
        said += [f"report written to {report}"] if report is not None else []
        say([*result.remarks(), *said])
    if require_improvement is not None and (result.lower is None or not result.lower > require_improvement):
        raise typer.Exit(1)
