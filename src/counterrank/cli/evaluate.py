"""`counterrank evaluate`: the value of a new policy, from the log of the old one."""

from __future__ import annotations

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
from counterrank.estimate import ESTIMATORS
from counterrank.evaluate import evaluate as judge
from counterrank.evaluate.options import EXAMINATIONS, WEIGHTS, numbers, read_clip
from counterrank.evaluate.target import open_target
from counterrank.interval import INTERVALS
from counterrank.log.write import write_table
from counterrank.regress import REGRESSIONS


def evaluate(
    context: typer.Context,
    log: LogPath,
    target: Annotated[
        str,
        typer.Option(
            help="The policy to judge: a file of rankings or scores, a policy directory, or logging or uniform."
        ),
        READS,
    ],
    estimator: Annotated[
        str | None,
        typer.Option(
            help=f"Comma-separated: {', '.join(ESTIMATORS)}; or best (what backtest recommends). "
            "Default: all that the data allows; pi and wpi where they are quick; dm, dr, dr-list with --features."
        ),
    ] = None,
    metric: Annotated[str | None, typer.Option(help="reward or clicks. Default: reward if the log has it.")] = None,
    top: Annotated[int | None, typer.Option(help="Judge the first K positions only.")] = None,
    weights: Annotated[
        str, typer.Option(help=f"What a click at a position is worth: {', '.join(WEIGHTS)}, or 1,0.5,…")
    ] = "clicks",
    examination: Annotated[
        str, typer.Option(help=f"How likely a position is looked at, for pbm: {', '.join(EXAMINATIONS)}, or 1,0.7,…")
    ] = "reciprocal",
    clip: Annotated[
        str | None, typer.Option(help="The largest weight an impression may get, or auto. Default: none.")
    ] = None,
    logging: Annotated[
        str | None,
        typer.Option(help="The policy behind the log: log (its shares), propensity (its column), uniform, or a file."),
        READS,
    ] = None,
    temperature: Annotated[
        float, typer.Option(help="For policies given as scores: 0 sorts, a positive one is Plackett–Luce.")
    ] = 0.0,
    logging_temperature: Annotated[
        float | None, typer.Option(help="The same for --logging FILE. Default: --temperature.")
    ] = None,
    mix: Annotated[float, typer.Option(help="Judge the target with this share of uniform rankings mixed in.")] = 0.0,
    candidates: Annotated[
        str | None,
        typer.Option(help="Rows (query, item): what uniform may show. Default: logged and target items."),
        READS,
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(help=f"Kind of interval: {', '.join(INTERVALS)}. Default: normal, t where evidence is thin."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    reward_range: Annotated[
        str | None, typer.Option(help="LO,HI: between what numbers rewards can lie, for bounded intervals.")
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
        Path | None, typer.Option(help="Also write values per query: .parquet, .csv or .jsonl."), WRITES_TABLE
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
    """Judge a ranking policy from the log of another.

    Examples:

        counterrank evaluate clicks.parquet --target new.parquet

        counterrank evaluate clicks.csv --target scores.csv --temperature 0.5 --weights dcg --top 5

        counterrank evaluate clicks.parquet --target new.parquet --estimator ip,pbm --clip 100 --json
    """
    source = open_log(log, columns, format, time_unit, bad_rows, ignore, repair_repeats)
    policy, logging_policy = open_target(target, logging, temperature, logging_temperature, mix, features=features)
    theta, curve = numbers(weights, "weights", WEIGHTS), numbers(examination, "examination", EXAMINATIONS)
    with counting(engine) as chosen:
        result = judge(
            source,
            policy,
            estimators=estimator,
            metric=metric,
            top=top,
            weights=theta,
            examination=curve,
            clip=read_clip(clip),
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
        return
    print_table(*result.cells(), title=result.summary())
    remarks = [*result.remarks(), *([f"report written to {report}"] if report is not None else [])]
    if remarks:
        console().print()
    say(remarks)
