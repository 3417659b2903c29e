"""`counterrank optimize`: a better policy, learnt from the log."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from counterrank.cli.common import print_json
from counterrank.cli.files import WRITES_TABLE
from counterrank.cli.flags import phrase
from counterrank.cli.groups import Told
from counterrank.cli.options import TEMPERATURE, AnswerOptions, LogOptions, QuestionOptions
from counterrank.cli.policies import open_logging
from counterrank.cli.tables import console, print_table, say
from counterrank.errors import InputError
from counterrank.log.write import write_table
from counterrank.optimizing.optimize import OPTIMIZERS
from counterrank.optimizing.optimize import optimize as learn
from counterrank.optimizing.pessimistic.lower import GUARANTEES
from counterrank.optimizing.pessimistic.pessimistic import POSITION_SCOPES
from counterrank.optimizing.pessimistic.worth import CLICK_WORTHS
from counterrank.optimizing.pi_opt.pi_opt import SLOTS
from counterrank.policy import PlackettLuce
from counterrank.posterior import BOUNDS, PRIORS, SCOPES
from counterrank.regress import REGRESSIONS
from counterrank.setting.options import EXAMINATIONS

QUESTION = Told(
    top="Cut the log's lists to their first positions beforehand.",
    examination=f"For lp-pbm: {', '.join(EXAMINATIONS)}, or 1,0.7,… Default: auto.",
    clip="Largest importance weight, for lp-…, ips and ip-ips.",
    logging="The policy behind the log: log (its shares), propensity, uniform, or a file.",
    temperature=f"For --logging FILE with scores: {TEMPERATURE}",
    candidates="Rows (query, item): rank only these.",
    features="For pi-opt: rows query, item and numeric columns. Every query in it gets a ranking.",
    model=f"For pi-opt, what learns: {', '.join(REGRESSIONS)}. Default: ridge.",
)


@dataclass(frozen=True, kw_only=True)
class PessimisticOptions:
    """What only lower bounds need."""

    panel: ClassVar[str] = "For --by pessimistic"

    click_model: Annotated[
        str | None, typer.Option(help=f"How users click: {', '.join(CLICK_WORTHS)}. Default: cm.")
    ] = None
    bound: Annotated[
        str | None, typer.Option(help=f"Lower bound of attractions: {', '.join(BOUNDS)}. Default: empirical-bayes.")
    ] = None
    delta: Annotated[
        str | None, typer.Option(help="Allowed chance that a bound fails, above 0 and up to 1, or auto. Default: 0.2.")
    ] = None
    prior: Annotated[
        str | None,
        typer.Option(help=f"Beta prior: α,β or {', '.join(PRIORS)}. Default: 1,1 for bayes, fit for empirical-bayes."),
    ] = None
    prior_scope: Annotated[
        str | None, typer.Option(help=f"Whose items share a fitted prior: {' or '.join(SCOPES)}. Default: global.")
    ] = None
    position_scope: Annotated[
        str | None,
        typer.Option(help=f"Whose clicks tell of positions: {' or '.join(POSITION_SCOPES)}. Default: the model's."),
    ] = None
    guarantee: Annotated[
        str | None, typer.Option(help=f"For what delta holds: one {', one '.join(GUARANTEES)}. Default: item.")
    ] = None
    min_impressions: Annotated[
        int | None, typer.Option(help="Queries with fewer keep their most logged ranking. Default: 1.")
    ] = None


def optimize(
    *,
    by: Annotated[str, typer.Option(help=f"How: {', '.join(OPTIMIZERS)}.")] = "pessimistic",
    k: Annotated[int | None, typer.Option("--k", help="Positions to fill. Default: as the log's lists.")] = None,
    slots: Annotated[
        str | None,
        typer.Option(help=f"For pi-opt, {' or '.join(SLOTS)}: one model for all positions (default), or one for each."),
    ] = None,
    holdout: Annotated[
        str | None,
        typer.Option(
            help="Learn without a share of the impressions, or without the last days (days), and judge on these. "
            "lp-… and other policies by an estimator are judged so in any case, unless it is none."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the policy: .parquet, .csv or .jsonl."), WRITES_TABLE] = None,
    question: Annotated[QuestionOptions, QUESTION] = QuestionOptions(examination=None),
    pessimistic: PessimisticOptions = PessimisticOptions(),
    source: LogOptions,
    answer: AnswerOptions = AnswerOptions(),
) -> None:
    """The ranking with the best lower bound for each query, or a policy that is best by other lights.

    Examples:

        counterrank optimize clicks.parquet --click-model cm --delta 0.2 --out safe.parquet

        counterrank optimize clicks.parquet --by lp-ip --clip 10 --out best.parquet

        counterrank optimize pages.parquet --by pi-opt --features features.parquet --out learnt.parquet
    """
    logging = open_logging(question.logging, question.temperature, question.features)
    if question.temperature and not isinstance(logging, PlackettLuce):
        raise InputError("--temperature is for a logging policy given as scores: leave it out, or give --logging FILE")
    given = {**asdict(pessimistic), **question.asked(), "k": k, "slots": slots, "logging": logging}
    asked = {name: value for name, value in given.items() if value is not None}
    log = source.open()
    with source.counting() as engine:
        result = learn(log, by=by, holdout=holdout, engine=engine, **asked)
    phrase(result)
    if out is not None:
        write_table(result.policy_rows(), out)
    if answer.as_json:
        print_json(result.json_parts())
        return
    header, body = result.cells()
    print_table(header, body, title=result.summary(), texts=(0, 1, len(header) - 1))
    console().print()
    say([*result.remarks(), *([f"policy written to {out}"] if out is not None else [])])
