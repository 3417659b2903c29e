"""Files as they come: their folders' names, gzip, tabs, byte order marks, line ends."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterrank as cr
from counterrank.checking.check import check
from counterrank.log.features import read_features
from counterrank.log.write import write_table
from counterrank.policy import Uniform

ENGINES = ["duckdb", "ibis"]
ROWS: list[dict[str, Any]] = [
    {"query": "q", "items": ["a", "b"], "clicks": [1, 0], "day": 1},
    {"query": "q", "items": ["b", "a"], "clicks": [0, 1], "day": 1},
    {"query": "r", "items": ["b", "a"], "clicks": [1, 1], "day": 2},
    {"query": "r", "items": ["a", "b"], "clicks": [0, 0], "day": 2},
]
LONG = [
    {"impression": i, "query": row["query"], "position": k + 1, "item": row["items"][k], "click": row["clicks"][k]}
    | {"day": row["day"]}
    for i, row in enumerate(ROWS)
    for k in range(2)
]
TARGET = {"q": ["b", "a"], "r": ["a", "b"]}


def text(rows: list[dict[str, Any]], kind: str) -> str:
    if kind == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows)
    file = io.StringIO()
    writer = csv.writer(file, delimiter="\t" if kind == "tsv" else ",")
    writer.writerow(rows[0])
    writer.writerows([json.dumps(v) if isinstance(v, list) else v for v in row.values()] for row in rows)
    return file.getvalue()


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = path.suffixes[0][1:]
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(text(rows, kind).encode()))
    else:
        path.write_text(text(rows, kind), newline="")
    return path


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv.gz", "jsonl"])
@pytest.mark.parametrize("form", [ROWS, LONG], ids=["list", "long"])
def test_folders_and_kinds(form: list[dict[str, Any]], kind: str, engine: str, tmp_path: Path) -> None:
    """A folder called query=zzz says nothing of what is in its files."""
    expected = {row.estimator: row.value for row in cr.evaluate(pa.Table.from_pylist(ROWS), TARGET).rows}
    path = write(tmp_path / "query=zzz" / "day=2024-01-01" / "items=x" / "item=a" / f"log.{kind}", form)
    found = cr.evaluate(path, TARGET, engine=engine)
    assert {row.estimator: pytest.approx(row.value, abs=1e-12) for row in found.rows} == expected
    assert check(path).facts["days"] == 2


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "jsonl"])
def test_folders_of_other_sources(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "query=zzz" / "item=x" / "items=x"
    rankings = write(place / f"policy.{kind}", [{"query": "q", "items": ["b", "a"]}])
    assert cr.read_policy(rankings).rank("q") == ["b", "a"]
    scores = write(place / f"scores.{kind}", [{"query": "q", "item": i, "score": s} for i, s in (("a", 1), ("b", 2))])
    assert cr.read_policy(scores).rank("q") == ["b", "a"]
    assert read_features(scores).query.to_pylist() == ["q", "q"]
    assert [c.to_pylist() for c in Uniform(scores).items()] == [["q", "q"], ["a", "b"]]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("damage", ["checksum", "length", "cut", "cut to nothing", "second member"])
def test_damaged_gzip(kind: str, damage: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"log.{kind}.gz", ROWS * 50)
    good = path.read_bytes()
    changed = {
        "checksum": good[:-8] + bytes([good[-8] ^ 1]) + good[-7:],
        "length": good[:-1] + bytes([good[-1] ^ 1]),
        "cut": good[: len(good) * 2 // 3],
        "cut to nothing": good[:9],
        "second member": good + good[:-3],
    }[damage]
    path.write_bytes(changed)
    for read in (lambda: cr.evaluate(path, TARGET), lambda: cr.evaluate(path, TARGET, engine="ibis")):
        with pytest.raises(cr.InputError, match="gzip file is damaged"):
            read()
    with pytest.raises(cr.InputError, match="gzip file is damaged"):
        cr.read_policy(path)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_gzip_of_several_members(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"log.{kind}.gz", ROWS)
    lines = text(ROWS, kind).encode().splitlines(keepends=True)
    path.write_bytes(b"".join(gzip.compress(line) for line in lines))
    assert cr.evaluate(path, TARGET).to_dict()["impressions"] == 4


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_byte_order_mark(suffix: str, engine: str, tmp_path: Path) -> None:
    path = tmp_path / f"log.{suffix}"
    data = b"\xef\xbb\xbf" + text(ROWS, "jsonl").replace("\n", "\r\n\n").encode()
    path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    expected = {row.estimator: row.value for row in cr.evaluate(pa.Table.from_pylist(ROWS), TARGET).rows}
    found = cr.evaluate(path, TARGET, engine=engine)
    assert {row.estimator: pytest.approx(row.value, abs=1e-12) for row in found.rows} == expected


def test_byte_order_mark_and_damage(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + text(ROWS, "jsonl").encode() + b'{"query": 1, "items"\n[1]\n"x"\n')
    found = cr.evaluate(cr.read_log(path, bad_rows=tmp_path / "bad.jsonl"), TARGET).to_dict()
    assert found["impressions"] == 4
    assert [json.loads(line)["row"] for line in (tmp_path / "bad.jsonl").read_text().splitlines()] == [5, 6, 7]


@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "tsv.gz"])
def test_written_and_read_back(kind: str, tmp_path: Path) -> None:
    rows = [{"query": "a\tb,c", "items": ['x"y', "it's\t", "a|b"]}]
    write_table(pa.Table.from_pylist(rows), tmp_path / f"policy.{kind}")
    assert cr.read_policy(tmp_path / f"policy.{kind}").rank("a\tb,c") == rows[0]["items"]
    if kind == "tsv":
        assert (tmp_path / "policy.tsv").read_text().startswith("query\titems")


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_without_a_name(engine: str, tmp_path: Path) -> None:
    """An index that pandas wrote, and commas at the ends of lines."""
    path = tmp_path / "log.csv"
    path.write_text(',query,items,clicks,,\n0,q,"[""a"",""b""]","[1,0]",,\n1,q,"[""b"",""a""]","[0,0]",,\n')
    assert cr.evaluate(path, {"q": ["a", "b"]}, engine=engine).to_dict()["impressions"] == 2
    path.write_text("query,items,query\n")
    with pytest.raises(cr.InputError, match="distinct column names"):
        cr.read_log(path)


@pytest.mark.parametrize("engine", ENGINES)
def test_tables_of_a_schema(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("rows", pa.Table.from_pylist(ROWS))
        connection.execute('CREATE SCHEMA shop; CREATE TABLE shop.log AS FROM rows; CREATE TABLE "a.b" AS FROM rows')
        connection.execute("CREATE VIEW shop.seen AS FROM shop.log WHERE query = 'q'")
    expected = cr.evaluate(pa.Table.from_pylist(ROWS), TARGET).value("ip")
    for table in ("shop.log", "a.b", "main.a.b"):
        assert cr.evaluate(f"{path}:{table}", TARGET, engine=engine).value("ip") == pytest.approx(expected)
    assert cr.evaluate(f"{path}:shop.seen", TARGET, engine=engine).impressions == 2
    for table in ("log", "shop.none", "none"):
        with pytest.raises(cr.InputError, match=r"choose from 'a.b', 'shop.log', 'shop.seen'"):
            cr.evaluate(f"{path}:{table}", TARGET, engine=engine)
