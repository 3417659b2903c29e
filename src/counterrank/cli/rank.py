"""`counterrank rank`: the rankings of a policy, as a plain policy file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterrank.cli.common import print_json
from counterrank.cli.files import READS, WRITES_TABLE
from counterrank.cli.options import AnswerOptions
from counterrank.cli.policies import open_policy
from counterrank.cli.tables import console, say
from counterrank.errors import InputError
from counterrank.log.write import write_table
from counterrank.policy import GenSpec
from counterrank.policy.listed import list_rankings
from counterrank.screen import json_text
from counterrank.setting.options import check_top


def rank(
    *,
    policy: Annotated[str, typer.Argument(help="A file of rankings, scores or slots, or a policy directory."), READS],
    out: Annotated[Path, typer.Option(help="The rankings: .parquet, .csv or .jsonl."), WRITES_TABLE],
    features: Annotated[
        str | None, typer.Option(help="Rows (query, item, numbers) for a policy that scores features."), READS
    ] = None,
    temperature: Annotated[
        float, typer.Option(help="For policies given as scores: 0 sorts, a positive one is Plackett–Luce.")
    ] = 0.0,
    segment: Annotated[
        str | None, typer.Option(help="For a policy directory with segments: rank for this one.")
    ] = None,
    top: Annotated[int | None, typer.Option(help="Only the first K items of each ranking.")] = None,
    best: Annotated[bool, typer.Option("--best", help="Only the most likely ranking of each query.")] = False,
    answer: AnswerOptions = AnswerOptions(),
) -> None:
    """Write the rankings of a policy as rows of query, items and probability.

    Examples:

        counterrank rank scores.csv --out rankings.jsonl --top 10

        counterrank rank learnt --features new.parquet --out rankings.parquet
    """
    if policy in ("logging", "uniform"):
        raise InputError(f"{policy!r} has rankings only with a log: give a policy file or directory")
    given = open_policy(policy, temperature, "policy", features)
    if segment is not None:
        if not isinstance(given, GenSpec):
            raise InputError(f"--segment {segment}: {policy} has no segments: leave it out")
        given = given.segment(segment)
    listed = list_rankings(given, check_top(top), best=best)
    write_table(listed.rows, out)
    notes = [*listed.notes, *given.notes]
    if answer.as_json:
        found = {"queries": listed.queries, "rankings": listed.rows.num_rows, "unlisted": listed.unlisted}
        print_json(json_text({**found, "written": str(out), "notes": notes}))
        return
    console().print(f"{listed.rows.num_rows:,} rankings of {listed.queries:,} queries written to {out}", soft_wrap=True)
    say(notes)
