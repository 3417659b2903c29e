"""The exported log has the contract's columns, and is read back as what was shown; an imported one becomes evidence."""

from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import counterrank as cr
from counterrank.cli import app
from counterrank.errors import InputError
from counterrank.service.export import Choice
from counterrank.service.store import Store
from counterrank.service.users import user_key
from service.service_worlds import NOON, evidence, given, plain_fold, shown, written

DAY = 86_400.0
COLUMNS = [
    "query",
    "items",
    "clicks",
    "day",
    "propensity",
    "item_propensities",
    "cluster",
    "policy",
    "model",
    "impression",
]


def run(*words: Any, code: int = 0) -> Any:
    result = CliRunner().invoke(app, ["log", *map(str, words)])
    assert result.exit_code == code, result.output
    if code:
        assert result.stderr.count("\n") == 1
        return result.stderr
    return json.loads(result.stdout) if "--json" in words else result.stdout


def test_every_impression_with_its_clicks_and_chances(store: Store, tmp_path: Path) -> None:
    first = shown(model="3", cluster="c")
    second = shown("q", ("x", "y"), at=NOON + DAY, policy="logging")
    waiting, named, hidden = shown(deferred=True), shown(deferred=True), shown(counted=False)
    written(
        store, first, second, waiting, named, hidden, given(first.impression, "c"), given(first.impression, "a", "c")
    )
    written(store, given(named.impression), given(hidden.impression, "a"))
    done = store.export(tmp_path / "log.parquet")
    assert (done.impressions, done.clicks, done.deferred, done.uncounted) == (3, 2, 1, 1)
    assert len(done.notes) == 2
    table = pq.read_table(tmp_path / "log.parquet")
    assert table.column_names == COLUMNS
    rows = table.to_pylist()
    assert rows[0] == {
        "query": "shoes", "items": ["a", "b", "c"], "clicks": [1, 0, 1], "day": date(2023, 11, 14), "propensity": 0.5,
        "item_propensities": list(first.item_propensities), "cluster": "c", "policy": "ebrank", "model": "3",
        "impression": first.impression,
    }  # fmt: skip
    assert [row["clicks"] for row in rows] == [[1, 0, 1], [0, 0], [0, 0, 0]]
    assert rows[1]["cluster"] == second.impression
    assert rows[1]["day"] == date(2023, 11, 15)


def test_rewards_are_there_once_one_was_given(store: Store, tmp_path: Path) -> None:
    pages = [shown() for _ in range(3)]
    written(store, *pages, given(pages[0].impression, reward=0.1), given(pages[0].impression, reward=0.2))
    written(store, given(pages[1].impression, "a"))
    store.export(tmp_path / "log.parquet")
    assert pq.read_table(tmp_path / "log.parquet")["reward"].to_pylist() == [0.1 + 0.2, 0.0, 0.0]


def test_a_choice_of_times_and_policies(store: Store, tmp_path: Path) -> None:
    pages = [shown(at=NOON + i * DAY, policy="ab"[i % 2]) for i in range(6)]
    written(
        store, *pages, *(given(page.impression, "b", reward=1.0 if i == 5 else None) for i, page in enumerate(pages))
    )

    def exported(*given: Any) -> list[str]:
        assert store.export(tmp_path / "log.parquet", Choice(*given)).impressions >= 0
        table = pq.read_table(tmp_path / "log.parquet")
        assert ("reward" in table.column_names) == (pages[5].impression in table["impression"].to_pylist())
        assert all(clicks == [0, 1, 0] for clicks in table["clicks"].to_pylist())
        return list(table["impression"].to_pylist())

    names = [page.impression for page in pages]
    assert exported() == names
    assert exported(NOON + DAY, NOON + 4 * DAY) == names[1:4]
    assert exported(None, NOON + 4 * DAY, "b") == names[1:4:2]
    assert exported(NOON + 99 * DAY) == []
    with pytest.raises(InputError, match="Choose from a, b"):
        exported(None, None, "c")


def test_erased_items_keep_their_places(store: Store, tmp_path: Path) -> None:
    page, same = shown(), shown("q", ("(erased 1)", "b"))
    written(store, page, same, given(page.impression, "b"))
    store.erase(item="b")
    store.erase(item="a")
    store.export(tmp_path / "log.parquet")
    rows = pq.read_table(tmp_path / "log.parquet").to_pylist()
    assert [row["items"] for row in rows] == [["(erased 1)", "(erased 2)", "c"], ["(erased 1)", "(erased 2)"]]
    assert rows[0]["clicks"] == [0, 1, 0]
    assert cr.check(str(tmp_path / "log.parquet")).facts["bad_rows"] == 0


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "csv.gz"])
def test_what_is_exported_is_a_log_and_imported_gives_the_same_evidence(url: str, kind: str, tmp_path: Path) -> None:
    log, database = tmp_path / f"log.{kind}", tmp_path / "new.db"
    with Store.open(url) as store:
        pages = [shown(f"q{i % 3}", ("a", "ü", "c,d")[: 1 + i % 3], at=NOON + i * DAY / 5) for i in range(40)]
        written(store, *pages, *(given(page.impression, page.items[-1]) for page in pages[::3]))
        expected = evidence(store)
    assert run("export", url, "--out", log, "--json")["impressions"] == 40
    facts = cr.check(str(log)).facts
    assert (facts["impressions"], facts["bad_rows"], facts["days"]) == (40, 0, 9)
    assert cr.evaluate(str(log), "logging", estimators="list").value("list") == pytest.approx(14 / 40)
    told = run("import", log, "--store", database, "--json")
    assert (told["impressions"], told["rows"], told["rejected"], told["clicks"]) == (40, 40, 0, 14)
    with Store.open(str(database)) as new:
        assert evidence(new) == expected
        assert new.verify().to_dict() == {
            "impressions": 40, "feedback": 0, "pairs": 6, "differences": 0, "forgotten": 40
        }  # fmt: skip
        page = shown("q0", ("a",))
        written(new, page, given(page.impression, "a"))
        seen, hits = expected["q0", "a", 1]
        assert evidence(new)["q0", "a", 1] == (seen + 1, hits + 1)
        assert new.verify().differences == 0
    assert "imported on" in run("import", log, "--store", database, code=2)
    run("import", log, "--store", database, "--again")
    assert "no clicks" in run("import", _without_clicks(tmp_path), "--store", database, code=2)


def _without_clicks(folder: Path) -> Path:
    (folder / "rewards.jsonl").write_text('{"query": "q", "items": ["a"], "reward": 1}\n')
    return folder / "rewards.jsonl"


def test_positions_that_no_page_has_are_left_out_and_said(tmp_path: Path) -> None:
    log = {"query": ["q"], "items": [[str(i) for i in range(120)]], "clicks": [[1] * 120], "impressions": [5]}
    with Store.open(str(tmp_path / "s.db")) as store:
        found = store.import_log(log)
        assert "100 of them" in found.notes[0]
        assert evidence(store) == {("q", str(i), i + 1): (5, 5) for i in range(100)}


def test_a_failed_import_makes_no_store(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"query": "q", "items": ["a", "a"], "clicks": [0, 0]}\n')
    run("import", tmp_path / "bad.jsonl", "--store", tmp_path / "s.db", code=2)
    assert sorted(os.listdir(tmp_path)) == ["bad.jsonl"]


def test_backup_and_restore_by_command(url: str, tmp_path: Path) -> None:
    page = shown()
    with Store.open(url) as store:
        written(store, page, given(page.impression, "a"))
        expected = evidence(store)
    assert run("backup", url, "--out", tmp_path / "b.db", "--json")["sequence"] == 2
    told = run("restore", tmp_path / "b.db", "--store", f"sqlite:///{tmp_path / 'n.db'}", "--json")
    assert (told["sequence"], told["differences"], told["pairs"]) == (2, 0, 3)
    with Store.open(str(tmp_path / "n.db")) as new:
        assert evidence(new) == expected == plain_fold([page], [given(page.impression, "a")])


def test_erasing_by_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COUNTERRANK_SECRET", raising=False)
    path, secret = tmp_path / "s.db", b"0123456789abcdef0123"
    with Store.open(str(path)) as store:
        written(store, shown(user_key=user_key(secret, "anna")), shown(cluster="c"), shown("q", ("z",)))
    assert "secret is not known" in run("erase", path, "--user", "anna", code=2)
    (tmp_path / "secret").write_bytes(secret + b"\n")
    assert run("erase", path, "--user", "bob", "--secret", tmp_path / "secret", "--json")["impressions"] == 0
    assert run("erase", path, "--user", "anna", "--secret", tmp_path / "secret", "--json")["impressions"] == 1
    assert run("erase", path, "--cluster", "c", "--cluster", "d", "--json")["impressions"] == 1
    assert "taken off 1 impression" in run("erase", path, "--item", "z")
    assert "give one of" in run("erase", path, code=2)
    with Store.open(str(path)) as store:
        assert evidence(store) == {}
        assert store.verify().differences == 0


@pytest.mark.parametrize(("option", "value"), [("--since", "yesterday"), ("--until", "2026-13-01")])
def test_times_that_are_none(option: str, value: str, tmp_path: Path) -> None:
    Store.open(str(tmp_path / "s.db")).close()
    message = run("export", tmp_path / "s.db", "--out", tmp_path / "o.csv", option, value, code=2)
    assert f"{option} is" in message
    assert not (tmp_path / "o.csv").exists()


def test_a_store_is_no_output(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    Store.open(str(path)).close()
    for name in (path, f"{path}-wal", f"{path}-lock"):
        assert "input of this command" in run("backup", f"sqlite:///{path}", "--out", name, code=2)
    assert "no such store" in run("export", tmp_path / "none.db", "--out", tmp_path / "o.csv", code=2)
    (tmp_path / "empty.db").touch()
    assert "no store in it" in run("export", tmp_path / "empty.db", "--out", tmp_path / "o.csv", code=2)
    assert (tmp_path / "empty.db").stat().st_size == 0


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_long_log_is_written_part_by_part(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterrank.service.export.ROWS", 7)
    pages = [shown(f"q{i}") for i in range(40)]
    with Store.open(str(tmp_path / "s.db")) as store:
        written(store, *pages, *(given(page.impression, "b") for page in pages[::2]))
        store.export(tmp_path / f"log.{kind}")
    if kind == "parquet":
        assert pq.ParquetFile(tmp_path / "log.parquet").num_row_groups == 6
        assert pq.read_table(tmp_path / "log.parquet")["query"].to_pylist() == [page.query for page in pages]
    facts = cr.check(str(tmp_path / f"log.{kind}")).facts
    assert (facts["impressions"], facts["clicks"], facts["bad_rows"]) == (40, 20, 0)
