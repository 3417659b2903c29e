"""Traces that have to go: a user's impressions, or an item wherever it was shown; and the evidence that they were.

Each transaction takes events and their counts off together, so that the evidence is the fold of the events all the
time, and a run that was cut off can be run again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection

from counterrank.errors import InputError
from counterrank.service.batch import json_text
from counterrank.service.database import Database, listed
from counterrank.service.fold import advance, catch_up, set_number, subtract
from counterrank.service.follow import Cells, number
from counterrank.service.retention import delete_events
from counterrank.service.traces import fold_traces, traces

STEP = 500  # impressions in one transaction


@dataclass(frozen=True)
class Erased:
    """What went: impressions as a whole, or the item on them; feedback; cells of the checkpoint; features.

    `overwritten`: nothing of it is left in the files of SQLite either.
    """

    impressions: int
    feedback: int
    checkpoint: int
    features: int
    overwritten: bool

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**asdict(self), "notes": self.said()}

    def said(self) -> list[str]:
        """What there is to say of it."""
        said = {
            f"{self.checkpoint:,} counts of impressions that were imported or folded away erased, too": self.checkpoint,
            "the database may keep what was erased in its files until it writes there again": not self.overwritten,
        }
        return [note for note, holds in said.items() if holds]


def erase_user(database: Database, user_key: str | None = None, clusters: Sequence[str] = ()) -> Erased:
    """Delete a user's impressions with all feedback on them, by the user's key and by clusters.

    What retention has folded away is nobody's any more, and stays.
    """
    if user_key is None and not clusters:
        raise InputError("no user: give the user's key, or clusters")
    found = _found(database, database.statement("user_key = ?"), (user_key,)) if user_key is not None else []
    found += _found(database, database.among("cluster"), listed(database, clusters)) if clusters else []
    feedback = 0
    advance(database)
    for some in _steps(found):
        with _erasing(database) as connection:
            gone = traces(database, connection, some)
            subtract(database, connection, "evidence", fold_traces(gone, {}))
            delete_events(database, connection, some)
        feedback += sum(trace.feedback for trace in gone)
    return Erased(len(set(found)), feedback, 0, 0, _told(database))


def erase_item(database: Database, item: str) -> Erased:
    """Take an item off all pages, and all that is known of it. A page keeps its other items and their positions."""
    if not item:
        raise InputError("an empty item: give the id of the item whose traces are to go")
    where = "instr(items, ?) > 0 OR instr(received, ?) > 0"
    if not database.lite:
        where = "strpos(items, %s) > 0 OR strpos(received, %s) > 0"
    found = _found(database, where, (json_text(item), json_text(item)))
    pages = 0
    advance(database)
    for some in _steps(found):
        with _erasing(database) as connection:
            pages += _blank(database, connection, item, some)
    with _erasing(database) as connection:
        cells, features = _forget_item(database, connection, item)
    return Erased(pages, 0, cells, features, _told(database))


def _found(database: Database, where: str, values: tuple[Any, ...]) -> list[int]:
    with database.reading() as connection:
        text = f"SELECT sequence FROM impressions WHERE {where}"  # noqa: S608
        return [row[0] for row in connection.exec_driver_sql(text, values)]


def _steps(sequences: Sequence[int]) -> Iterator[list[int]]:
    chosen = sorted(set(sequences))
    for begin in range(0, len(chosen), STEP):
        yield chosen[begin : begin + STEP]


@contextmanager
def _erasing(database: Database) -> Iterator[Connection]:
    """A transaction in which evidence is the fold of all events, and whose deletions overwrite what was there."""
    with database.writing() as connection:
        if database.lite:
            connection.exec_driver_sql("PRAGMA secure_delete = ON")
        catch_up(database, connection)
        yield connection
        _changed(database, connection)


def _changed(database: Database, connection: Connection) -> None:
    """Say that events are not what they were: workers load the evidence anew, and forget what they remember of them."""
    set_number(database, connection, "generation", number(connection, "generation")[0] + 1)


def _blank(database: Database, connection: Connection, item: str, sequences: Sequence[int]) -> int:
    """Put null in an item's place on these pages, and take its counts off; answers with it and kept pages go."""
    gone: Cells = {}
    pages = []
    for trace in traces(database, connection, sequences):
        if item in trace.items:
            single = replace(trace, items=[each if each == item else None for each in trace.items])
            fold_traces([single], gone)
            rest = [None if each == item else each for each in trace.items]
            pages.append((json_text(rest), trace.sequence))
    subtract(database, connection, "evidence", gone)
    _blank_received(database, connection, item, sequences)
    if pages:
        update = database.statement("UPDATE impressions SET items = ? WHERE sequence = ?")
        connection.exec_driver_sql(update, pages)
        for table in ("requests", "kept"):
            text = f"DELETE FROM {table} WHERE {database.among('shown')}"  # noqa: S608
            connection.exec_driver_sql(text, listed(database, [sequence for _, sequence in pages]))
    return len(pages)


def _blank_received(database: Database, connection: Connection, item: str, sequences: Sequence[int]) -> None:
    """Put null in an item's place in what came before these pages were made."""
    text = f"SELECT received, sequence FROM impressions WHERE received IS NOT NULL AND {database.among('sequence')}"  # noqa: S608
    rows = [(json.loads(came), of) for came, of in connection.exec_driver_sql(text, listed(database, sequences))]
    other = [(json_text([None if each == item else each for each in came]), of) for came, of in rows if item in came]
    if other:
        update = database.statement("UPDATE impressions SET received = ? WHERE sequence = ?")
        connection.exec_driver_sql(update, other)


def _forget_item(database: Database, connection: Connection, item: str) -> tuple[int, int]:
    """Cells of the checkpoint and features that are of this item go, and what the former added to the evidence."""
    text = database.statement("SELECT query, item, position, shown, clicked FROM checkpoint WHERE item = ?")
    rows = connection.exec_driver_sql(text, (item,)).fetchall()
    subtract(database, connection, "evidence", {(q, i, position): [s, c] for q, i, position, s, c in rows})
    connection.exec_driver_sql(database.statement("DELETE FROM checkpoint WHERE item = ?"), (item,))
    features = connection.exec_driver_sql(database.statement("DELETE FROM items WHERE item = ?"), (item,)).rowcount
    return len(rows), features


def _told(database: Database) -> bool:
    """Workers load the evidence anew. True once no file of SQLite holds what was erased."""
    with database.writing() as connection:
        _changed(database, connection)
    if not database.lite:
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM impressions, feedback, requests, kept, evidence, checkpoint, items")
        return False
    for _ in range(50):  # readers of an old snapshot may hold it for a while
        with database.engine.connect() as connection:
            if connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0:  # type: ignore[index]
                return True
        time.sleep(0.1)
    return False
