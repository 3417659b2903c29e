"""A log that stays counted answers as one that is counted anew, and is counted anew where it must be."""

from __future__ import annotations

import gc
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterrank as cr
from counterrank.engine import Embedded, Plan
from counterrank.setting import counted
from counterrank.setting.counting import count_log
from counterrank.statistics.store import read_counts

ITEMS = [f"i{n}" for n in range(7)]
QUERIES = ["q1", "q2", "q3"]


def rows(seed: int, kind: str) -> pa.Table:
    rng = np.random.default_rng(seed)
    size = 260
    queries = [QUERIES[n] for n in rng.integers(0, 3, size)]
    lengths = rng.integers(1, 4, size) if kind == "ragged" else np.full(size, 3)
    items = [[ITEMS[i] for i in rng.permutation(5)[:n]] for n in lengths]
    columns: dict[str, Any] = {"query": queries, "items": items}
    if kind == "reward":
        columns["reward"] = rng.normal(3, 1, size)
    else:
        columns["clicks"] = [rng.integers(0, 2, len(page)).tolist() for page in items]
    if kind == "days":
        columns["day"] = rng.integers(1, 6, size)
    if kind == "clusters":
        columns["cluster"] = rng.integers(0, 40, size)
    if kind == "counted":
        columns["impressions"] = rng.integers(1, 5, size)
    if kind == "propensity":
        columns["propensity"] = np.full(size, 1 / 60)
    if kind == "item propensities":
        columns["item_propensities"] = [[0.2] * 3] * size
    return pa.table(columns)


def targets() -> list[Any]:
    """Of logged items alone, of others too, of some queries, of several rankings, and of all."""
    one = {query: ["i2", "i0", "i1"] for query in QUERIES}
    other = {"q1": ["i0", "i6", "i5"], "q2": ["i4", "i3", "i2"], "q3": ["i1", "i0", "i3"]}
    several = cr.policy.Table(["q1", "q1", "q2", "q3"], [["i0", "i1"], ["i1", "i0", "i2"], ["i3"], ["i4", "i6"]],
                              [0.25, 0.75, 1.0, 1.0])  # fmt: skip
    scores = {query: {item: float(n) for n, item in enumerate(ITEMS[:6])} for query in QUERIES}
    soft = cr.policy.PlackettLuce(scores, 1.0)
    return [one, other, {"q2": ["i0", "i1", "i2"]}, several, soft, "logging", one, other, cr.policy.Uniform()]


def same(a: Any, b: Any, where: str = "") -> None:
    """Equal, numbers to 1e-12 of them."""
    if isinstance(a, dict):
        assert a.keys() == b.keys(), where
        for key in a:
            same(a[key], b[key], f"{where}/{key}")
    elif isinstance(a, list):
        assert len(a) == len(b), where
        for number, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{where}/{number}")
    elif isinstance(a, float) and isinstance(b, float):
        assert a == pytest.approx(b, rel=1e-11, abs=1e-11), where
    else:
        assert a == b, where


KINDS = ["plain", "ragged", "days", "clusters", "counted", "propensity", "item propensities", "reward"]


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_a_log_that_is_counted_anew(kind: str) -> None:
    table = rows(1, kind)
    log = cr.read_log(table)
    for target in targets():
        again, anew = cr.evaluate(log, target), cr.evaluate(cr.read_log(table), target)
        same(json.loads(again.to_json()), json.loads(anew.to_json()))
        same(again.per_query.to_pydict(), anew.per_query.to_pydict())


@pytest.mark.parametrize(
    "options", [{"top": 2, "weights": "dcg"}, {"clip": 1.5}, {"examination": [1, 0.6, 0.3]}], ids=str
)
def test_options_are_no_others(options: dict[str, Any]) -> None:
    table = rows(2, "plain")
    log = cr.read_log(table)
    for target in targets()[:5]:
        cr.evaluate(log, target)
        again, anew = cr.evaluate(log, target, **options), cr.evaluate(cr.read_log(table), target, **options)
        same(json.loads(again.to_json()), json.loads(anew.to_json()))


def test_comparisons_and_other_commands_between() -> None:
    table = rows(3, "days")
    log = cr.read_log(table)
    some = targets()
    for target, baseline in ((some[0], "logging"), (some[1], some[0]), (some[0], some[3]), (some[0], "logging")):
        again, anew = (
            cr.compare(log, target, baseline=baseline),
            cr.compare(cr.read_log(table), target, baseline=baseline),
        )
        same(json.loads(again.to_json()), json.loads(anew.to_json()))
        cr.evaluate(log, target)
        same(cr.clicks(log, models="pbm,cm").to_dict(), cr.clicks(cr.read_log(table), models="pbm,cm").to_dict())
        same(cr.optimize(log, k=2).to_dict(), cr.optimize(cr.read_log(table), k=2).to_dict())
        same(cr.check(log).to_dict(), cr.check(cr.read_log(table)).to_dict())
        same(cr.backtest(log, replicates=5).to_dict(), cr.backtest(cr.read_log(table), replicates=5).to_dict())


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of the log of each pass over rows."""
    found: list[str] = []
    count = Embedded.count

    def counting(self: Embedded, log: Any, plan: Any) -> Any:
        found.append(log.name)
        return count(self, log, plan)

    monkeypatch.setattr(Embedded, "count", counting)
    return found


def test_rows_are_read_once(passes: list[str]) -> None:
    log = cr.read_log(rows(4, "plain"))
    one, other, fewer, several, soft, *_ = targets()
    for target in (one, other, several, one):
        cr.evaluate(log, target)
    assert len(passes) == 1
    cr.evaluate(log, dict(reversed(one.items())))  # the same queries in another order
    assert len(passes) == 1
    cr.evaluate(log, fewer)  # has not all queries
    assert len(passes) == 2
    cr.evaluate(log, soft)  # of which all rankings are looked at
    assert len(passes) == 3
    cr.evaluate(log, soft, engine=Embedded(cache_bytes=0))  # which keeps no rows
    assert len(passes) == 4


def settled(path: Path, table: pa.Table, before: float = 60.0) -> None:
    """Write a file as if it had been written some time ago."""
    pq.write_table(table, path)
    os.utime(path, (time.time() - before,) * 2)


def test_a_file_is_opened_once_until_it_changes(tmp_path: Path, passes: list[str]) -> None:
    path = tmp_path / "log.parquet"
    settled(path, rows(5, "plain"))
    target = targets()[0]
    first = cr.evaluate(path, target)
    assert cr.evaluate(path, target).value("ip") == first.value("ip")
    assert len(passes) == 1
    assert cr.read_log(path) is cr.read_log(path)
    assert cr.read_log(path) is not cr.read_log(path, cluster="query")
    settled(path, rows(6, "plain"), before=50.0)
    changed = cr.evaluate(path, target)
    assert len(passes) == 2
    assert changed.value("ip") == cr.evaluate(pq.read_table(path), target).value("ip") != first.value("ip")


def test_an_open_log_sees_that_its_file_changed(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    settled(path, rows(5, "plain"))
    log, target = cr.read_log(path), targets()[0]
    cr.evaluate(log, target)
    settled(path, rows(6, "plain"), before=50.0)
    assert cr.evaluate(log, target).value("ip") == cr.evaluate(pq.read_table(path), target).value("ip")


def test_a_file_that_changes_while_it_is_read_is_read_again(
    tmp_path: Path, passes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, target = tmp_path / "log.parquet", targets()[0]
    settled(path, rows(5, "plain"))
    log, count = cr.read_log(path), Embedded.count

    def changing(self: Embedded, log: Any, plan: Any) -> Any:
        found = count(self, log, plan)
        settled(path, rows(6, "plain"), before=50.0)
        return found

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(Embedded, "count", changing)
        cr.evaluate(log, target)
    cr.evaluate(log, target)
    assert len(passes) == 2


def test_a_file_that_was_written_just_now_is_read_again(tmp_path: Path, passes: list[str]) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(rows(5, "plain"), path)
    log, target = cr.read_log(path), targets()[0]
    cr.evaluate(log, target)
    cr.evaluate(log, target)
    assert len(passes) == 2


def test_bad_rows_are_written_each_time(tmp_path: Path) -> None:
    path, bad = tmp_path / "log.jsonl", tmp_path / "bad.jsonl"
    pages = [(["a", "b"], [1, 0]), (["a", "a"], [0, 0])]
    path.write_text("".join(json.dumps({"query": "q1", "items": i, "clicks": c}) + "\n" for i, c in pages))
    os.utime(path, (time.time() - 60,) * 2)
    log = cr.read_log(path, bad_rows=bad)
    for _ in range(2):
        assert cr.evaluate(log, {"q1": ["a", "b"]}).reading.rejected == 1
        assert len(bad.read_text().splitlines()) == 1
        bad.unlink()


def test_what_was_counted_goes_with_its_log() -> None:
    before = len(counted._COUNTED)
    log = cr.read_log(rows(7, "plain"))
    cr.evaluate(log, targets()[0])
    assert len(counted._COUNTED) == before + 1
    del log
    gc.collect()
    assert len(counted._COUNTED) == before


def test_long_logs_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterrank.engine.embedded.SHOWN", 100)
    log = cr.read_log(rows(8, "plain"))
    cr.evaluate(log, targets()[0])
    assert log not in counted._COUNTED


def test_counts_that_stay_can_be_saved(tmp_path: Path) -> None:
    """What was made of them is left out."""
    log, plan = cr.read_log(rows(9, "plain")), Plan(metric="clicks", weights=np.ones)
    for _ in range(2):
        counts = count_log(log, plan, "duckdb", "there are").counts
        assert counts.memo is not None
        counts.save(tmp_path / "counts.npz")
        found = read_counts(tmp_path / "counts.npz")
        assert found.memo is None
        assert found.total == counts.total


def test_an_item_that_was_never_shown_may_change_how_pi_is_solved() -> None:
    """Of a query whose cells are all shown, and more than its impressions, a smaller matrix does only then."""
    pages = [[ITEMS[(shift + step * k) % 5] for k in range(3)] for shift in range(5) for step in (1, 2)]
    clicks = [[int((n + k) % 3 == 0) for k in range(3)] for n in range(len(pages))]
    queries = ["q"] * len(pages) + ["r"] * 2  # one that a smaller matrix does for anyway
    table = pa.table({"query": queries, "items": pages + pages[:2], "clicks": clicks + clicks[:2]})
    log = cr.read_log(table)
    for target in (pages[0], ["i0", "i6", "i1"], pages[3], ["i6", "i2", "i3"]):
        judged = {"q": target, "r": pages[1]}
        again, anew = (cr.evaluate(each, judged) for each in (log, cr.read_log(table)))
        same(json.loads(again.to_json()), json.loads(anew.to_json()))
