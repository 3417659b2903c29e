"""`counterrank simulate`: a log from a made-up world, with the policies and the truth to judge by."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from counterrank.cli.common import console, print_json, print_table
from counterrank.cli.files import WRITES_FILE, WRITES_TABLE
from counterrank.errors import InputError
from counterrank.output import write
from counterrank.screen import json_text
from counterrank.simulate.log import write_log
from counterrank.simulate.truth import Truth, truth
from counterrank.simulate.world import USERS, World, make_world


def simulate(
    out: Annotated[Path, typer.Option(help="The log: .parquet, .csv or .jsonl (the last two also .gz)."), WRITES_TABLE],
    impressions: int = typer.Option(100_000, help="Rows of the log."),
    queries: int = typer.Option(100, help="Different queries."),
    items: int = typer.Option(20, help="Items per query."),
    k: int = typer.Option(10, help="Positions of a ranking."),
    users: str = typer.Option("pbm", help=f"How users click: {', '.join(USERS)}."),
    days: int = typer.Option(7, help="Days, of equally many impressions."),
    drift: float = typer.Option(0.0, help="How much each day's logging scores differ (standard deviation)."),
    drift_share: float = typer.Option(1.0, help="Share of the queries that drift touches each day."),
    zipf: float = typer.Option(1.0, help="Frequency of the r-th query ∝ 1/r^zipf; 0: all alike."),
    eta: float = typer.Option(1.0, help="Examination 1/k^eta of pbm users."),
    noise: float = typer.Option(1.0, help="Noise of the logging scores."),
    temperature: float = typer.Option(1.0, help="Temperature of the logging policy."),
    uniform_share: float = typer.Option(0.0, help="Share of impressions with a uniform ranking."),
    seed: int = typer.Option(0, help="The same seed gives the same files."),
    logging_out: Annotated[
        Path | None, typer.Option(help="Scores of the logging policy (read with --temperature 1)."), WRITES_TABLE
    ] = None,
    better_out: Annotated[
        Path | None, typer.Option(help="Scores of a better policy: true attraction."), WRITES_TABLE
    ] = None,
    worse_out: Annotated[
        Path | None, typer.Option(help="Scores of a worse policy: true attraction reversed."), WRITES_TABLE
    ] = None,
    truth_out: Annotated[
        Path | None, typer.Option(help="JSON file with the true values of the three policies."), WRITES_FILE
    ] = None,
    as_json: bool = typer.Option(False, "--json", help="One JSON object on stdout."),
) -> None:
    """Make a click log from a made-up world whose truth is known.

    Example:

        counterrank simulate --out clicks.parquet --better-out new.parquet --impressions 100000
    """
    if seed < 0:
        raise InputError(f"seed is {seed}: give 0 or more")
    world = make_world(
        queries=queries,
        items=items,
        k=k,
        users=users,
        seed=seed,
        zipf=zipf,
        eta=eta,
        noise=noise,
        temperature=temperature,
        uniform_share=uniform_share,
    )
    written = {"log": str(out)}
    choices = {"logging": (logging_out, world.logging_scores), "better": (better_out, world.better)}
    for name, (path, policy) in {**choices, "worse": (worse_out, world.worse)}.items():
        if path is not None:
            policy().save(path)
            written[name] = str(path)
    clicks = write_log(world, out, impressions, seed + 1, days=days, drift=drift, drift_share=drift_share)
    truths = _truths(world)
    if truth_out is not None:
        written["truth"] = str(truth_out)
        write(truth_out, (json_text(truths, indent=2) + "\n").encode(), "--truth-out")
    result = {
        "impressions": impressions,
        "queries": queries,
        "positions": k,
        "users": users,
        "days": days,
        "drift": drift,
        "seed": seed,
        "clicks": clicks,
        "mean": clicks / impressions,
        "truth": truths,
        "written": written,
    }
    if as_json:
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
