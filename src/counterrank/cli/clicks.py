"""`counterrank clicks`: click models fitted and compared, and how far down users look."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterrank.cli.common import choices, print_json, working
from counterrank.cli.files import READS, WRITES_TABLE
from counterrank.cli.flags import phrase
from counterrank.cli.options import AnswerOptions, LogOptions
from counterrank.cli.tables import console, print_table, say
from counterrank.click import FITS
from counterrank.click.fit import ITERATIONS, SCOPES, Scope
from counterrank.errors import unknown
from counterrank.fitting.clicks import judge, model_names
from counterrank.fitting.holdout import part
from counterrank.log.write import write_table
from counterrank.posterior import PRIORS, read_prior
from counterrank.setting.options import check_top

SPLITS = ("impression", "day")


def clicks(
    *,
    test: Annotated[
        str | None, typer.Option(help="Judge on this log. Default: a part of LOG that is held out."), READS
    ] = None,
    holdout: Annotated[float, typer.Option(help="The share of LOG to judge on.")] = 0.2,
    split: Annotated[
        str, typer.Option(help="What is held out: impression (drawn by hash) or day (the last days).")
    ] = "impression",
    model: Annotated[str | None, typer.Option(help=f"Comma-separated: {choices(FITS)}. Default: all.")] = None,
    top: Annotated[int | None, typer.Option(help="The first K positions only.")] = None,
    prior: Annotated[
        str,
        typer.Option(help=f"Beta prior of attractions: {', '.join(PRIORS)} (by the log), or α,β on every chance."),
    ] = "fit",
    scope: Annotated[
        str, typer.Option(help="Position parameters: pooled over all queries, or each query its own.")
    ] = "pooled",
    iterations: Annotated[int, typer.Option(help="Most iterations of models with no closed form.")] = ITERATIONS,
    out: Annotated[
        Path | None,
        typer.Option(help="Write attractions by (query, item), fitted to all of LOG: .parquet, .csv or .jsonl."),
        WRITES_TABLE,
    ] = None,
    source: LogOptions,
    answer: AnswerOptions = AnswerOptions(),
) -> None:
    """Fit click models, compare them on clicks held out, and show how far down users look.

    Examples:

        counterrank clicks clicks.parquet

        counterrank clicks clicks.parquet --split day --holdout 0.3 --model pbm,ubm,dbn --out attractions.parquet

        counterrank clicks train.gz --test test.gz --format yandex --json
    """
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    if scope not in SCOPES:
        raise unknown("scope", scope, SCOPES)
    chosen_scope: Scope = "query" if scope == "query" else "pooled"
    names, chosen_prior = model_names(model), read_prior(prior)
    check_top(top)
    log = source.open()
    other = source.open(test) if test is not None else None
    with source.counting() as engine:
        halves = part(log, other, holdout, split, top, engine)
    with working() as tell:
        result = judge(halves, names, chosen_prior, chosen_scope, iterations, tell)
    phrase(result)
    if out is not None:
        write_table(result.attractions(), out)
    if answer.as_json:
        print_json(result.to_json())
        return
    print_table(*result.cells(), title=result.summary())
    console().print()
    print_table(*result.curve_cells(), texts=(6,))
    console().print()
    written = [f"attractions written to {out}"] if out is not None else []
    say([*result.remarks(), *written])
