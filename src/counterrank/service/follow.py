"""What events changed, one after another, for those who have the evidence up to some event already."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection

from counterrank.service.batch import feedback_change
from counterrank.service.database import Database
from counterrank.service.events import Change, Reload

_SHOWN = (
    "SELECT sequence, query, items FROM impressions "
    "WHERE sequence > ? AND sequence <= ? AND NOT deferred AND counted ORDER BY sequence"
)
_GIVEN = (
    "SELECT feedback.sequence, query, items, fresh, opens FROM feedback "
    "JOIN impressions ON impressions.sequence = feedback.shown "
    "WHERE feedback.sequence > ? AND feedback.sequence <= ? AND (opens OR fresh <> '[]') ORDER BY feedback.sequence"
)


def number(connection: Connection, *names: str) -> tuple[int, ...]:
    """Numbers of the store by their names."""
    found: dict[str, int] = dict(connection.exec_driver_sql("SELECT name, value FROM meta").fetchall())
    return tuple(found[name] for name in names)


def changes(database: Database, connection: Connection, since: int, until: int) -> list[Change]:
    """What the events after `since`, up to `until`, changed, in order. Events that change nothing are left out."""
    found = []
    for sequence, query, items in _rows(database, connection, _SHOWN, since, until):
        page = json.loads(items)
        change = feedback_change(sequence, query, page, (), True)
        if change is not None:
            found.append(change)
    for sequence, query, items, fresh, opens in _rows(database, connection, _GIVEN, since, until):
        change = feedback_change(sequence, query, json.loads(items), json.loads(fresh), bool(opens))
        if change is not None:
            found.append(change)
    return sorted(found, key=lambda change: change.sequence)


def _rows(database: Database, connection: Connection, text: str, *values: Any) -> Iterator[Sequence[Any]]:
    yield from connection.exec_driver_sql(database.statement(text), values)


def check_there(connection: Connection, since: int, generation: int | None) -> int:
    """The last event, or Reload where those after `since` are not all there any more."""
    last, forgotten, current = number(connection, "sequence", "forgotten_to", "generation")
    if since < forgotten or (generation is not None and generation != current):
        raise Reload
    return last
