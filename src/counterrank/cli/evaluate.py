"""`counterrank evaluate`: the value of a new policy, from the log of the old one."""

from __future__ import annotations

from typing import Annotated

import typer

from counterrank.cli.common import choices, command_line, print_json
from counterrank.cli.files import READS
from counterrank.cli.flags import phrase
from counterrank.cli.options import JudgedOptions, JudgingOptions, LogOptions
from counterrank.cli.policies import open_target
from counterrank.estimate import ESTIMATORS
from counterrank.judging.evaluate import evaluate as judge
from counterrank.log.write import write_table


def evaluate(
    *,
    context: typer.Context,
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
            help=f"Comma-separated: {choices(ESTIMATORS)}; or best (what stands best for this target). "
            "Default: all that the data allows; pi and wpi where they are quick; dm, dr, dr-list with --features."
        ),
    ] = None,
    question: JudgingOptions = JudgingOptions(weights="clicks"),
    answer: JudgedOptions = JudgedOptions(),
    source: LogOptions,
) -> None:
    """Judge a ranking policy from the log of another.

    Examples:

        counterrank evaluate clicks.parquet --target new.parquet

        counterrank evaluate clicks.csv --target scores.csv --temperature 0.5 --weights dcg --top 5

        counterrank evaluate clicks.parquet --target new.parquet --estimator ip,pbm --clip 100 --json
    """
    log = source.open()
    policy, logging = open_target(
        target,
        question.logging,
        question.temperature,
        question.logging_temperature,
        question.mix,
        features=question.features,
    )
    asked = question.asked()
    with source.counting() as engine:
        result = judge(log, policy, estimators=estimator, logging=logging, engine=engine, **asked)
        phrase(result)
        if answer.report is not None:
            result.report(answer.report, command_line(context), log=log, engine=engine)
    if answer.per_query is not None:
        write_table(result.per_query, answer.per_query)
    if answer.as_json:
        print_json(result.to_json())
        return
    from counterrank.cli.tables import console, print_answer, say  # Rich takes long to import

    print_answer(result)
    remarks = [*result.remarks(), *answer.written()]
    if remarks:
        console().print()
    say(remarks)
