"""Text files mean the same on Spark as elsewhere: separators, spelled lists, what is an id, ragged rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import counterrank as cr
from counterrank import temporary
from seeds import seeds

JSON_IDS = ["7", "7.0", '"7"', "true", '{"a": 1}', "[1]", "1.5", "null", '""']
FILES = {
    "tabs.tsv": "query\titems\tclicks\nq,1\ta|b\t1|0\nq,1\t[\"b\", \"a\"]\t[0, 1]\nq,1\tb|a|c\t0|1\nq,1\ta\n",
    "pandas.csv": "query,items,clicks\n7.0,\"['a', 'b']\",\"[True, False]\"\n7,b|a,0|1\n"
    "7,\"[\"\"b\"\", \"\"a\"\"]\",0|1|1\n7,b\n",
    "ids.jsonl": "".join(f'{{"query": {one}, "items": [{one}, "b"], "clicks": [1, 0]}}\n' for one in JSON_IDS),
    "items.jsonl": "".join(f'{{"query": "q", "items": [{one}, "b"], "clicks": [1, 0]}}\n' for one in JSON_IDS),
    "torn.jsonl": '{"query": "q", "items": ["a", "b"], "clicks": [1, 0]}\n{"query": "q", "items": [\n',
}  # fmt: skip


def told(path: Path, engine: Any) -> dict[str, Any]:
    log = cr.read_log(path, bad_rows=path.with_suffix(".bad.jsonl"))
    result = cr.evaluate(log, "uniform", estimators="list,ip,rctr", engine=engine)
    bad = [json.loads(line) for line in path.with_suffix(".bad.jsonl").read_text().splitlines()]
    queries = result.per_query.column("query").to_pylist()
    return {
        "rows": result.reading.rows,
        "rejected": result.reading.rejected,
        "problems": sorted(row["problem"] for row in bad),
        "queries": sorted(map(str, queries)),
        "values": [pytest.approx(row.value) if row.value is not None else None for row in result.rows],
    }


@pytest.mark.spark
@pytest.mark.parametrize("name", seeds(list(FILES), 1))
def test_text_means_the_same_on_spark(name: str, spark: Any, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(FILES[name])
    assert told(path, spark) == told(path, "duckdb")


@pytest.mark.spark
def test_the_copy_for_spark_goes_with_the_pass(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "ids.jsonl"
    path.write_text(FILES["torn.jsonl"])
    before = _copies()  # of passes that tests before this one still hold
    told(path, spark)
    assert not spark.made
    assert not any(spark.in_use.values())
    assert _copies() <= before


def _copies() -> set[Path]:
    return set(Path(temporary.room()).rglob("rows.parquet"))
