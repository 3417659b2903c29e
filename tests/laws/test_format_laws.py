"""Every foreign format keeps these laws: what it cannot read it says in one line, what it repairs it counts."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import counterrank as cr
from counterrank.errors import InputError
from counterrank.log.foreign import FORMATS

NOON = "2025-01-24T12:00:00.000Z"
MADE: dict[str, str | None] = {  # None: it holds no clicks
    "ubi": json.dumps({"query_id": "1", "user_query": "w", "timestamp": NOON, "query_response_hit_ids": ["a", "b"]}),
    "yandex": "s\t10\tQ\tq1\t0\ta\tb\ns\t20\tC\ta\n",
    "obd": ",timestamp,item_id,position,click,propensity_score\n0,2019-11-24 23:59:59+00:00,7,2,1,0.25\n",
    "letor": None,
}
formats = pytest.mark.parametrize("name", FORMATS)
JUNK = {
    "nothing": b"",
    "zeros": bytes(100),
    "no text": bytes(range(256)),
    "prose": b"once upon a time\nthere was a log\n",
    "json": b'{"a": [1, 2}\n',
    "cut gzip": gzip.compress(b"s\t10\tQ\tq1\t0\ta\tb\n" * 100)[:-12],
    "long line": b"x" * 100_000,
}


def read(name: str, path: Path, **more: Any) -> Any:
    return FORMATS[name]([path], **more)


@formats
@pytest.mark.parametrize("junk", JUNK)
def test_what_cannot_be_read_is_said_in_one_line(name: str, junk: str, tmp_path: Path) -> None:
    path = tmp_path / ("log.gz" if "gzip" in junk else "log.csv")
    path.write_bytes(JUNK[junk])
    with pytest.raises(InputError) as caught:
        read(name, path)
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 600
    assert path.name in said


@formats
def test_a_log_is_in_list_form(name: str, tmp_path: Path) -> None:
    text, path = MADE[name], tmp_path / "log.csv"
    path.write_text(text or "1 qid:a 1:1\n")
    if text is None:
        with pytest.raises(InputError, match="not clicks"):
            read(name, path)
        return
    found = read(name, path)
    kinds = dict(zip(found.table.column_names, found.table.schema.types, strict=True))
    assert kinds["query"] == pa.string()
    assert kinds["items"] == pa.list_(pa.string())
    assert kinds["clicks"] == pa.list_(pa.int8())
    assert set(kinds) <= {"query", "items", "clicks", "day", "propensity"}
    assert all(len(row["items"]) == len(row["clicks"]) for row in found.table.to_pylist())
    for note in found.notes:
        assert re.search(r"\d", note)
        assert note.endswith(".")
        assert "\n" not in note
    assert cr.evaluate(cr.read_log(path, format=name), "logging", estimators="rctr").value("rctr") is not None


@formats
def test_a_unit_that_makes_no_sense_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(MADE[name] or "1 qid:a 1:1\n")
    with pytest.raises(InputError) as caught:
        read(name, path, time_unit="fortnight")
    assert "\n" not in str(caught.value)
