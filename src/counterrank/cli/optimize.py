"""`counterrank optimize`: a better policy, learnt from the log."""

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
    LogPath,
    TimeUnit,
    console,
    counting,
    open_log,
    print_table,
    say,
)
from counterrank.errors import InputError
from counterrank.evaluate.options import WEIGHTS, numbers
from counterrank.evaluate.target import open_logging
from counterrank.learn import OPTIMIZERS
from counterrank.learn import optimize as learn
from counterrank.learn.pi_opt import SLOTS
from counterrank.log.write import check_apart, check_output
from counterrank.policy import PlackettLuce
from counterrank.regress import REGRESSIONS
from counterrank.simulate.files import write_table


def optimize(
    log: LogPath,
    by: Annotated[str | None, typer.Option(help=f"How: {', '.join(OPTIMIZERS)}.")] = None,
    features: Annotated[
        str | None, typer.Option(help="Rows query, item and numeric columns. Every query in it gets a ranking.")
    ] = None,
    model: Annotated[str, typer.Option(help=f"What learns from the features: {', '.join(REGRESSIONS)}.")] = "ridge",
    slots: Annotated[
        str,
        typer.Option(help=f"{' or '.join(SLOTS)}: one model for all positions, or one for each (large logs)."),
    ] = "shared",
    k: Annotated[int | None, typer.Option("--k", help="Positions to fill. Default: the log's longest list.")] = None,
    candidates: Annotated[
        str | None, typer.Option(help="Rows (query, item): rank only these. Default: all items with features.")
    ] = None,
    logging: Annotated[
        str | None, typer.Option(help="The policy behind the log: log (its shares), uniform, or a file.")
    ] = None,
    temperature: Annotated[
        float, typer.Option(help="For --logging FILE with scores: 0 sorts, a positive one is Plackett–Luce.")
    ] = 0.0,
    metric: Annotated[str | None, typer.Option(help="reward or clicks. Default: reward if the log has it.")] = None,
    weights: Annotated[
        str, typer.Option(help=f"What a click at a position is worth: {', '.join(WEIGHTS)}, or 1,0.5,…")
    ] = "clicks",
    out: Annotated[Path | None, typer.Option(help="Write the policy: .parquet, .csv or .jsonl.")] = None,
    columns: Columns = None,
    format: Format = None,
    time_unit: TimeUnit = None,
    bad_rows: BadRows = None,
    engine: EngineName = "duckdb",
    as_json: AsJson = False,
) -> None:
    """Learn a better ranking policy from a log.

    Examples:

        counterrank optimize pages.parquet --by pi-opt --features features.parquet --out learnt.parquet

        counterrank optimize pages.parquet --by pi-opt --features features.csv --logging uniform --model tree --json
    """
    if out is not None:
        check_output(out, "--out")
        check_apart(out, "--out", log, features, logging, candidates, str(bad_rows or "") or None)
    if bad_rows is not None:
        check_apart(bad_rows, "--bad-rows", features, logging, candidates)
    known = open_logging(logging, temperature)
    if temperature and not isinstance(known, PlackettLuce):
        raise InputError("--temperature is for a logging policy given as scores: leave it out, or give --logging FILE")
    source = open_log(log, columns, format, time_unit, bad_rows)
    with counting(engine) as chosen:
        result = learn(
            source,
            by=by,
            features=features,
            model=model,
            slots=slots,
            k=k,
            candidates=candidates,
            logging=known,
            metric=metric,
            weights=numbers(weights, "weights", WEIGHTS),
            engine=chosen,
        )
    if out is not None:
        write_table(result.policy_rows(), out)
    if as_json:
        typer.echo(result.to_json())
        return
    print_table(*result.cells(), title=result.summary(), texts=(0, 1, 3))
    console().print()
    say([*result.remarks(), *([f"policy written to {out}"] if out is not None else [])])
