"""`counterrank simulate`: a log from a made-up world with its truth, or rankers that serve and learn."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import typer

from counterrank.cli.common import print_json
from counterrank.cli.files import WRITES_FILE, WRITES_TABLE
from counterrank.cli.options import AnswerOptions
from counterrank.cli.sessions import SessionOptions
from counterrank.cli.tables import console, print_table
from counterrank.errors import InputError
from counterrank.output import write
from counterrank.screen import json_text
from counterrank.simulate.log import write_log
from counterrank.simulate.truth import Truth, truth
from counterrank.simulate.world import USERS, World, make_world


@dataclass(frozen=True, kw_only=True)
class WorldOptions:
    """The made-up world."""

    panel: ClassVar[str] = "The world"

    queries: Annotated[int, typer.Option(help="Different queries.")] = 100
    items: Annotated[int, typer.Option(help="Items per query.")] = 20
    k: Annotated[int, typer.Option(help="Positions of a ranking.")] = 10
    users: Annotated[str, typer.Option(help=f"How users click: {', '.join(USERS)}.")] = "pbm"
    zipf: Annotated[float, typer.Option(help="Frequency of the r-th query ∝ 1/r^zipf; 0: all alike.")] = 1.0
    eta: Annotated[float, typer.Option(help="Examination 1/k^eta of pbm users.")] = 1.0
    noise: Annotated[float, typer.Option(help="Noise of the logging scores.")] = 1.0
    temperature: Annotated[float, typer.Option(help="Temperature of the logging policy.")] = 1.0
    uniform_share: Annotated[float, typer.Option(help="Share of impressions with a uniform ranking.")] = 0.0


@dataclass(frozen=True, kw_only=True)
class TruthOptions:
    """Files beside the log: policies of the world, and what they are truly worth."""

    panel: ClassVar[str] = "Policies and truth"

    logging_out: Annotated[
        Path | None, typer.Option(help="Scores of the logging policy (read with --temperature 1)."), WRITES_TABLE
    ] = None
    better_out: Annotated[
        Path | None, typer.Option(help="Scores of a better policy: true attraction."), WRITES_TABLE
    ] = None
    worse_out: Annotated[
        Path | None, typer.Option(help="Scores of a worse policy: true attraction reversed."), WRITES_TABLE
    ] = None
    truth_out: Annotated[
        Path | None, typer.Option(help="JSON file with the true values of the three policies."), WRITES_FILE
    ] = None


def simulate(
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="The log: .parquet, .csv or .jsonl (the last two also .gz). Needed without --sessions."),
        WRITES_TABLE,
    ] = None,
    impressions: Annotated[int, typer.Option(help="Rows of the log.")] = 100_000,
    days: Annotated[int, typer.Option(help="Days, of equally many impressions.")] = 7,
    drift: Annotated[float, typer.Option(help="How much each day's logging scores differ (standard deviation).")] = 0.0,
    drift_share: Annotated[float, typer.Option(help="Share of the queries that drift touches each day.")] = 1.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same files.")] = 0,
    beside: TruthOptions = TruthOptions(),
    world: WorldOptions = WorldOptions(),
    service: SessionOptions = SessionOptions(),
    answer: AnswerOptions = AnswerOptions(),
) -> None:
    """Make a click log from a made-up world whose truth is known; or, with --sessions, play a ranking service.

    Examples:

        counterrank simulate --out clicks.parquet --better-out new.parquet --impressions 100000

        counterrank simulate --sessions auto --letor mq2008 --ranker ebrank,ucbrank --exploration tune
    """
    if seed < 0:
        raise InputError(f"seed is {seed}: give 0 or more")
    if service.asked():
        service.play(seed, out, answer.as_json)
        return
    if out is None:
        raise InputError("`out` is not given: name the file of the log, or play a service with `sessions`")
    made = make_world(**asdict(world), seed=seed)
    written = {"log": str(out)}
    choices = {"logging": (beside.logging_out, made.logging_scores), "better": (beside.better_out, made.better)}
    for name, (path, policy) in {**choices, "worse": (beside.worse_out, made.worse)}.items():
        if path is not None:
            policy().save(path)
            written[name] = str(path)
    clicks = write_log(made, out, impressions, seed + 1, days=days, drift=drift, drift_share=drift_share)
    truths = _truths(made)
    if beside.truth_out is not None:
        written["truth"] = str(beside.truth_out)
        write(beside.truth_out, (json_text(truths, indent=2) + "\n").encode(), "--truth-out")
    result = {
        "impressions": impressions,
        "queries": world.queries,
        "positions": world.k,
        "users": world.users,
        "days": days,
        "drift": drift,
        "seed": seed,
        "clicks": clicks,
        "mean": clicks / impressions,
        "truth": truths,
        "written": written,
    }
    if answer.as_json:
        print_json(json_text(result))
    else:
        _print(result, truths, written)


def _truths(world: World) -> dict[str, dict[str, dict[str, float | bool]]]:
    """Clicks and DCG of the three policies; drift is left out of the logging policy's."""
    samples = int(np.clip(2_000_000 // len(world.frequencies), 50, 1000))
    dcg = 1 / np.log2(1 + np.arange(1, world.pairs.positions + 1))
    policies = {"logging": world.logging_policy(), "better": world.better(), "worse": world.worse()}
    return {
        name: {
            metric: _fields(truth(world, policy, weights, samples=samples))
            for metric, weights in {"clicks": None, "dcg": dcg}.items()
        }
        for name, policy in policies.items()
    }


def _fields(found: Truth) -> dict[str, float | bool]:
    return {"value": found.value, "stderr": found.stderr, "exact": found.exact}


def _print(
    result: dict[str, object], truths: dict[str, dict[str, dict[str, float | bool]]], written: dict[str, str]
) -> None:
    out = console()
    out.print(
        f"{result['impressions']:,} impressions of {result['queries']:,} queries, {result['users']} users, "
        f"{result['mean']:.4f} clicks each"
    )
    rows = []
    for name, values in truths.items():
        numbers = [f"{v['value']:.4f}" + (f" ± {v['stderr']:.4f}" if v["stderr"] else "") for v in values.values()]
        rows.append([name, *numbers, written.get(name, "–")])
    print_table(["policy", "true clicks", "true DCG", "file"], rows, texts=(0, 3))
    for what in ("log", "truth"):
        if what in written:
            out.print(f"{what}: {written[what]}", soft_wrap=True)
