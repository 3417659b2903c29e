"""A store as one file while it runs, and back: the file is a store of SQLite's, whichever database it came from."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, func, select

from counterrank import temporary
from counterrank.errors import InputError
from counterrank.output import writing
from counterrank.service.database import Database
from counterrank.service.follow import number
from counterrank.service.schema import evidence, meta, tables

ROWS = 2000  # copied at a time


def backup(database: Database, path: str | Path) -> int:
    """Write all that is in the store at one moment to a file, whole or not at all; the last event in it."""
    folder = temporary.Folder()
    name = os.path.join(folder.name, "backup.db")
    if database.lite:
        with database.engine.connect() as connection:
            connection.exec_driver_sql("VACUUM INTO ?", (name,))
    else:
        copy = Database(name)
        with database.reading() as source, copy.writing() as target:
            _copy(source, target)
        copy.close()  # the last connection puts everything into the one file
    with open(name, "rb") as whole, writing(path, "`out`") as file:
        shutil.copyfileobj(whole, file, 1 << 20)
    with sqlite3.connect(name) as made:
        last = int(made.execute("SELECT value FROM meta WHERE name = 'sequence'").fetchone()[0])
    made.close()
    return last


def restore(path: str | Path, database: Database) -> int:
    """Fill an empty store from a backup, whole or not at all; the last event in it. The backup is not touched."""
    folder = temporary.Folder()
    source = _opened(path, os.path.join(folder.name, "restore.db"))
    with source.reading() as old, database.writing() as new:
        known = new.execute(select(func.count()).select_from(evidence)).scalar_one()
        if known or any(number(new, "sequence", "epoch", "items_version", "generation", "model")):
            raise InputError("the store is not empty: restore into one that does not exist yet")
        _copy(old, new)
        last = number(new, "sequence")[0]
    source.close()
    return last


def _opened(path: str | Path, name: str) -> Database:
    """A copy of a backup, with today's schema."""
    if not os.path.isfile(path):
        raise InputError(f"{path}: there is no such file: check the path")
    try:
        old = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)
        new = sqlite3.connect(name)
        old.backup(new)
        good = new.execute("PRAGMA quick_check").fetchone()[0] == "ok"
        ours = new.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()
        old.close()
        new.close()
    except sqlite3.Error as error:
        raise InputError(f"{path}: cannot be read ({error}): give a file that `counterrank log backup` wrote") from None
    if not good or not ours:
        what = "is no store" if good else "is damaged"
        raise InputError(f"{path}: {what}: give a file that `counterrank log backup` wrote")
    return Database(name)


def _copy(source: Connection, target: Connection) -> None:
    """All rows of all tables, in place of those that a new store begins with."""
    target.execute(meta.delete())
    for table in tables.sorted_tables:
        rows = source.execution_options(yield_per=ROWS).execute(table.select())
        for part in rows.mappings().partitions(ROWS):
            target.execute(table.insert(), [dict(row) for row in part])
