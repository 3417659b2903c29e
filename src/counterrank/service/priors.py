"""Versions of the prior's model: their files in the store, so that all workers and replicas have the same."""

from __future__ import annotations

import json
import time
from typing import Any

from sqlalchemy import Connection, func, select

from counterrank.errors import InputError
from counterrank.service.database import Database
from counterrank.service.events import Model
from counterrank.service.fold import set_number
from counterrank.service.follow import number
from counterrank.service.schema import model_files, models


def add(database: Database, files: dict[str, bytes], notes: dict[str, Any], activate: bool, keep: int) -> Model:
    """A new version, which serves at once if it is told to; beside the one that serves, the newest `keep` stay."""
    with database.writing() as connection:
        version = int(connection.execute(select(func.coalesce(func.max(models.c.version), 0))).scalar_one()) + 1
        at = time.time()
        connection.execute(models.insert().values(version=version, at=at, notes=json.dumps(notes)))
        rows = [{"version": version, "name": name, "content": content} for name, content in files.items()]
        if rows:
            connection.execute(model_files.insert(), rows)
        if activate:
            set_number(database, connection, "model", version)
        serving = number(connection, "model")[0]
        for table in (models, model_files):
            connection.execute(table.delete().where(table.c.version <= version - keep, table.c.version != serving))
    return Model(version, at, files, notes, activate)


def activate(database: Database, version: int) -> Model:
    """Let another version serve: the way back."""
    with database.writing() as connection:
        found = _read(connection, version)
        if found is None:
            known = ", ".join(str(v) for v in connection.execute(select(models.c.version)).scalars()) or "none"
            raise InputError(f"there is no model {version} in the store: choose from {known}")
        set_number(database, connection, "model", version)
    return Model(found.version, found.at, found.files, found.notes, True)


def every(database: Database) -> list[Model]:
    """All versions, oldest first, without their files' content."""
    with database.reading() as connection:
        serving = number(connection, "model")[0]
        names: dict[int, dict[str, bytes]] = {}
        for version, name in connection.execute(select(model_files.c.version, model_files.c.name)):
            names.setdefault(version, {})[name] = b""
        return [
            Model(row.version, row.at, names.get(row.version, {}), json.loads(row.notes), row.version == serving)
            for row in connection.execute(models.select().order_by(models.c.version))
        ]


def get(database: Database, version: int | None) -> Model | None:
    """A version with its files; None: the one that serves."""
    with database.reading() as connection:
        return _read(connection, number(connection, "model")[0] if version is None else version)


def _read(connection: Connection, version: int) -> Model | None:
    row = connection.execute(models.select().where(models.c.version == version)).first()
    if row is None:
        return None
    files = connection.execute(model_files.select().where(model_files.c.version == version))
    content = {file.name: bytes(file.content) for file in files}
    return Model(version, row.at, content, json.loads(row.notes), number(connection, "model") == (version,))
