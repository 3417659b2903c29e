"""`counterrank compare`: is the new policy better than the old one, and is that certain?"""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from counterrank.cli.common import choices, command_line, console, print_json, print_table, say
from counterrank.cli.files import READS
from counterrank.cli.flags import phrase
from counterrank.cli.groups import Told
from counterrank.cli.options import JudgedOptions, JudgingOptions, LogOptions
from counterrank.cli.policies import open_sides
from counterrank.comparing.compare import compare as judge
from counterrank.errors import InputError
from counterrank.estimate import ESTIMATORS
from counterrank.interval import INTERVALS
from counterrank.log.write import write_table
from counterrank.policy import Policy
from counterrank.setting.need import Need
from counterrank.setting.options import EXAMINATIONS, WEIGHTS

QUESTION = Told(
    metric="reward or clicks. Default: reward if the log has it.",
    weights=f"What a click at a position is worth: {', '.join(WEIGHTS)}, or 1,0.5,… Default: clicks; genspec: dcg.",
    examination=f"How likely a position is looked at: {', '.join(EXAMINATIONS)}, or 1,0.7,…",
    clip="The largest weight an impression may get, or auto. Default: none.",
    logging="The policy behind the log: log (its shares, the default), uniform, or a file.",
    candidates="Rows (query, item): what uniform may show. Default: logged and named items.",
    interval=f"Kind of bound: {', '.join(INTERVALS)}. Default: betting, or normal where no bet can be placed.",
    confidence="Confidence of the bound.",
    reward_range="LO,HI: between what numbers rewards can lie.",
)
ANSWER = Told(per_query="Also write a verdict per query: .parquet, .csv or .jsonl.")


def compare(
    *,
    context: typer.Context,
    target: Annotated[
        str, typer.Option(help="The new policy: a file, a policy directory, or the word logging or uniform."), READS
    ],
    baseline: Annotated[str, typer.Option(help="The policy to beat: as --target."), READS] = "logging",
    require_improvement: Annotated[
        float | None,
        typer.Option(
            help="Exit with 1 unless the lower bound on the difference is above this number and may be trusted: 0 asks "
            "for a win, a number below 0 for no larger loss."
        ),
    ] = None,
    estimator: Annotated[
        str,
        typer.Option(
            help=f"auto (what stands best on this log), genspec (the paper's bound), or one of {choices(ESTIMATORS)}."
        ),
    ] = "auto",
    baseline_temperature: Annotated[
        float | None, typer.Option(help="For --baseline FILE with scores. Default: --temperature.")
    ] = None,
    question: Annotated[JudgingOptions, QUESTION] = JudgingOptions(examination="reciprocal"),
    answer: Annotated[JudgedOptions, ANSWER] = JudgedOptions(),
    source: LogOptions,
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
    log = source.open()
    policy, other, logging = open_sides(
        target,
        baseline,
        question.logging,
        question.temperature,
        baseline_temperature,
        question.logging_temperature,
        question.mix,
        question.features,
    )
    asked = question.asked()
    sides = [side for side in (policy, other, logging) if isinstance(side, Policy)]
    if any(side.scores_features for side in sides):
        asked["features"] = _for_regression(estimator, asked["features"])
    with source.counting() as engine:
        result = judge(log, policy, other, estimator=estimator, logging=logging, engine=engine, **asked)
        phrase(result)
        if answer.report is not None:
            result.report(answer.report, command_line(context), log=log, engine=engine)
    if answer.per_query is not None:
        write_table(result.per_query, answer.per_query)
    if answer.as_json:
        print_json(result.to_json())
    else:
        print_table(*result.cells(), title=result.summary())
        console().print()
        said = [result.by_query.words()] if answer.per_query is not None and result.by_query else []
        say([*result.remarks(), *said, *answer.written()])
    if require_improvement is not None and not result.improves(require_improvement):
        raise typer.Exit(1)


def _for_regression(estimator: str, features: Any) -> Any:
    """Features that a policy scores are for a regression too, if the estimator has one."""
    return features if estimator in ESTIMATORS and Need.FEATURES in ESTIMATORS[estimator].needs else None
