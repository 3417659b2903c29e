"""Older databases become stores of today, and what cannot is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect, text

from counterrank.errors import InputError
from counterrank.service import schema
from counterrank.service.database import Database
from counterrank.service.store import Store
from service.service_worlds import evidence, given, plain_fold, shown, written

HERE = Path(__file__).parent


def shape(database: Database) -> dict[str, object]:
    """Tables, columns, keys and indexes as the database tells them."""
    found = inspect(database.engine)
    return {
        name: (
            [(c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(name)],
            sorted(found.get_pk_constraint(name)["constrained_columns"]),
            sorted(map(str, [i["column_names"] for i in found.get_indexes(name)])),
        )
        for name in found.get_table_names()
    }


def test_a_database_of_version_1_becomes_what_a_new_one_is(tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "old.db") as old:
        old.executescript((HERE / "schema_1.sql").read_text(encoding="utf-8"))
    old.close()
    migrated, fresh = Store.open(str(tmp_path / "old.db")), Store.open(str(tmp_path / "new.db"))
    assert shape(migrated.database) == shape(fresh.database)
    assert migrated.numbers() == {**fresh.numbers(), "sequence": 2}
    assert evidence(migrated) == {("shoes", "a", 1): (1, 0), ("shoes", "b", 2): (1, 1)}
    assert migrated.verify().differences == 0
    migrated.close()
    fresh.close()


def test_steps_run_once_and_whole_or_not_at_all(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.open(url)
    page = shown()
    clicks = given(page.impression, "a")
    written(store, page, clicks)
    store.close()
    ran = []

    def step(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE impressions ADD COLUMN extra INTEGER DEFAULT 7"))
        ran.append(1)

    def broken(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE feedback ADD COLUMN extra INTEGER"))
        raise InputError("no")

    today = list(schema.STEPS)
    monkeypatch.setattr(schema, "STEPS", [*today, step, broken])
    with pytest.raises(InputError, match="no"):
        Store.open(url)
    monkeypatch.setattr(schema, "STEPS", today)
    store = Store.open(url)
    assert "extra" not in [c["name"] for c in inspect(store.database.engine).get_columns("impressions")]
    store.close()
    monkeypatch.setattr(schema, "STEPS", [*today, step])
    for _ in range(2):
        store = Store.open(url)
        with store.database.reading() as connection:
            assert connection.exec_driver_sql("SELECT extra FROM impressions").scalar() == 7
            assert schema.version_of(connection) == 2 + len(today)
        store.close()
    assert len(ran) == 2  # once undone, once for good
    store = Store.open(url)
    assert evidence(store) == plain_fold([page], [clicks])
    store.close()
    monkeypatch.setattr(schema, "STEPS", today)
    with pytest.raises(InputError, match=f"schema {2 + len(today)}, this program knows {1 + len(today)}"):
        Store.open(url)


def test_a_database_of_others_is_not_taken(tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE meta (name TEXT, value INTEGER)")
    other.close()
    with pytest.raises(InputError, match="not ours"):
        Store.open(str(tmp_path / "other.db"))
