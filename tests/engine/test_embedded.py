"""The embedded engine gives one answer, however little memory it is allowed."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterrank as cr
from counterrank.engine import Embedded, Plan, pages
from counterrank.estimate import ESTIMATORS
from counterrank.log import parts, read_log
from counterrank.policy import PlackettLuce, Uniform
from counterrank.setting.need import Need
from counterrank.simulate.log import simulate
from counterrank.simulate.world import make_world
from counterrank.statistics.rankings import Rankings

FIELDS = ("value", "stderr", "effective_sample_size", "clipped", "unsupported")


@pytest.fixture(scope="module")
def world():
    return make_world(queries=7, items=6, k=4, users="pbm", seed=5)


@pytest.fixture(scope="module")
def log(world):
    return simulate(world, 3000, np.random.default_rng(1)).drop_columns(["propensity"])


def assert_equal(a, b):
    for x, y in zip(a.rows, b.rows, strict=True):
        for name in FIELDS:
            assert getattr(x, name) == pytest.approx(getattr(y, name), rel=1e-12), (x.estimator, name)


@pytest.mark.parametrize("target", ["better", "plackett_luce", "uniform", "logging"])
def test_reading_twice_spilling_and_small_batches_change_nothing(world, log, target, monkeypatch, tmp_path):
    policy = {
        "better": world.better(),
        "plackett_luce": PlackettLuce(world.better(), 0.5),
        "uniform": Uniform(),
        "logging": "logging",
    }[target]
    path = tmp_path / "log.parquet"
    pq.write_table(log, path)
    every = tuple(name for name, estimator in ESTIMATORS.items() if Need.FEATURES not in estimator.needs)
    clicks = tuple(name for name in every if Need.PAGES not in ESTIMATORS[name].needs)
    plain = {names: cr.evaluate(path, policy, estimators=names) for names in (clicks, every)}
    monkeypatch.setattr(parts, "BATCH_ROWS", 101)
    frugal = Embedded(cache_bytes=0, group_room=64)
    for names, expected in plain.items():  # the log is read again; its rows are on disk
        assert_equal(cr.evaluate(path, policy, estimators=names, engine=frugal), expected)


@pytest.mark.parametrize("rewards", [False, True])
def test_rows_that_do_not_fit_leave_pi_out_of_clicks_unless_it_is_named(world, log, rewards):
    if rewards:
        log = log.append_column("reward", pa.array(np.linspace(0, 1, len(log))))
    got = cr.evaluate(log, world.better(), engine=Embedded(cache_bytes=1000))
    assert {row.estimator for row in got.rows} >= ({"pi", "wpi"} if rewards else {"ip"})
    assert any("pi, wpi left out: the log is too long" in note for note in got.notes) is not rewards
    assert cr.evaluate(log, world.better(), engine=Embedded(cache_bytes=1000), estimators="pi").value("pi") is not None


@pytest.mark.parametrize("room", [0, 8_000, 1 << 29])  # of kept rows: none, a few batches, all
def test_groups_of_rankings_are_the_same_wherever_they_come_from(world, log, room, monkeypatch, tmp_path):
    """Counted as rows come and set down on disk, counted from some batch on, or gathered from all rows by query."""
    path = tmp_path / "log.parquet"
    pq.write_table(log, path)
    plan = Plan(metric="clicks", weights=np.ones, rankings="all")
    whole = Embedded().count(read_log(path), plan).counts
    monkeypatch.setattr(parts, "BATCH_ROWS", 101)
    monkeypatch.setattr(pages, "FEW_ROWS", 500)
    counted = Embedded(cache_bytes=room, group_room=64).count(read_log(path), plan)
    assert (counted.tallier.spill is not None) is (room < 1 << 29)
    chunks = list(counted.counts.rankings.chunks())
    assert len(chunks) > 1
    assert as_dict(replace(counted.counts, rankings=Rankings.joined(chunks))) == as_dict(whole)
    assert whole.rankings.impressions.sum() == 3000
    assert sum(map(len, chunks)) == len(whole.rankings)
    some = [chunk for block in ((0, 2), (2, 7), (7, 7)) for chunk in counted.counts.rankings.chunks(*block)]
    assert as_dict(replace(counted.counts, rankings=Rankings.joined(some))) == as_dict(whole)


def test_groups_are_counted_after_all_where_queries_are_far_more_than_rows_of_a_batch(monkeypatch):
    """By then some rows are in memory, some on disk: these are read only."""
    rng = np.random.default_rng(4)
    items = [[str(x) for x in rng.permutation(3)] for _ in range(400)]
    log = pa.table({"query": [f"q{i // 4}" for i in range(400)], "items": items, "clicks": [[1, 0, 0]] * 400})
    plan = Plan(metric="clicks", weights=np.ones, rankings="all", pages="all")
    whole = Embedded().count(read_log(log), plan).counts
    monkeypatch.setattr(parts, "BATCH_ROWS", 10)
    counted = Embedded(cache_bytes=1000).count(read_log(log), plan)
    assert counted.kept.spilled
    assert not counted.tallier.later
    assert as_dict(
        replace(counted.counts, rankings=Rankings.joined(list(counted.counts.rankings.chunks())))
    ) == as_dict(whole)


def test_lists_that_grow_longer_while_reading(monkeypatch):
    """The first batches hold short lists, later ones long: tables widen, spilled rankings keep their place."""
    rng = np.random.default_rng(3)
    items, clicks = [], []
    for length in np.repeat([1, 2, 5, 3, 7], 200):
        items.append([str(x) for x in rng.permutation(8)[:length]])
        clicks.append(rng.integers(0, 2, length).tolist())
    log = pa.table({"query": ["q"] * len(items), "items": items, "clicks": clicks})
    plain = cr.evaluate(log, Uniform())
    monkeypatch.setattr(parts, "BATCH_ROWS", 50)
    assert_equal(cr.evaluate(log, Uniform(), engine=Embedded(cache_bytes=0, group_room=32)), plain)


@pytest.mark.parametrize("split", [1, 1234, 2999])
def test_statistics_of_parts_add_up_to_those_of_the_whole(log, split):
    plan = Plan(metric="clicks", weights=np.ones, rankings="all", patterns=True)

    def count(table):
        return Embedded().count(read_log(table), plan).counts

    whole, added = count(log), count(log.slice(0, split)) + count(log.slice(split))
    assert as_dict(added) == as_dict(whole)


def as_dict(counts):
    queries = counts.pairs.query_ids.texts.to_pylist()
    items = counts.pairs.item_ids.texts.to_pylist()
    names = [(queries[q], items[i]) for q, i in zip(counts.pairs.queries, counts.pairs.items, strict=True)]
    shown = {name: row.tolist() for name, row in zip(names, counts.cells.dense(counts.shown), strict=True)}
    clicked = {name: row.tolist() for name, row in zip(names, counts.cells.dense(counts.clicked), strict=True)}
    totals = dict(zip(queries, counts.impressions.tolist(), strict=True))
    rankings = {
        (queries[q], tuple(names[p][1] for p in rows if p >= 0)): (n, f)
        for q, rows, n, f in zip(
            counts.rankings.queries,
            counts.rankings.rows,
            counts.rankings.impressions,
            counts.rankings.reward,
            strict=True,
        )
    }
    patterns = counts.patterns and {
        (queries[q], *((names[v >> 1][1], v & 1) for v in coded if v >= 0)): n
        for q, coded, n in zip(counts.patterns.queries, counts.patterns.coded, counts.patterns.impressions, strict=True)
    }
    return shown, clicked, totals, rankings, patterns, counts.log_impressions


def test_rows_go_with_the_last_who_needs_them(log):
    """Not when Python looks for circles of objects some time later: they may be most of a process's memory."""
    gc.disable()
    try:
        run = Embedded().count(read_log(log), Plan(metric="clicks", weights=np.ones, patterns=True))
        gone = weakref.ref(run)
        del run
        assert gone() is None
    finally:
        gc.enable()
