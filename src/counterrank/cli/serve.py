"""`counterrank serve`: the ranking service."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from counterrank.cli.common import print_json
from counterrank.cli.files import READS, WRITES_DIRECTORY
from counterrank.cli.stores import opened
from counterrank.cli.tables import console
from counterrank.errors import InputError, NotInstalled
from counterrank.screen import json_text

_STORE = "Where events and evidence are kept: sqlite:///PATH or postgresql://…. Default: sqlite:///counterrank.db."


@dataclass(frozen=True, kw_only=True)
class Where:
    """Where a service listens and what it keeps."""

    panel: ClassVar[str] = "Service"
    store: Annotated[str | None, typer.Option(help=_STORE)] = None
    host: Annotated[str | None, typer.Option(help="The address to listen on. Default: 127.0.0.1.")] = None
    port: Annotated[int | None, typer.Option(help="The port to listen on; 0: any. Default: 8080.")] = None
    workers: Annotated[int | None, typer.Option(help="How many processes answer. Default: 1.")] = None
    keep_days: Annotated[
        int | None, typer.Option(help="Fold events older than this into counts. Default: keep all.")
    ] = None
    fail_open: Annotated[
        bool | None,
        typer.Option(
            "--fail-open", help="While the store is away, answer in the order received, which counts nowhere."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """How a service ranks."""

    panel: ClassVar[str] = "Ranking"
    policy: Annotated[
        str | None,
        typer.Option(help="ebrank, logging (as received), pessimistic, or a policy below --policies. Default: ebrank."),
    ] = None
    policies: Annotated[str | None, typer.Option(help="A folder of policy directories."), READS] = None
    k: Annotated[int | None, typer.Option("--k", help="Items of a page, unless a request says. Default: 10.")] = None
    examination: Annotated[
        str | None, typer.Option(help="Chance that a position is looked at: log, reciprocal or 1,0.7,…. Default: log.")
    ] = None
    evidence: Annotated[
        str | None, typer.Option(help="exposure: clicks over looks; ips: weighted clicks. Default: exposure.")
    ] = None
    exploration: Annotated[float | None, typer.Option(help="Weight of marginal certainty. Default: 20.")] = None
    randomise: Annotated[float | None, typer.Option(help="Share of pages drawn at random. Default: 0.05.")] = None
    pool: Annotated[int | None, typer.Option(help="Of how many items those are drawn. Default: 20.")] = None
    new_share: Annotated[float | None, typer.Option(help="Share of a page for new items. Default: 0.2.")] = None
    new_below: Annotated[
        int | None, typer.Option(help="Impressions below which an item is new for a query. Default: 20.")
    ] = None
    retrain_every: Annotated[
        int | None, typer.Option(help="Retrain the prior after so much feedback; 0: never. Default: 10000.")
    ] = None
    retrain_hours: Annotated[
        float | None, typer.Option(help="Also retrain after so many hours with feedback. Default: not.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Who may call, and how much."""

    panel: ClassVar[str] = "Callers"
    tokens: Annotated[
        str | None,
        typer.Option(help="Lines TOKEN rank,feedback,admin. Without it all callers have all rights, on loopback only."),
        READS,
    ] = None
    secret: Annotated[
        str | None, typer.Option(help="A file whose content keys users' hashes; else made beside the store."), READS
    ] = None
    max_items: Annotated[int | None, typer.Option(help="Candidates of a request at most. Default: 1000.")] = None
    max_body: Annotated[str | None, typer.Option(help="The largest body. Default: 1MiB.")] = None
    rate: Annotated[float | None, typer.Option(help="Requests a second and token. Default: no limit.")] = None
    crawlers: Annotated[
        int | None, typer.Option(help="Pages a minute beyond which a user is a crawler; 0: nobody. Default: 1000.")
    ] = None
    queue: Annotated[int | None, typer.Option(help="Operations that may wait to be written. Default: 8192.")] = None


def serve(
    *,
    where: Where = Where(),
    ranking: Ranking = Ranking(),
    limits: Limits = Limits(),
    config: Annotated[Path | None, typer.Option(help="A TOML file of these settings."), READS] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare the evidence with the events, print what was found, and end.")
    ] = False,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Let the model before the one that serves serve again, and end.")
    ] = False,
    save_model: Annotated[
        Path | None,
        typer.Option(help="Write the model that serves as a policy directory, and end."),
        WRITES_DIRECTORY,
    ] = None,
    model: Annotated[
        int | None, typer.Option(help="With --rollback or --save-model: this version of the model.")
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Simulate users, in a store of its own, and tell where to watch it learn.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --verify, --rollback or --save-model: JSON.")] = False,
) -> None:
    """Rank over HTTP, learn from clicks, and lose nothing.

    Every setting is also read from the environment (COUNTERRANK_STORE, …) and from --config.

    Examples:

        counterrank serve --store sqlite:///clicks.db --port 8080

        counterrank serve --store sqlite:///clicks.db --verify

        counterrank serve --store sqlite:///clicks.db --save-model model

        counterrank serve --demo
    """
    try:
        from counterrank.service.server import run_service
    except ImportError as error:
        raise NotInstalled(f"the service needs {error.name}: pip install '.[serve]'") from None
    from counterrank.service.settings import read_settings

    groups = (where, ranking, limits)
    given = {field.name: getattr(group, field.name) for group in groups for field in fields(group)}
    settings = read_settings(given, config)
    if model is not None and not rollback and save_model is None:
        raise InputError(f"--model {model}: add --rollback or --save-model, a service serves its last model")
    if rollback and save_model is not None:
        raise InputError("--rollback and --save-model: give one of them")
    if verify:
        _verify(settings.store)
    elif rollback or save_model is not None:
        _of_models(settings.store, save_model, model, as_json)
    elif demo:
        from counterrank.service.demo import run_demo

        run_demo(settings, stored=given["store"] is not None)
    else:
        run_service(settings)


def _verify(store: str) -> None:
    """Compare, print JSON, and exit with 1 where anything differs."""
    with opened(store) as source:
        found = source.verify().to_dict()
    print_json(json_text(found))
    if found["differences"]:
        raise typer.Exit(1)


def _of_models(store: str, place: Path | None, version: int | None, as_json: bool) -> None:
    """Write a version of the model as a policy directory, or, without a place, let it serve again."""
    with opened(store) as source:
        from counterrank.service.retrain import rollback, save_model

        number = rollback(source, version) if place is None else save_model(source, place, version)
    if as_json:
        print_json(json_text({"model": number, **({"written": str(place)} if place is not None else {})}))
    elif place is None:
        console().print(f"model {number} serves again")
    else:
        console().print(f"model {number} written to {place}", soft_wrap=True)
