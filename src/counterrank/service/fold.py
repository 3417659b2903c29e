"""The evidence as a table: events folded into counts by (query, item, position), a few at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection

from counterrank.service.database import Database
from counterrank.service.events import Change
from counterrank.service.follow import Cells, changes, number, summed
from counterrank.service.schema import pair_key

STEP = 20_000  # events read at a time
CELLS = 500  # cells written in one transaction, so that nobody waits long behind it
TOGETHER = 2000  # cells up to which all events that were read are one transaction: many that change the same few cells
BREATH = 0.002  # seconds between two of them, in which those who wait get their turn
T = TypeVar("T")


class Promptly(Protocol):
    """Runs what holds the lock of writers: a thread that gives way to others must not while others wait for it."""

    def __call__(self, work: Callable[[], T], /) -> T: ...


def at_once(work: Callable[[], T]) -> T:
    """By this thread."""
    return work()


def added(found: Iterable[Change], cells: Cells | None = None) -> Cells:
    """Changes added up: (query, item, position) → shown, clicked."""
    cells = {} if cells is None else cells
    for change in found:
        query = change.query
        for item, position, shown, clicked in zip(
            change.items, change.positions, change.shown, change.clicked, strict=True
        ):
            cell = cells.get((query, item, position))
            if cell is None:
                cells[query, item, position] = [shown, clicked]
            else:
                cell[0] += shown
                cell[1] += clicked
    return cells


def advance(database: Database, promptly: Promptly = at_once) -> int:
    """Fold all events that are there into the evidence; the last of them. `promptly` runs each transaction."""
    while True:
        with database.reading() as connection:
            folded, last = number(connection, "folded_to", "sequence")
            if folded >= last:
                return folded
            until = min(last, folded + STEP)
            whole = summed(database, connection, folded, until)
            one = len(whole) <= TOGETHER
            found = [] if one else changes(database, connection, folded, until)
        for part, (cells, step) in enumerate([(whole, until)] if one else _parts(found, until)):
            rows = _rows(cells)
            time.sleep(BREATH if part else 0.0)
            if not promptly(partial(_write, database, rows, folded, step)):
                break  # somebody else was quicker
            folded = step


def _write(database: Database, rows: list[tuple[Any, ...]], folded: int, step: int) -> bool:
    """Add these rows to the evidence, which reaches from `folded` to `step` then; False where it has moved on."""
    with database.writing() as connection:
        if number(connection, "folded_to") != (folded,):
            return False
        write_cells(database, connection, "evidence", rows)
        set_number(database, connection, "folded_to", step)
    return True


def catch_up(database: Database, connection: Connection) -> int:
    """Fold what came since `advance` inside a transaction of the writer; the last event."""
    folded, last = number(connection, "folded_to", "sequence")
    if folded < last:
        add(database, connection, "evidence", summed(database, connection, folded, last))
        set_number(database, connection, "folded_to", last)
    return last


def _parts(found: list[Change], until: int) -> Iterator[tuple[Cells, int]]:
    """Changes added up, as many at a time as fit into one transaction; and up to which event these are."""
    cells: Cells = {}
    for change in found:
        if cells and len(cells) + len(change.items) > CELLS:
            yield cells, change.sequence - 1
            cells = {}
        added([change], cells)
    yield cells, until


def add(database: Database, connection: Connection, table: str, cells: Cells) -> None:
    """Add counts to a table of cells."""
    write_cells(database, connection, table, _rows(cells))


def _rows(cells: Cells) -> list[tuple[Any, ...]]:
    """Cells as rows, side by side as on disk."""
    return sorted((pair_key(query, item), p, query, item, *counts) for (query, item, p), counts in cells.items())


def write_cells(database: Database, connection: Connection, table: str, rows: list[tuple[Any, ...]]) -> None:
    """Add rows of (key, position, query, item, shown, clicked) to a table of cells."""
    text = (
        f"INSERT INTO {table} (key, position, query, item, shown, clicked) VALUES (?, ?, ?, ?, ?, ?) "  # noqa: S608
        f"ON CONFLICT (key, position) DO UPDATE SET shown = {table}.shown + excluded.shown, "
        f"clicked = {table}.clicked + excluded.clicked"
    )
    database.write(database.cursor(connection), text, rows)


def subtract(database: Database, connection: Connection, table: str, cells: Cells) -> None:
    """Take counts off a table of cells, and cells that are then empty with them."""
    add(database, connection, table, {cell: [-shown, -clicked] for cell, (shown, clicked) in cells.items()})
    text = f"DELETE FROM {table} WHERE key = ? AND position = ? AND shown = 0 AND clicked = 0"  # noqa: S608
    rows = [(pair_key(query, item), position) for query, item, position in cells]
    if rows:
        connection.exec_driver_sql(database.statement(text), rows)


def set_number(database: Database, connection: Connection, name: str, value: int) -> None:
    """Set one of the store's numbers."""
    connection.exec_driver_sql(database.statement("UPDATE meta SET value = ? WHERE name = ?"), (value, name))
