"""Every engine adds up the log's days as plain loops do, in the pass that counts it; parts add up to the whole."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import timedelta
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import counterrank as cr
import worlds
from counterrank.engine import Plan
from counterrank.setting.options import position_weights
from counterrank.statistics.counts import Counts

KINDS = {
    "integer": lambda day: day,
    "date": lambda day: day.cast(pa.date32()),
    "timestamp": lambda day: day.cast(pa.date32()).cast(pa.timestamp("us")),
    "text": lambda day: day.cast(pa.date32()).cast(pa.string()),
}


def found(counts: Counts) -> dict[int, list[float]]:
    days = counts.rebased(0.0).days
    assert (np.diff(days.days) > 0).all()
    columns = (days.days, days.impressions, days.reward, days.reward2)
    return {int(day): [float(x) for x in rest] for day, *rest in zip(*columns, strict=True)}


def by_hand(rows: list[dict], metric: str, asked: set | None) -> dict[int, list[float]]:
    out: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for row in rows:
        if asked is None or row["query"] in asked:
            n = row.get("impressions", 1)
            value = (
                row["reward"] if metric == "reward" else sum(c / np.log2(k + 2) for k, c in enumerate(row["clicks"]))
            )
            for i, x in enumerate((n, n * value, n * value**2)):
                out[row["day"]][i] += x
    return dict(out)


def same(got: dict, wanted: dict) -> None:
    assert set(got) == set(wanted)
    for day, sums in wanted.items():
        assert got[day] == pytest.approx(sums, rel=1e-9, abs=1e-9)


def table_of(rows: list[dict], kind: str = "integer") -> pa.Table:
    table = worlds.to_arrow(rows)
    day = KINDS[kind](table["day"].cast(pa.int32()))
    return table.set_column(table.column_names.index("day"), "day", day)


CASES = list(product(KINDS, ["clicks", "reward"], ["list", "long"]))


@pytest.mark.parametrize("number", range(len(CASES)), ids=["-".join(each) for each in CASES])
def test_days_are_those_of_plain_loops(engine, few, number):
    kind, metric, form = CASES[number]
    if few and (kind, metric, form) != ("text", "reward", "long"):
        pytest.skip("a few cases do for an engine that is slow to start a job")
    rng = random.Random(7)
    rows = worlds.make_rows(rng, queries=4, style="hostile", day=True, reward=True, impressions=form == "list")
    asked = {rows[0]["query"], rows[-1]["query"]}
    log = cr.read_log(table_of(worlds.to_long(rows, rng) if form == "long" else rows, kind))
    plan = Plan(metric=metric, weights=position_weights("dcg"), queries=pa.array(sorted(asked)), days=True)
    counts = engine.count(log, plan).counts
    same(found(counts), by_hand(rows, metric, asked))
    assert counts.days.impressions.sum() == counts.total


def test_days_of_parts_add_up_to_those_of_the_whole(engine, few):
    if few:
        pytest.skip("an engine that is slow to start a job")
    rows = worlds.make_rows(random.Random(3), queries=3, day=True, reward=True, rows_per_query=(6, 12))
    plan = Plan(metric="reward", weights=position_weights("clicks"), days=True)
    half = len(rows) // 2
    one, other = (engine.count(cr.read_log(table_of(part)), plan).counts for part in (rows[:half], rows[half:]))
    same(found(one + other), by_hand(rows, "reward", None))


def test_what_is_no_day_is_a_bad_row_unless_the_column_is_left_unread(engine, few, tmp_path):
    if few:
        pytest.skip("an engine that is slow to start a job")
    log = {"query": ["q"] * 4, "items": [["a"]] * 4, "clicks": [[1], [0], [1], [1]]}
    plan = Plan(metric="clicks", weights=position_weights("clicks"), days=True)
    for days, wanted in (
        ([1, None, 2, 2], {1: [1, 1, 1], 2: [2, 2, 2]}),
        (["2024-01-02", "soon", "2024-01-02", ""], {19724: [2, 2, 2]}),
    ):
        table = pa.table(log | {"day": days})
        with pytest.raises(cr.InputError, match="`ignore=day`"):
            engine.count(cr.read_log(table), plan)
        found_in = engine.count(cr.read_log(table, bad_rows=tmp_path / "bad.jsonl"), plan)
        same(found(found_in.counts), wanted)
        assert (found_in.reading.rows, found_in.reading.rejected) == (found_in.counts.total, days.count(None) + sum(
            day in ("soon", "") for day in days))  # fmt: skip
        unread = engine.count(cr.read_log(table, ignore="day"), plan).counts
        assert (unread.total, unread.days) == (4, None)


@pytest.mark.parametrize(("days", "good"), [([3, 4], False), ([3, 3], True)])
def test_an_impression_has_one_day(engine, few, days, good):
    if few and good:
        pytest.skip("one case does for an engine that is slow to start a job")
    log = {"impression": [1, 1], "query": ["q", "q"], "position": [1, 2], "item": ["a", "b"], "click": [1, 0]}
    plan = Plan(metric="clicks", weights=position_weights("clicks"), days=True)
    for kind in ("integer", "timestamp"):
        column = KINDS[kind](pa.array(days, pa.int32()))
        if kind == "timestamp":  # another time of the same day is no other day
            column = pa.array([column[0].as_py(), column[1].as_py() + timedelta(hours=7)], column.type)
        table = cr.read_log(pa.table(log | {"day": column}))
        if good:
            assert found(engine.count(table, plan).counts) == {3: [1, 1, 1]}
            continue
        with pytest.raises(cr.InputError, match="differ in"):
            engine.count(table, plan)


def test_numbers_that_are_no_days_are_not_added_up(engine, few):
    if few:
        pytest.skip("an engine that is slow to start a job")
    n = 10_001
    log = pa.table({"query": ["q"] * n, "items": [["a"]] * n, "clicks": [[0]] * n, "day": list(range(n))})
    counts = engine.count(cr.read_log(log), Plan(metric="clicks", weights=position_weights("clicks"), days=True)).counts
    assert counts.days is None
