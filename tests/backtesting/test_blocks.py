"""Queries are looked at a few at a time: what comes out is the same, however many."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import counterrank as cr
from counterrank.backtesting import days as days_module
from counterrank.backtesting import errors
from counterrank.backtesting.days import Days
from counterrank.engine import open_engine
from counterrank.statistics.counts import Counts


def ragged(seed: int, queries: int = 40) -> pa.Table:
    """Lists of 1 to 4 of 5 items, on some days longer than on all others; some queries have one day only."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(queries * 12):
        query = int(rng.integers(queries))
        items = rng.permutation(5)[: rng.integers(1, 2 + int(rng.integers(1, 4)))]
        day = 0 if query % 7 == 0 else int(rng.integers(4)) * 10
        clicks = (rng.random(len(items)) < 0.4).astype(int).tolist()
        rows.append({"query": f"q{query}", "items": items.tolist(), "clicks": clicks, "day": day, "impressions": 2})
    return pa.Table.from_pylist(rows)


def counted(log: pa.Table) -> Counts:
    return open_engine("duckdb").count(cr.read_log(log), Days.plan()).counts


@pytest.mark.parametrize("queries", [None, 13, slice(5, 30), ["q3", "q11", "q39"]])
def test_blocks_of_any_size_give_the_same(
    queries: int | slice | list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = ragged(1)
    whole = cr.backtest(log, queries=queries, calibrated=("ip", 5.0), replicates=20)
    monkeypatch.setattr(errors, "PATTERNS", 25)
    parts = cr.backtest(log, queries=queries, calibrated=("ip", 5.0), replicates=20)
    assert [r.rmse for r in parts.rows] == pytest.approx([r.rmse for r in whole.rows], abs=1e-12)
    assert [(r.lower, r.undefined) for r in parts.rows] == [
        (pytest.approx(r.lower, abs=1e-12), r.undefined) for r in whole.rows
    ]
    assert parts.noise_floor == pytest.approx(whole.noise_floor, abs=1e-12)
    assert (parts.query_days, parts.skipped, parts.queries) == (whole.query_days, whole.skipped, whole.queries)
    assert parts.calibration is not None
    assert whole.calibration is not None
    assert sum(parts.calibration.predicted) == pytest.approx(sum(whole.calibration.predicted), rel=0.05)


def test_entries_are_those_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    log = ragged(2)
    want: dict[tuple[str, int, int], int] = {}
    for row in log.to_pylist():
        for k in range(len(row["items"])):
            key = row["query"], row["day"], k
            want[key] = want.get(key, 0) + row["impressions"]
    for room in (days_module.ROOM, 0):  # keys are numbered by a table, and by sorting
        monkeypatch.setattr(days_module, "ROOM", room)
        days = Days.of(counted(log), np.array([0, 1, 2, 5, 9, 20]))
        names = days.names.to_pylist()
        shown = days.by_position(days.shown)
        for cell, query in enumerate(days.query):
            for k in range(days.positions):
                assert shown[cell, k] == want.get((names[query], int(days.day[cell]), k), 0)
        assert (np.diff(days.cell) >= 0).all()
        assert days.impressions.tolist() == shown[:, 0].tolist()


def test_distinct_lists() -> None:
    log = ragged(3)
    lists: dict[str, set[tuple[int, ...]]] = {}
    for row in log.to_pylist():
        lists.setdefault(row["query"], set()).add(tuple(row["items"]))
    days = Days.of(counted(log))
    found = dict(zip(days.names.to_pylist(), days.distinct_lists.tolist(), strict=True))
    assert found == {query: len(each) for query, each in lists.items()}
