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
from counterrank.cli.files import READS, WRITES_TABLE
from counterrank.errors import InputError
from counterrank.evaluate.options import EXAMINATIONS, WEIGHTS, numbers, read_clip
from counterrank.evaluate.target import open_logging
from counterrank.learn import OPTIMIZERS
from counterrank.learn import optimize as learn
from counterrank.learn.lower import GUARANTEES
from counterrank.learn.pessimistic import POSITION_SCOPES
from counterrank.learn.pi_opt import SLOTS
from counterrank.learn.worth import CLICK_WORTHS
from counterrank.log.write import write_table
from counterrank.policy import PlackettLuce
from counterrank.posterior import BOUNDS, PRIORS, SCOPES
from counterrank.regress import REGRESSIONS


def optimize(
    log: LogPath,
    by: Annotated[str, typer.Option(help=f"How: {', '.join(OPTIMIZERS)}.")] = "pessimistic",
    click_model: Annotated[
        str | None, typer.Option(help=f"How users click: {', '.join(CLICK_WORTHS)}. Default: cm.")
    ] = None,
    bound: Annotated[
        str | None, typer.Option(help=f"Lower bound of attractions: {', '.join(BOUNDS)}. Default: empirical-bayes.")
    ] = None,
    delta: Annotated[
        str | None, typer.Option(help="Allowed chance that a bound fails, above 0 and up to 1, or auto. Default: 0.2.")
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(help=f"Beta prior: α,β or {', '.join(PRIORS)}. Default: 1,1 for bayes, fit for empirical-bayes."),
    ] = None,
    prior_scope: Annotated[
        str | None, typer.Option(help=f"Whose items share a fitted prior: {' or '.join(SCOPES)}. Default: query.")
    ] = None,
    position_scope: Annotated[
        str | None,
        typer.Option(help=f"Whose clicks tell of positions: {' or '.join(POSITION_SCOPES)}. Default: the model's."),
    ] = None,
    guarantee: Annotated[
        str | None, typer.Option(help=f"For what delta holds: one {', one '.join(GUARANTEES)}. Default: item.")
    ] = None,
    min_impressions: Annotated[
        int | None, typer.Option(help="Queries with fewer keep their most logged ranking. Default: 1.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", help="Positions to fill. Default: as the log's lists.")] = None,
    top: Annotated[int | None, typer.Option(help="Cut the log's lists to their first positions beforehand.")] = None,
    candidates: Annotated[str | None, typer.Option(help="Rows (query, item): rank only these."), READS] = None,
    clip: Annotated[str | None, typer.Option(help="Largest importance weight, for lp-…, ips and ip-ips.")] = None,
    examination: Annotated[
        str | None,
        typer.Option(help=f"For lp-pbm: {', '.join(EXAMINATIONS)}, or 1,0.7,… Default: reciprocal."),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(help="For pi-opt: rows query, item and numeric columns. Every query in it gets a ranking."),
        READS,
    ] = None,
    model: Annotated[
        str | None, typer.Option(help=f"For pi-opt, what learns: {', '.join(REGRESSIONS)}. Default: ridge.")
    ] = None,
    slots: Annotated[
        str | None,
        typer.Option(help=f"For pi-opt, {' or '.join(SLOTS)}: one model for all positions (default), or one for each."),
    ] = None,
    logging: Annotated[
        str | None,
        typer.Option(help="The policy behind the log: log (its shares), propensity, uniform, or a file."),
        READS,
    ] = None,
    temperature: Annotated[
        float, typer.Option(help="For --logging FILE with scores: 0 sorts, a positive one is Plackett–Luce.")
    ] = 0.0,
    metric: Annotated[str | None, typer.Option(help="reward or clicks. Default: reward if the log has it.")] = None,
    weights: Annotated[
        str | None, typer.Option(help=f"What a click at a position is worth: {', '.join(WEIGHTS)}, or 1,0.5,…")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the policy: .parquet, .csv or .jsonl."), WRITES_TABLE] = None,
    columns: Columns = None,
    format: Format = None,
    time_unit: TimeUnit = None,
    bad_rows: BadRows = None,
    ignore: Ignore = None,
    repair_repeats: RepairRepeats = False,
    engine: EngineName = "duckdb",
    as_json: AsJson = False,
) -> None:
    """The ranking with the best lower bound for each query, or a policy that is best by other lights.

    Examples:

        counterrank optimize clicks.parquet --click-model cm --delta 0.2 --out safe.parquet

        counterrank optimize clicks.parquet --by lp-ip --clip 10 --out best.parquet

        counterrank optimize pages.parquet --by pi-opt --features features.parquet --out learnt.parquet
    """
    known = open_logging(logging, temperature, features)
    if temperature and not isinstance(known, PlackettLuce):
        raise InputError("--temperature is for a logging policy given as scores: leave it out, or give --logging FILE")
    given = {
        "click_model": click_model, "bound": bound, "delta": delta, "prior": prior, "prior_scope": prior_scope,
        "position_scope": position_scope, "guarantee": guarantee, "min_impressions": min_impressions, "k": k,
        "top": top, "candidates": candidates, "clip": read_clip(clip), "features": features, "model": model,
        "slots": slots, "logging": known, "metric": metric,
        "weights": numbers(weights, "weights", WEIGHTS) if weights is not None else None,
        "examination": numbers(examination, "examination", EXAMINATIONS) if examination is not None else None,
    }  # fmt: skip
    asked = {name: value for name, value in given.items() if value is not None}
    source = open_log(log, columns, format, time_unit, bad_rows, ignore, repair_repeats)
    with counting(engine) as chosen:
        result = learn(source, by=by, engine=chosen, **asked)
    if out is not None:
        write_table(result.policy_rows(), out)
    if as_json:
        print_json(result.to_json())
        return
    header, body = result.cells()
    print_table(header, body, title=result.summary(), texts=(0, 1, len(header) - 1))
    console().print()
    say([*result.remarks(), *([f"policy written to {out}"] if out is not None else [])])
