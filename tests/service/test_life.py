"""Retention, erasing, backup and restore: evidence stays the fold of the events, on both databases."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from counterrank.errors import InputError
from counterrank.service.events import NotOnPage, Reload, UnknownImpression
from counterrank.service.store import Store
from service.service_worlds import NOON, evidence, given, plain_fold, shown, written

DAY = 86_400.0


def test_old_events_become_a_checkpoint(store: Store) -> None:
    old = [shown(query="q", items=("a", "b"), at=NOON - i * DAY) for i in range(3, 8)]
    new = [shown(query="q", items=("b", "a"), at=NOON - i * DAY) for i in range(2)]
    clicks = [given(old[0].impression, "a", at=NOON), given(new[0].impression, "a"), given(old[1].impression, "b")]
    written(store, *old, *new, *clicks)
    before = evidence(store)
    forgotten = store.forget(2, now=NOON)
    assert (forgotten.impressions, forgotten.feedback) == (5, 2)
    assert evidence(store) == before == plain_fold([*old, *new], clicks)
    verified = store.verify()
    assert (verified.impressions, verified.feedback, verified.differences, verified.forgotten) == (7, 3, 0, 5)
    [gone, (there, _)] = written(store, given(old[0].impression, "b"), given(new[0].impression, "b"))
    assert isinstance(gone, UnknownImpression)
    assert there.counted == 1
    assert store.verify().differences == 0
    with pytest.raises(Reload):
        store.follow(3)
    assert store.forget(2, now=NOON).impressions == 0


def test_retention_forgets_answers_and_kept_pages_too(store: Store) -> None:
    written(store, shown(request="r", digest="d", answer=b"x", kept="k"))
    store.forget(1, now=NOON + 2 * DAY)
    assert store.replay("r") is None
    assert store.kept("k", 0) is None
    assert store.verify().to_dict() == {
        "impressions": 1, "feedback": 0, "pairs": 3, "differences": 0, "forgotten": 1
    }  # fmt: skip


def test_sequences_are_never_given_twice(store: Store) -> None:
    written(store, shown(user_key="u"), shown(at=NOON - 9 * DAY))
    store.forget(1, now=NOON)
    store.erase(user_key="u")
    assert written(store, shown()) == [3]


def damage(store: Store, statement: str) -> None:
    with store.database.writing() as connection:
        connection.exec_driver_sql(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE evidence SET clicked = clicked + 1 WHERE item = 'a'",
        "UPDATE evidence SET shown = shown + 1 WHERE item = 'b'",
        "DELETE FROM evidence WHERE item = 'c'",
        "UPDATE evidence SET query = 'other' WHERE item = 'c' AND position = 3",
        "DELETE FROM feedback WHERE sequence = (SELECT MAX(sequence) FROM feedback)",
        "DELETE FROM impressions WHERE sequence = (SELECT MAX(sequence) FROM impressions)",
        "UPDATE feedback SET clicks = '[2]' WHERE sequence = (SELECT MAX(sequence) FROM feedback)",
        "UPDATE checkpoint SET shown = shown + 1 WHERE item = 'a'",
        "DELETE FROM checkpoint WHERE item = 'a'",
    ],
)
def test_verify_sees_any_difference(store: Store, statement: str) -> None:
    old, page = shown(at=NOON - 9 * DAY), shown()
    written(store, old, page, given(old.impression, "a"), given(page.impression, "c"))
    store.forget(1, now=NOON)
    assert store.verify().differences == 0
    damage(store, statement)
    assert store.verify().differences > 0


def test_a_users_traces_go_and_nobody_elses(store: Store) -> None:
    mine = [
        shown(user_key="me", cluster=f"c{i}", kept=f"c{i}", request=f"r{i}", digest="", answer=b"") for i in range(3)
    ]
    old = shown(at=NOON - 9 * DAY, user_key="me")
    others = [shown(user_key="you", cluster="d"), shown()]
    kept_clicks = [given(others[0].impression, "a"), given(old.impression, "b")]
    written(store, *mine, old, *others, given(mine[0].impression, "a"), given(mine[0].impression, "b"), *kept_clicks)
    store.forget(2, now=NOON)
    erased = store.erase(user_key="me")
    assert (erased.impressions, erased.feedback) == (3, 2)
    assert evidence(store) == plain_fold([old, *others], kept_clicks)  # what was folded away is nobody's
    assert store.verify().differences == 0
    assert store.replay("r0") is None
    assert store.kept("c1", 0) is None
    [gone] = written(store, given(mine[0].impression, "c"))
    assert isinstance(gone, UnknownImpression)
    assert store.erase(clusters=["d", "unknown"]).impressions == 1
    assert evidence(store) == plain_fold([old, others[1]], kept_clicks[1:])
    assert store.verify().differences == 0
    with pytest.raises(InputError, match="no user"):
        store.erase()


def test_an_items_traces_go_and_the_page_keeps_its_places(store: Store) -> None:
    old, page, other = (
        shown(at=NOON - 9 * DAY),
        shown(request="r", digest="", answer=b"a b c", kept="k"),
        shown("q", "b"),
    )
    written(store, old, page, other, given(old.impression, "a"), given(page.impression, "a", "c"))
    store.put_items([("a", None, {"x": 1.0}), ("a", "shoes", {"x": 2.0}), ("b", None, {"x": 3.0})])
    store.forget(2, now=NOON)
    generation = store.load().generation
    erased = store.erase(item="a")
    assert (erased.impressions, erased.checkpoint, erased.features) == (1, 1, 2)
    left = plain_fold([old, page, other], [given(page.impression, "c")])
    assert evidence(store) == {cell: counts for cell, counts in left.items() if cell[1] != "a"}
    assert store.verify().differences == 0
    assert store.item("a") is None
    assert store.replay("r") is None
    with pytest.raises(Reload):
        store.follow(store.last(), generation=generation)
    [wrong, (right, _)] = written(store, given(page.impression, "a"), given(page.impression, "b"))
    assert isinstance(wrong, NotOnPage)
    assert right.counted == 1
    assert store.verify().differences == 0
    assert store.erase(item="a").impressions == 0


def test_what_is_erased_is_in_no_file(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path / 'store.db'}")
    pages = [shown("secret-query", ("secret-item", f"i{i}"), user_key="secret-user") for i in range(200)]
    others = [shown("shoes", ("a", "secret-item")) for _ in range(50)]
    written(store, *pages, *others, given(pages[0].impression, "secret-item"))
    store.fold()
    assert store.erase(user_key="secret-user").overwritten
    assert store.erase(item="secret-item").overwritten
    store.close()
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"i199" not in content
    assert b"secret-" not in content


def snapshot(store: Store) -> Any:
    with store.database.reading() as connection:
        from counterrank.service.schema import tables

        return {t.name: sorted(map(repr, map(tuple, connection.execute(t.select())))) for t in tables.sorted_tables}


def filled(store: Store) -> None:
    old, page = shown(at=NOON - 9 * DAY), shown("ü\n'", ("é", "\\", '"'), request="r", digest="d", answer=b"\0\xff")
    written(store, old, page, shown(deferred=True, kept="k"), given(page.impression, "é", reward=0.1 + 0.2))
    store.forget(2, now=NOON)
    store.put_items([("a", None, {"x": 0.1}), ("a", "q", {})])
    store.add_model({"m": bytes(range(256))}, {"n": 1})


@pytest.mark.parametrize("into", ["sqlite", "postgresql"])
def test_a_backup_restores_all_of_it(store: Store, into: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    from service.conftest import postgres_url

    filled(store)
    assert store.backup(tmp_path / "b.db") == 4
    before = snapshot(store)
    written(store, shown())
    url = f"sqlite:///{tmp_path / 'new.db'}" if into == "sqlite" else postgres_url(request.getfixturevalue("postgres"))
    fresh = Store.open(url)
    content = (tmp_path / "b.db").read_bytes()
    assert fresh.restore(tmp_path / "b.db") == 4
    assert (tmp_path / "b.db").read_bytes() == content
    assert snapshot(fresh) == before
    assert fresh.verify().differences == 0
    with pytest.raises(InputError, match="not empty"):
        fresh.restore(tmp_path / "b.db")
    assert written(fresh, shown()) == [5]
    fresh.close()
    backup = Store.open(str(tmp_path / "b.db"))  # a store itself
    assert backup.verify().differences == 0
    backup.close()


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path / 'store.db'}")
    (tmp_path / "text").write_text("hello " * 1000, encoding="utf-8")
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (x)").connection.close()
    for name, what in {"text": "cannot be read", "other.db": "is no store", "none": "no such file"}.items():
        with pytest.raises(InputError, match=what):
            store.restore(tmp_path / name)
    assert store.verify().impressions == 0
    store.close()
