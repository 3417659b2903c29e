"""What events changed, one after another, for those who have the evidence up to some event already."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection

from counterrank.service.batch import feedback_change
from counterrank.service.database import Database
from counterrank.service.events import Change, Reload

_PAGES = "query, items FROM impressions WHERE sequence > ? AND sequence <= ? AND NOT deferred AND counted"
_CLICKS = (
    "query, items, fresh, opens FROM feedback JOIN impressions ON impressions.sequence = feedback.shown "
    "WHERE feedback.sequence > ? AND feedback.sequence <= ? AND (opens OR fresh <> '[]')"
)
_SHOWN = f"SELECT sequence, {_PAGES} ORDER BY sequence"
_GIVEN = f"SELECT feedback.sequence, {_CLICKS} ORDER BY feedback.sequence"
_decode = msgspec.json.Decoder().decode
Cells = dict[tuple[str, str, int], list[int]]  # (query, item, position) → shown, clicked


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


def summed(database: Database, connection: Connection, since: int, until: int) -> Cells:
    """What the same events add up to: in a fraction of the time, since pages that are alike are read once."""
    cells: Cells = {}
    cursor = database.cursor(connection)
    shown = Counter(database.rows(cursor, f"SELECT {_PAGES}", (since, until)))
    for (query, items), often in shown.items():
        for position, item in enumerate(_decode(items), 1):
            if item is not None:  # else its traces were erased
                cells.setdefault((query, item, position), [0, 0])[0] += often
    given = Counter(database.rows(cursor, f"SELECT {_CLICKS}", (since, until)))
    for (query, items, fresh, opens), often in given.items():
        page, clicked = _decode(items), _decode(fresh)
        for position in range(1, len(page) + 1) if opens else clicked:
            if (item := page[position - 1]) is not None:
                cell = cells.setdefault((query, item, position), [0, 0])
                cell[0] += often if opens else 0
                cell[1] += often if position in clicked else 0
    return cells


def _rows(database: Database, connection: Connection, text: str, *values: Any) -> Iterator[Sequence[Any]]:
    yield from connection.exec_driver_sql(database.statement(text), values)


def check_there(connection: Connection, since: int, generation: int | None) -> int:
    """The last event, or Reload where those after `since` are not all there any more."""
    last, forgotten, current = number(connection, "sequence", "forgotten_to", "generation")
    if since < forgotten or (generation is not None and generation != current):
        raise Reload
    return last
