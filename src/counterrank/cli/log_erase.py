"""`counterrank log erase`: the traces of a user or of an item go."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from counterrank.cli.common import print_json
from counterrank.cli.files import READS, READS_STORE
from counterrank.cli.options import AnswerOptions
from counterrank.cli.stores import STORE, opened
from counterrank.cli.tables import console, say
from counterrank.errors import InputError
from counterrank.screen import json_text
from counterrank.words import counted

if TYPE_CHECKING:
    from counterrank.service.store import Store


def log_erase(
    *,
    store: Annotated[str, typer.Argument(help=f"The store: {STORE}."), READS_STORE],
    user: Annotated[str | None, typer.Option(help="The user, as in requests: all that was shown to them goes.")] = None,
    item: Annotated[str | None, typer.Option(help="The item: it goes from all pages, and all that is known.")] = None,
    cluster: Annotated[
        list[str] | None, typer.Option(help="A cluster as in the exported log: its impressions go. May be repeated.")
    ] = None,
    secret: Annotated[
        str | None,
        typer.Option(help="The service's secret, for --user. Default: COUNTERRANK_SECRET, or beside the store."),
        READS,
    ] = None,
    answer: AnswerOptions = AnswerOptions(),
) -> None:
    """Erase the traces of a user or of an item in the store of a ranking service.

    Examples:

        counterrank log erase counterrank.db --user anna@example.com

        counterrank log erase counterrank.db --item sku-4711
    """
    if sum(given is not None for given in (user, item, cluster)) != 1:
        raise InputError("what is to be erased: give one of --user, --item and --cluster")
    with opened(store) as source:
        if item is not None:
            done = source.erase(item=item)
        elif user is not None:
            done = source.erase(user_key=_key(source, user, secret))
        else:
            done = source.erase(clusters=cluster or ())
    if answer.as_json:
        print_json(json_text(done.to_dict()))
        return
    pages = counted(done.impressions, "impression")
    said = f"{item} taken off {pages}" if item is not None else f"{pages} erased, with {done.feedback:,} of feedback"
    console().print(said, soft_wrap=True)
    say(done.said())


def _key(store: Store, user: str, secret: str | None) -> str:
    """The key of a user, by the service's secret, which is not made here."""
    from counterrank.service.secret import from_environment, read_secret, secret_path
    from counterrank.service.users import user_key

    given = secret or from_environment(os.environ.get("COUNTERRANK_SECRET"))
    beside = secret_path(store.database.url.render_as_string(hide_password=False), store.database.path)
    if given is None and not beside.exists():
        raise InputError("--user: the service's secret is not known here: give --secret, or set COUNTERRANK_SECRET")
    return user_key(read_secret(given, beside), user)
