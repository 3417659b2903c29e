"""Features of items, of one query or of all: put once, and followed by all workers by their version."""

from __future__ import annotations

import json
from collections.abc import Sequence

from counterrank.service.database import Database
from counterrank.service.fold import set_number
from counterrank.service.follow import number
from counterrank.service.schema import pair_key

Features = tuple[str, str | None, dict[str, float]]  # item, query (None: all), numbers by name
_PUT = (
    "INSERT INTO items (key, item, query, features, version) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (key) DO UPDATE SET features = excluded.features, version = excluded.version"
)


def put(database: Database, items: Sequence[Features]) -> int:
    """Store features, in place of those that were there; how many items they are of."""
    last = {pair_key(query, item): (item, query, features) for item, query, features in items}
    with database.writing() as connection:
        version = number(connection, "items_version")[0] + 1
        rows = [(k, item, query, json.dumps(features), version) for k, (item, query, features) in sorted(last.items())]
        if rows:
            connection.exec_driver_sql(database.statement(_PUT), rows)
            set_number(database, connection, "items_version", version)
    return len(items)


def get(database: Database, item: str, query: str | None) -> dict[str, float] | None:
    """An item's features; those of (query, item) win over those of the item. None where nothing is known of it."""
    keys = [pair_key(None, item)] + ([pair_key(query, item)] if query is not None else [])
    text = database.statement("SELECT features FROM items WHERE key = ?")
    with database.reading() as connection:
        found = [connection.exec_driver_sql(text, (key,)).scalar() for key in keys]
    known = [json.loads(features) for features in found if features is not None]
    return {name: value for features in known for name, value in features.items()} if known else None


def since(database: Database, version: int) -> tuple[int, list[Features]]:
    """Features that were put after a version, and the version they lead to."""
    text = database.statement("SELECT item, query, features FROM items WHERE version > ? ORDER BY version")
    with database.reading() as connection:
        current = number(connection, "items_version")[0]
        rows = connection.exec_driver_sql(text, (version,)).fetchall() if current > version else []
    return current, [(item, query, json.loads(features)) for item, query, features in rows]
