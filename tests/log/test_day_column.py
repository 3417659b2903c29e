"""Days: numbers, dates, times since 1970, in every kind of column and by every engine."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterrank as cr
from counterrank.checking.check import check
from counterrank.engine.calendar import day_number
from counterrank.log.days import day_numbers

ENGINES = ["duckdb", "ibis"]
DAY = (date(2024, 1, 1) - date(1970, 1, 1)).days
LATE = datetime(2024, 1, 1, 23, 59, 59, 999_999, tzinfo=UTC)
SECONDS = int(LATE.timestamp())

GOOD: dict[str, Any] = {
    "integers": pa.array([DAY, DAY]),
    "small integers": pa.array([DAY, DAY], pa.int16()),
    "floats": pa.array([float(DAY)] * 2),
    "dates": pa.array([date(2024, 1, 1)] * 2),
    "dates in milliseconds": pa.array([date(2024, 1, 1)] * 2, pa.date64()),
    **{
        f"timestamps in {unit}": pa.array([LATE.replace(tzinfo=None)] * 2).cast(pa.timestamp(unit), safe=False)
        for unit in ("s", "ms", "us")
    },
    "timestamps in ns": pa.array([SECONDS * 10**9 + 999_999_999] * 2, pa.timestamp("ns")),
    "timestamps with a zone": pa.array([LATE] * 2, pa.timestamp("us", tz="Asia/Tokyo")),
    "ns with a zone": pa.array([SECONDS * 10**9 + 999_999_999] * 2, pa.timestamp("ns", tz="America/New_York")),
    "texts": pa.array([str(DAY), "2024-01-01"]),
    "text times": pa.array(["2024-01-01T23:59:59.999999999", "2024-01-01 00:00"]),
    "text times with a zone": pa.array(["2024-01-02T08:59:59+09:00", "2023-12-31 19:00:00-05"]),
    "text times in UTC": pa.array(["2024-01-01T23:59:59Z", "2024-01-01T12:00:00+0000"]),
    "text floats": pa.array([f"{DAY}.0", f" {DAY} "]),
    "dictionary": pa.array(["2024-01-01", "2024-01-01"]).dictionary_encode(),
}
TIMES: dict[str, Any] = {
    "seconds": pa.array([SECONDS] * 2),
    "milliseconds": pa.array([SECONDS * 10**3 + 999] * 2),
    "microseconds": pa.array([SECONDS * 10**6] * 2),
    "nanoseconds": pa.array([SECONDS * 10**9 + 999_999_999] * 2),
    "float seconds": pa.array([SECONDS + 0.5] * 2),
    "text seconds": pa.array([str(SECONDS), f"{SECONDS}.25"]),
}


def log_of(days: Any) -> pa.Table:
    return pa.table({"query": ["q", "q"], "items": [["a", "b"], ["b", "a"]], "clicks": [[1, 0], [0, 1]], "day": days})


def by_arrow(days: Any) -> tuple[list[int | None], list[bool]]:
    found = day_numbers(days, "day")
    return [None if bad else int(day) for day, bad in zip(found.day, found.bad, strict=True)], found.timed.tolist()


def by_ibis(days: Any) -> tuple[list[int | None], list[bool]]:
    table: Any = ibis.memtable(pa.table({"day": days}))
    day, timed = day_number(table.day, "day")
    found = table.select(day=day, timed=timed).to_pyarrow()
    return found["day"].to_pylist(), found["timed"].to_pylist()


@pytest.mark.parametrize("name", [*GOOD, *TIMES])
def test_the_same_day(name: str) -> None:
    days = (GOOD | TIMES)[name]
    expected = [DAY, DAY], [name in TIMES] * 2
    assert by_arrow(days) == expected
    if name != "dictionary":  # Ibis has no such columns
        assert by_ibis(days) == expected


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["ns with a zone", "timestamps in ns", "nanoseconds"])
def test_nanoseconds_in_a_check(name: str, engine: str, tmp_path: Path) -> None:
    pq.write_table(log_of((GOOD | TIMES)[name]), tmp_path / "log.parquet")
    found = check(tmp_path / "log.parquet", engine=engine)
    assert found.facts["days"] == 1
    assert ("the day of 2 rows is a time since 1970" in " ".join(found.reading.notes)) == (name in TIMES)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("form", ["list", "long"])
@pytest.mark.parametrize("day", [float(DAY), SECONDS * 1000])
def test_in_text_files(day: Any, form: str, kind: str, engine: str, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"query": "q", "items": ["a", "b"], "clicks": [1, 0], "day": day}]
    if form == "long":
        rows = [
            {"impression": 1, "query": "q", "position": k, "item": i, "click": 0, "day": day}
            for k, i in ((1, "a"), (2, "b"))
        ]
    path = tmp_path / f"log.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        cells = [["|".join(map(str, v)) if isinstance(v, list) else str(v) for v in row.values()] for row in rows]
        path.write_text("\n".join(",".join(row) for row in [list(rows[0]), *cells]) + "\n")
    found = check(path, engine=engine)
    assert (found.facts["days"], found.reading.rows, found.reading.rejected) == (1, 1, 0)
    timed = day > DAY
    assert ("the day of 1 row is a time since 1970" in " ".join(found.reading.notes)) == timed


IMPOSSIBLE: dict[str, Any] = {
    "30 February": pa.array(["2024-01-01", "2024-02-30"]),
    "29 February": pa.array(["2024-02-29", "2023-02-29"]),
    "13 months": pa.array(["2024-01-01", "2024-13-01"]),
    "25 hours": pa.array(["2024-01-01", "2024-01-01T25:00"]),
    "words": pa.array(["2024-01-01", "2024-01-01 noon"]),
    "infinity": pa.array([1.0, float("inf")]),
    "NaN": pa.array([1.0, float("nan")]),
    "large": pa.array([1.0, 1e300]),
    "fraction": pa.array([1.0, 1.5]),
    "far back": pa.array([1, -(10**9)]),
    "missing": pa.array([1, None]),
    "text infinity": pa.array(["1", "inf"]),
    "large text": pa.array(["1", "1e300"]),
    "empty": pa.array(["1", ""]),
    "large unsigned": pa.array([1, 2**64 - 1], pa.uint64()),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible_days(name: str) -> None:
    for found, timed in (by_arrow(IMPOSSIBLE[name]), by_ibis(IMPOSSIBLE[name])):
        assert [day is None for day in found] == [False, True]
        assert timed == [False, False]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["30 February", "infinity", "large"])
def test_impossible_days_are_bad_rows(name: str, engine: str, tmp_path: Path) -> None:
    log = cr.read_log(log_of(IMPOSSIBLE[name]), bad_rows=tmp_path / "bad.jsonl")
    reading = cr.evaluate(log, "logging", engine=engine).reading
    assert (reading.rows, reading.rejected) == (1, 1)
    with pytest.raises(cr.InputError, match="day is missing or is not"):
        cr.evaluate(log_of(IMPOSSIBLE[name]), "logging", engine=engine)


def test_every_date_and_zone() -> None:
    """Against the standard library."""
    moments = [
        datetime(1999, 2, 25, 23, 30, tzinfo=timezone(timedelta(minutes=m))) + timedelta(days=97 * i)
        for i in range(60)
        for m in (-720, -90, 0, 45, 330, 840)
    ]
    found = day_numbers(pa.array([m.isoformat() for m in moments]), "day")
    assert not found.bad.any()
    expected = [int(m.timestamp() // 86_400) for m in moments]
    assert found.day.tolist() == expected
