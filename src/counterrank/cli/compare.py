"""`counterrank compare`: is the new policy better than the old one, and is that certain?"""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from counterrank.cli.common import choices, command_line, print_json
from counterrank.cli.files import READS
from counterrank.cli.flags import phrase
from counterrank.cli.groups import Told
from counterrank.cli.options import JudgedOptions, JudgingOptions, LogOptions
from counterrank.cli.policies import open_sides
from counterrank.comparing.compare import compare as judge
from counterrank.comparing.comparison import Comparison
from counterrank.comparing.several import Comparisons, compare_all
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
        list[str],
        typer.Option(
            help="The new policy: a file, a policy directory, or the word logging or uniform. Give several to compare "
            "each with the baseline, each as much surer as there are more."
        ),
        READS,
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
    question: Annotated[JudgingOptions, QUESTION] = JudgingOptions(examination=None),
    answer: Annotated[JudgedOptions, ANSWER] = JudgedOptions(),
    source: LogOptions,
) -> None:
    """Tell whether one policy is better than another, with one bound on the difference.

    Examples:

        counterrank compare clicks.parquet --target new.parquet

        counterrank compare clicks.parquet --target new.parquet --baseline old.parquet --per-query verdicts.csv

        counterrank compare clicks.parquet --target new.parquet --target other.parquet

        counterrank compare clicks.parquet --target new.parquet --require-improvement 0 --json
    """
    if require_improvement is not None and not math.isfinite(require_improvement):
        raise InputError(f"--require-improvement is {require_improvement}: expected a number, e.g. 0")
    if len(target) > 1 and (answer.report is not None or answer.per_query is not None):
        raise InputError("--report and --per-query are for one --target: leave them out, or compare one at a time")
    twice = next((name for name in target if target.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"--target {twice} came twice: name each policy once")
    log = source.open()
    opened = [
        open_sides(
            each,
            baseline,
            question.logging,
            question.temperature,
            baseline_temperature,
            question.logging_temperature,
            mix=question.mix,
            features=question.features,
        )
        for each in target
    ]
    asked, logging = question.asked(), opened[0][2]
    sides = [side for three in opened for side in three if isinstance(side, Policy)]
    if any(side.scores_features for side in sides):
        asked["features"] = _for_regression(estimator, asked["features"])
    given = {"estimator": estimator, "logging": logging, **asked}
    with source.counting() as engine:
        result: Comparison | Comparisons
        if len(target) > 1:
            policies = {name: policy for name, (policy, _, _) in zip(target, opened, strict=True)}
            result = compare_all(log, policies, opened[0][1], engine=engine, **given)
        else:
            result = judge(log, opened[0][0], opened[0][1], engine=engine, **given)
        _phrased(result)
        if answer.report is not None and isinstance(result, Comparison):
            result.report(answer.report, command_line(context), log=log, engine=engine)
    _given(result, answer)
    each_of = result.comparisons.values() if isinstance(result, Comparisons) else [result]
    if require_improvement is not None and not any(found.improves(require_improvement) for found in each_of):
        raise typer.Exit(1)


def _phrased(result: Comparison | Comparisons) -> None:
    for each in [result, *(result.comparisons.values() if isinstance(result, Comparisons) else [])]:
        phrase(each)


def _given(result: Comparison | Comparisons, answer: JudgedOptions) -> None:
    """The answer on the screen, and the verdicts of queries in their file."""
    if answer.per_query is not None and isinstance(result, Comparison):
        write_table(result.per_query, answer.per_query)
    if answer.as_json:
        print_json(result.to_json())
        return
    from counterrank.cli.tables import console, print_answer, say  # Rich takes long to import

    print_answer(result)
    console().print()
    by_query = result.by_query if isinstance(result, Comparison) and answer.per_query is not None else None
    say([*result.remarks(), *([by_query.words()] if by_query is not None else []), *answer.written()])


def _for_regression(estimator: str, features: Any) -> Any:
    """Features that a policy scores are for a regression too, if the estimator has one."""
    return features if estimator in ESTIMATORS and Need.FEATURES in ESTIMATORS[estimator].needs else None
