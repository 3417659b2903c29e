"""Files of others: nothing in a DuckDB file reads beyond it, no URL is fetched, and colons are no URLs."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import counterrank as cr
from counterrank.cli import app
from counterrank.log.parts import connect

LIST = "SELECT 'q' AS query, ['a', 'b'] AS items, [1, 0] AS clicks"
LONG = "SELECT 1 AS impression, 'q' AS query, 1 AS position, 'a' AS item, 1 AS click"
TOLD = "(SELECT string_agg(content, '') FROM read_text('{secret}'))"


def run(*words: Any) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A database with tables in both forms, and views that read a file of the machine."""
    secret, path = tmp_path / "secret.txt", tmp_path / "base.duckdb"
    secret.write_text("hidden")
    told = TOLD.format(secret=secret)
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE list AS {LIST}; CREATE TABLE long AS {LONG}")
        connection.execute(f"CREATE VIEW seen AS {LIST}")
        connection.execute(f"CREATE VIEW bad_list AS {LIST.replace(chr(39) + 'q' + chr(39), told)}")
        connection.execute(f"CREATE VIEW bad_long AS {LONG.replace(chr(39) + 'q' + chr(39), told)}")
        connection.execute(f"CREATE VIEW bad_policy AS SELECT {told} AS query, ['a'] AS items")
    return path


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
@pytest.mark.parametrize("table", ["list", "long", "seen", "bad_list", "bad_long"])
def test_views_that_read_files_are_refused(table: str, engine: str, base: Path) -> None:
    before = base.read_bytes()
    result = run("evaluate", f"{base}:{table}", "--target", "logging", "--engine", engine, "--json")
    if table.startswith("bad"):
        assert result.exit_code == 2, result.output
        assert result.stderr.count("\n") == 1
        assert "disabled" in result.stderr
        assert "hidden" not in result.output
    else:
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["rows"] == 1
    assert base.read_bytes() == before


def test_a_policy_of_others(base: Path) -> None:
    result = run("evaluate", f"{base}:list", "--target", f"{base}:bad_policy")
    assert result.exit_code == 2
    assert "hidden" not in result.output


def test_no_extension_is_fetched_or_loaded() -> None:
    with connect() as connection:
        for name in ("autoinstall_known_extensions", "autoload_known_extensions"):
            (value,) = connection.execute(f"SELECT current_setting('{name}')").fetchone() or (None,)
            assert value is False
        with pytest.raises(duckdb.Error):
            connection.execute("SELECT * FROM read_csv('https://localhost/x.csv')")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/log.csv",
        "https://127.0.0.1/log.parquet",
        "s3://bucket/log.parquet",
        "hf://datasets/x/log.parquet",
        "gs://bucket/log.jsonl",
        "file:///etc/passwd.csv",
        "http://127.0.0.1/base.duckdb:list",
        "md:base.duckdb:list",
    ],
)
def test_no_url_is_fetched(url: str, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", lambda *a, **k: pytest.fail("a socket was asked for"))
    words = [["check", url], ["evaluate", f"{base}:list", "--target", url]]
    words += [
        ["evaluate", f"{base}:list", "--target", "uniform", option, url] for option in ("--candidates", "--features")
    ]
    for command in words:
        result = run(*command)
        assert result.exit_code == 2, command
        assert "no such file" in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
@pytest.mark.parametrize(
    ("name", "suffix"),
    [("run-2024-05-01T10:00:00", "parquet"), ("http:x", "csv"), ("s3:log", "jsonl"), ("file:log", "csv.gz")],
)
def test_names_with_colons(
    name: str, suffix: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log, out, page = f"{name}.{suffix}", f"out-{name}.{suffix}", f"{name}.html"
    assert run("simulate", "--out", log, "--impressions", 200, "--queries", 3).exit_code == 0
    words = ["evaluate", log, "--target", "logging", "--per-query", out, "--report", page, "--json"]
    result = run(*words, "--engine", engine)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["impressions"] == 200
    assert {p.name for p in tmp_path.iterdir()} == {log, out, page}


def test_a_database_with_colons(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    base.rename("run-10:00:00.duckdb")
    for table in ("list", "long"):
        assert cr.evaluate(f"run-10:00:00.duckdb:{table}", "logging").value("rctr") == 1.0


def test_a_parquet_policy_with_colons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"query": ["q"], "items": [["a"]]}), str(tmp_path / "12:30.parquet"))
    assert cr.read_policy("12:30.parquet").rank("q") == ["a"]
