"""`counterrank learn`: a policy in which each query has the ranking that won."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from counterrank.cli.common import command_line, print_json
from counterrank.cli.files import READS, WRITES_DIRECTORY, WRITES_PAGE
from counterrank.cli.flags import phrase
from counterrank.cli.groups import Told
from counterrank.cli.options import AnswerOptions, LogOptions, WorthOptions
from counterrank.cli.policies import open_logging, open_policy
from counterrank.cli.tables import console, print_table, say
from counterrank.errors import InputError
from counterrank.learning.asked import SPECIALS
from counterrank.learning.learn import learn as learnt
from counterrank.learning.models import MODELS
from counterrank.learning.verdicts import GATES
from counterrank.setting.options import EXAMINATIONS, WEIGHTS, read_clip

WORTH = Told(
    top="Learn and judge the first K positions only.",
    weights=f"What a click at a position is worth: {', '.join(WEIGHTS)}, or 1,0.5,… Default: dcg.",
    examination=f"How likely a position is looked at: {', '.join(EXAMINATIONS)}, or 1,0.7,…",
)


@dataclass(frozen=True, kw_only=True)
class PolicyOptions:
    """Which policies are tried."""

    panel: ClassVar[str] = "The policies"

    features: Annotated[
        str | None,
        typer.Option(help="Train a general model on these rows of query, item and numbers; .txt, .letor: LETOR."),
        READS,
    ] = None
    general: Annotated[
        str | None, typer.Option(help="Your own ranker as the general policy; nothing is trained."), READS
    ] = None
    model: Annotated[str, typer.Option(help=f"What is trained on --features: {', '.join(MODELS)}.")] = "linear"
    special: Annotated[
        str,
        typer.Option(help=f"What is memorised per query: {', '.join(SPECIALS)}. both: each at half the error."),
    ] = "tabular"
    specialise_by: Annotated[
        str | None, typer.Option(help="A column of the log: special policies for each query and value of it.")
    ] = None
    logging: Annotated[
        str | None, typer.Option(help="The policy behind the log: log (its shares), uniform, or a file."), READS
    ] = None
    temperature: Annotated[
        float, typer.Option(help="For --general and --logging given as scores: 0 sorts, positive: Plackett–Luce.")
    ] = 0.0
    clip: Annotated[str | None, typer.Option(help="The largest weight of a click in training. Default: none.")] = None


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """Which of them act."""

    panel: ClassVar[str] = "The gate"

    gate: Annotated[str, typer.Option(help=f"The bound that lets a policy act: {', '.join(GATES)}.")] = "betting"
    confidence: Annotated[
        str, typer.Option(help="Of the bound; none: no bound, act wherever the estimate is above 0.")
    ] = "0.95"
    selection_share: Annotated[float, typer.Option(help="Share of the impressions that the gate judges by.")] = 0.5
    selection: Annotated[
        str | None, typer.Option(help="A log of its own to judge by; LOG is then all training."), READS
    ] = None
    validation_share: Annotated[
        float, typer.Option(help="Share of the queries that end the training of a general model.")
    ] = 0.2
    seed: Annotated[int, typer.Option(help="How impressions are dealt, and where training begins.")] = 0


def learn(
    *,
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="The policy directory to write."), WRITES_DIRECTORY],
    policies: PolicyOptions = PolicyOptions(),
    gate: GateOptions = GateOptions(),
    worth: Annotated[WorthOptions, WORTH] = WorthOptions(weights="dcg", examination="reciprocal"),
    source: LogOptions,
    report: Annotated[
        Path | None, typer.Option(help="Also write one HTML page: who acts where, and why."), WRITES_PAGE
    ] = None,
    answer: AnswerOptions = AnswerOptions(),
) -> None:
    """Learn from clicks, and let what was learnt act only where a bound says that it wins.

    Examples:

        counterrank learn clicks.parquet --out learnt

        counterrank learn clicks.parquet --features features.parquet --out learnt --report learnt.html

        counterrank learn clicks.parquet --general ranker.parquet --gate genspec --confidence 0.99 --out learnt
    """
    options = _asked(policies, gate, worth)
    log = source.open(segment=policies.specialise_by)
    other = source.open(gate.selection, policies.specialise_by) if gate.selection is not None else None
    with source.counting() as engine:
        result = learnt(log, selection=other, engine=engine, **options)
    phrase(result)
    result.save(out)
    if report is not None:
        result.report(report, command_line(context))
    if answer.as_json:
        print_json(result.to_json())
        return
    header, body = result.cells()
    texts = (0, 1) if "segment" in header else (0,)
    console().print(result.headline(), soft_wrap=True)
    print_table(header, body, title=result.summary(), texts=(*texts, len(header) - 2, len(header) - 1))
    console().print()
    written = [f"policy written to {out}", *([f"report written to {report}"] if report is not None else [])]
    say([*result.remarks(), *written])


def _asked(policies: PolicyOptions, gate: GateOptions, worth: WorthOptions) -> dict[str, Any]:
    """As the library takes them."""
    given = {name: getattr(policies, name) for name in ("features", "model", "special", "specialise_by")}
    given |= {
        name: getattr(gate, name) for name in ("gate", "confidence", "selection_share", "validation_share", "seed")
    }
    if policies.general is not None:
        general = open_policy(policies.general, policies.temperature, "general", policies.features)
        if general.rows() is None and not general.scores_features:
            raise InputError(f"--general {policies.general}: {general!r} cannot be written as rankings or scores")
        given["general"] = general
    given["logging"] = open_logging(policies.logging, policies.temperature, policies.features)
    return {**given, **worth.asked(), "clip": read_clip(policies.clip)}
