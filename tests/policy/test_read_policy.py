"""read_policy on every form a policy may come in, and on what is wrong with it."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from policy_worlds import HOSTILE

from counterrank.errors import InputError
from counterrank.log.sources import open_source
from counterrank.policy import Logged, PlackettLuce, Scores, Table, read_policy

OTHERS = [query for query in HOSTILE if query != "00123"]
TABLE = {
    "query": ["00123", "00123", "7", *OTHERS],
    "items": [["1", "a"], ["a", "1"], ["2020-01-01", "007"], *([HOSTILE] * len(OTHERS))],
    "probability": [0.25, 0.75, 1.0, *([1.0] * len(OTHERS))],
}
SCORES = {"query": ["00123", "00123", "7"], "item": ["1", "a", "2020-01-01"], "score": [1.5, 2.5, -1.0]}


def rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def cell(value: Any) -> str:
    text = json.dumps(value) if isinstance(value, list) else str(value)
    return '"' + text.replace('"', '""') + '"'


def write(path: Path, columns: dict[str, list[Any]]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
        return path
    if ".csv" in path.name:
        lines = [",".join(columns), *(",".join(map(cell, row.values())) for row in rows(columns))]
    else:
        lines = [json.dumps(row) for row in rows(columns)]
    data = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def check_table(policy: Any) -> None:
    assert isinstance(policy, Table)
    assert policy.probability("00123", [1, "a"]) == 0.25
    assert policy.rank("7") == ["2020-01-01", "007"]
    assert policy.rank(HOSTILE[0]) == HOSTILE


def check_scores(policy: Any) -> None:
    assert isinstance(policy, Scores)
    assert policy.rank("00123") == ["a", "1"]
    assert policy.rank(7) == ["2020-01-01"]


FILES = [
    "p.parquet",
    "p.csv",
    "p.csv.gz",
    "p.jsonl",
    "p.jsonl.gz",
    "p.ndjson",
    "p.json",
    "odd '[1]* name.csv",
    "odd [a]'.jsonl",
]


@pytest.mark.parametrize("name", FILES)
def test_files(tmp_path: Path, name: str) -> None:
    check_table(read_policy(write(tmp_path / name, TABLE)))
    check_scores(read_policy(str(write(tmp_path / name, SCORES))))


@pytest.mark.parametrize("name", FILES)
def test_folders_and_globs(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "policy"
    folder.mkdir()
    whole = rows(TABLE)
    for part, some in enumerate((whole[:2], whole[2:])):
        write(folder / f"{part}-{name}", {key: [row[key] for row in some] for key in TABLE})
    (folder / "_SUCCESS").touch()
    (folder / ".hidden.csv").write_text("junk")
    check_table(read_policy(folder))
    check_table(read_policy(str(folder / "?-*")))


def test_duckdb_tables(tmp_path: Path) -> None:
    path = str(tmp_path / "it's.duckdb")
    with duckdb.connect(path) as connection:
        connection.register("arrow", pa.table(TABLE))
        connection.sql('CREATE TABLE "my ""policy" AS SELECT * FROM arrow')
        connection.sql("CREATE TABLE ints AS SELECT 7::HUGEINT AS query, 3 AS item, 1::DECIMAL(5, 2) AS score")
    check_table(read_policy(path + ':my "policy'))
    assert read_policy(path + ":ints").rank("7") == ["3"]
    refused(lambda: read_policy(path + ":other"), "'other'", "'ints'")
    refused(lambda: read_policy(str(tmp_path / "no.duckdb:t")), "no.duckdb", "check the path")
    (tmp_path / "bad.duckdb").write_text("not a database" * 1000)
    refused(lambda: read_policy(str(tmp_path / "bad.duckdb:t")), "bad.duckdb")


def test_data_frames() -> None:
    for columns, check in ((TABLE, check_table), (SCORES, check_scores)):
        arrow = pa.table(columns)
        check(read_policy(arrow))
        check(read_policy(arrow.to_batches()[0]))
        check(read_policy(ibis.memtable(arrow)))
        check(read_policy(pytest.importorskip("polars").DataFrame(columns)))
        check(read_policy(pytest.importorskip("pandas").DataFrame(columns)))


def test_integer_ids_match_text() -> None:
    policy = read_policy(pa.table({"query": [7], "items": [[3, 4]]}))
    assert policy.rank("7") == ["3", "4"]
    numpy_rows = pa.table({"query": np.array([7]), "item": np.array([3], np.int32), "score": np.array([1])})
    assert read_policy(numpy_rows).rank(7) == ["3"]


def test_json_lists_in_csv_hold_numbers_and_texts(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text('query,items\n#7,"[1, ""a"", 12345678901234567890, ""\\u00e9""]"\n')
    assert read_policy(path).rank("#7") == ["1", "a", "12345678901234567890", "é"]


def test_dicts_and_policies() -> None:
    assert read_policy({7: ["b", 1]}).rank("7") == ["b", "1"]
    assert read_policy({7: {"a": 1, 2: 3.0}}).rank(7) == ["2", "a"]
    policy = read_policy({7: ("a",)})
    assert read_policy(policy) is policy
    assert isinstance(read_policy("logging"), Logged)
    refused(lambda: read_policy({}), "empty")
    refused(lambda: read_policy({7: ["a"], 8: {"a": 1}}), "dict")
    refused(lambda: read_policy({7: "ab"}), "dict")


def test_temperature() -> None:
    scored = read_policy({"q": {"a": 1.0, "b": 2.0}}, temperature=2)
    assert isinstance(scored, PlackettLuce)
    assert scored.temperature == 2
    assert isinstance(read_policy(Scores(["q"], ["a"], [1]), temperature=1), PlackettLuce)
    refused(lambda: read_policy({"q": ["a"]}, temperature=1), "scores only")
    for bad in (-1, math.nan, math.inf):
        refused(lambda bad=bad: read_policy({"q": {"a": 1}}, temperature=bad), "temperature")


def test_other_column_names(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", {"q": ["00123"], "shown": [["b", "a"]], "p": [1.0], "more": ["x"]})
    assert read_policy(path, columns={"query": "q", "items": "shown", "probability": "p"}).rank("00123") == ["b", "a"]
    refused(lambda: read_policy(path, columns={"query": "qq"}), "'qq'", "q, shown, p, more")
    refused(lambda: read_policy(path, columns={"quary": "q"}), "'quary'", "query, items")


def refused(make: Any, *words: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message


BAD = {
    "empty.csv": ("", ["empty.csv", "is empty"]),
    "empty.parquet": ("", ["is empty"]),
    "header.csv": ("query,items\n", ["no rows"]),
    "blank.jsonl": ("\n", ["blank.jsonl"]),
    "not.parquet": ("query,items", ["not a Parquet file"]),
    "broken.parquet": ("PAR1" + "x" * 100, ["broken.parquet"]),
    "columns.csv": ("query,docs\n1,2\n", ["'item'", "query, docs"]),
    "noquery.csv": ("items\n[1]\n", ["'query'"]),
    "both.csv": ("query,items,item,score\n1,[1],1,1\n", ["both forms"]),
    "list.csv": ('query,items\n1,"[1,2]"\n2,"[1,x"\n', ["row 2", "[1,x", "JSON list"]),
    "nolist.jsonl": ('{"query":1,"items":[1]}\n{"query":2,"items":3}\n', ["row 2", "'3'"]),
    "object.csv": ('query,items\n1,"{""a"":1}"\n', ["row 1", "JSON list"]),
    "number.csv": ("query,item,score\n1,2,high\n", ["row 1", "'high'", "number"]),
    "probability.csv": ("query,items,probability\n1,[2],\n", ["row 1", "probability"]),
    "ragged.csv": ("query,item,score\n1,2,3\n1,2\n", ["ragged.csv"]),
    "noid.csv": ("query,item,score\n,2,3\n", ["query", "null"]),
    "noitem.jsonl": ('{"query":1,"items":["a",null]}\n', ["item", "null"]),
    "broken.jsonl": ('{"query":1,"items":["a"]}\n{"query":\n', ["broken.jsonl"]),
    "array.jsonl": ("[1, 2]\n", ["array.jsonl"]),
    "twice.csv": ("query,query,items\n1,2,3\n", ["distinct column names"]),
    "sum.jsonl": ('{"query":1,"items":["a"],"probability":0.5}\n', ["'1'", "0.5"]),
    "policy.xlsx": ("x", ["format", ".parquet"]),
    "packed.csv.gz": ("not gzip", ["packed.csv.gz"]),
    "packed.jsonl.gz": ("not gzip", ["packed.jsonl.gz"]),
    "latin.csv": ("query,item,score\n\udce9,2,3\n", ["latin.csv"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(tmp_path: Path, name: str) -> None:
    text, words = BAD[name]
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    refused(lambda: read_policy(tmp_path / name), *words)


def test_bad_sources(tmp_path: Path) -> None:
    refused(lambda: read_policy(tmp_path / "none.csv"), "none.csv", "check the path")
    refused(lambda: read_policy(str(tmp_path / "*.csv")), "*.csv")
    refused(lambda: read_policy(tmp_path), "no data files")
    refused(lambda: read_policy(7), "int", "table")
    refused(lambda: read_policy(pa.table({"query": [1.5], "item": ["a"], "score": [1.0]})), "1.5", "whole number")
    refused(lambda: read_policy(pa.table({"query": ["q"], "item": ["a"], "score": [[1.0]]})), "numbers")


NAMELESS = [
    {"query": "", "items": ["a"]}, {"query": "q\0", "items": ["a"]}, {"query": "q", "items": ["b", ""]},
    {"query": "q", "items": ["a\0b"]}, {"query": "", "item": "a", "score": 1.0},
    {"query": "q", "item": "a\0", "score": 1.0},
]  # fmt: skip


@pytest.mark.parametrize("row", NAMELESS, ids=repr)
def test_ids_that_no_csv_gives_back_are_refused(row: dict[str, Any], tmp_path: Path) -> None:
    """An empty id, or one with a zero byte, cannot be read back from a CSV file: none of them gets in."""
    path = tmp_path / "policy.jsonl"
    path.write_text(json.dumps(row) + "\n")
    plain = {row["query"]: {row["item"]: 1.0} if "item" in row else row["items"]}
    for source in (path, pa.Table.from_pylist([row]), plain):
        with pytest.raises(InputError, match=r"row [12]"):
            read_policy(source)


def test_a_folder_may_mix_formats_and_orders_of_columns(tmp_path: Path) -> None:
    halves = [
        {name: column[:2] for name, column in SCORES.items()},
        {name: column[2:] for name, column in SCORES.items()},
    ]
    write(tmp_path / "a.csv", halves[0])
    write(tmp_path / "b.jsonl", dict(reversed(halves[1].items())))
    check_scores(read_policy(tmp_path))
    write(tmp_path / "c.csv", {"query": ["8"], "items": [["a"]]})
    refused(lambda: read_policy(tmp_path), "'item'")


def test_rows_are_numbered_by_file(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", SCORES)
    (tmp_path / "b.csv").write_text("query,item,score\n9,1,2\n9,3,much\n")
    refused(lambda: read_policy(tmp_path), "b.csv, row 2", "'much'")


def test_a_source_reads_what_is_asked(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", {"query": [7], "n": [3], "more": [{"a": 1}]})
    found = open_source(path).read({"query": "query", "height": "n"})
    assert found.to_pylist() == [{"query": "7", "height": 3.0}]


def test_a_json_file_may_be_one_array(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps(rows(TABLE), indent=1))
    check_table(read_policy(tmp_path / "p.json"))
