"""Every engine counts what plain loops count."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest
from plain_counts import as_plain, plain

import counterrank as cr
import worlds
from counterrank.engine import Plan, WantedRankings
from counterrank.setting.options import position_weights
from seeds import seeds


def a_plan(world: worlds.World, rng: random.Random, **more) -> Plan:
    metric = world.options["metric"]
    some = sorted({row["query"] for row in world.rows})
    asked = rng.sample(some, rng.randint(1, len(some))) if rng.random() < 0.5 else None
    return Plan(
        metric=metric,
        weights=position_weights("dcg" if rng.random() < 0.5 else "clicks"),
        queries=pa.array([*asked, "never logged"]) if asked else None,
        top=rng.choice([None, 1, 2, 3]) if metric == "clicks" else None,
        rankings="all",
        by_propensity="propensity" in world.rows[0] and rng.random() < 0.5,
        **more,
    )


def assert_equal(got: dict, wanted: dict) -> None:
    for name, values in got.items():
        assert set(values) == set(wanted[name]), name
        assert values == pytest.approx(dict(wanted[name]), rel=1e-9, abs=1e-9), name


@pytest.mark.parametrize("seed", seeds(range(24), 12))
def test_counts_are_those_of_plain_loops(engine, few, seed):
    if few and seed != 1:
        pytest.skip("a few seeds do for an engine that is slow to start a job")
    world, rng = worlds.make_world(seed, "hostile" if seed % 3 == 0 else None), random.Random(seed)
    plan = a_plan(world, rng, all_items=seed % 2 == 0)
    rows = worlds.to_long(world.rows, rng) if seed % 4 == 1 else world.rows
    counts = engine.count(cr.read_log(worlds.to_arrow(rows, world.integer_ids)), plan).counts
    asked = set(plan.queries.to_pylist()) if plan.queries is not None else None
    assert_equal(as_plain(counts), plain(world.rows, plan.metric, plan.weights, asked, plan.top))
    assert counts.log_impressions == sum(row.get("impressions", 1) for row in world.rows)
    covered = [row for row in world.rows if asked is None or row["query"] in asked]
    assert counts.longest == max(len(row["items"]) for row in covered)
    if plan.all_items:
        assert len(counts.pairs) == len({(row["query"], item) for row in covered for item in row["items"]})
    assert counts.pairs.item_ids.integer is counts.pairs.query_ids.integer is world.integer_ids


@pytest.mark.parametrize("seed", seeds(range(100, 112), 6))
def test_only_wanted_rankings_and_their_beginnings_are_counted(engine, few, seed):
    if few:
        pytest.skip("an engine that is slow to start a job")
    rng = random.Random(seed)
    rows = worlds.make_rows(rng, queries=3, style="hostile")
    wanted = worlds.table_target(rng, rows, "hostile", all_queries=True)
    rankings = WantedRankings(
        pa.array([row["query"] for row in wanted]), pa.array([row["items"] for row in wanted], pa.list_(pa.string()))
    )
    top = rng.choice([None, 2])
    asked = rankings.queries.unique()
    plan = Plan(metric="clicks", weights=position_weights("clicks"), queries=asked, top=top, rankings=rankings)
    got = as_plain(engine.count(cr.read_log(worlds.to_arrow(rows)), plan).counts)
    everything = plain(rows, "clicks", plan.weights, None, top)
    begins = {(row["query"], tuple(row["items"][:k])) for row in wanted for k in range(1, len(row["items"]) + 1)}
    assert got["rankings"] == {key: n for key, n in everything["rankings"].items() if key in begins}


@pytest.mark.parametrize("seed", seeds(range(300, 312), 6))
def test_pages_hold_every_ranking_beside_the_wanted_ones(engine, few, seed):
    if few and seed > 300:
        pytest.skip("one seed does for an engine that is slow to start a job")
    world, rng = worlds.make_world(seed, "hostile" if seed % 3 == 0 else None), random.Random(seed)
    wanted = WantedRankings(pa.array([world.rows[0]["query"]]), pa.array([world.rows[0]["items"]]))
    plan = replace(a_plan(world, rng), rankings=wanted, pages=rng.choice(["fit", "all"]))
    counts = engine.count(cr.read_log(worlds.to_arrow(world.rows)), plan).counts
    asked = set(plan.queries.to_pylist()) if plan.queries is not None else None
    got = as_plain(replace(counts, rankings=counts.pages))
    assert_equal(got, plain(world.rows, plan.metric, plan.weights, asked, plan.top))
    for q, n in enumerate(counts.impressions):
        chunks = list(counts.pages.chunks(q, q + 1))
        assert sum(chunk.impressions.sum() for chunk in chunks) == n
        assert all((chunk.queries == q).all() for chunk in chunks)


@pytest.mark.parametrize("seed", seeds(range(200, 206), 3))
def test_counts_of_parts_add_up_to_those_of_the_whole(engine, few, seed):
    if few and seed > 200:
        pytest.skip("one seed does for an engine that is slow to start a job")
    rng = random.Random(seed)
    rows = worlds.make_rows(rng, queries=4, style="hostile", impressions=True, rows_per_query=(4, 10))
    plan = Plan(metric="clicks", weights=position_weights("dcg"), rankings="all")
    half = len(rows) // 2
    one, other = (engine.count(cr.read_log(worlds.to_arrow(part)), plan).counts for part in (rows[:half], rows[half:]))
    assert_equal(as_plain(one + other), plain(rows, "clicks", plan.weights, None, None))


def test_the_whole_log_is_counted_beside_the_asked_queries(engine):
    rows = worlds.make_rows(random.Random(5), queries=4)
    plan = Plan(
        metric="clicks", weights=position_weights("clicks"), queries=pa.array([rows[0]["query"]]), whole_log=True
    )
    counts = engine.count(cr.read_log(worlds.to_arrow(rows)), plan).counts
    shown, clicked = (counts.whole.cells.dense(each) for each in (counts.whole.shown, counts.whole.clicked))
    everything = plain(rows, "clicks", plan.weights, None, None)
    by_position = [sum(n for key, n in everything["shown"].items() if key[2] == k) for k in range(shown.shape[1])]
    assert shown.sum(axis=0).tolist() == by_position
    assert clicked.sum() == sum(everything["clicked"].values())
    assert counts.total == everything["impressions"][rows[0]["query"]]


@pytest.mark.parametrize("days", ["integer", "date", "timestamp", "text"])
def test_patterns_of_each_day_stand_apart(engine, few, days):
    if few and days != "text":
        pytest.skip("two kinds do for an engine that is slow to start a job")
    rows = worlds.make_rows(random.Random(8), queries=2, style="hostile", day=True, impressions=True)
    rows += [dict(rows[0], day=rows[0]["day"] + 1), rows[0]]
    table = worlds.to_arrow(rows)
    day = table["day"].cast(pa.int32())
    kinds = {"integer": lambda: day, "date": lambda: day.cast(pa.date32())}
    kinds["timestamp"] = lambda: day.cast(pa.date32()).cast(pa.timestamp("us"))
    kinds["text"] = lambda: day.cast(pa.date32()).cast(pa.string())
    log = cr.read_log(table.set_column(table.column_names.index("day"), "day", kinds[days]()))
    plan = Plan(metric="clicks", weights=position_weights("clicks"), patterns=True, by_day=True)
    counts = engine.count(log, plan).counts
    found = counts.patterns
    queries, items = counts.pairs.query_ids.texts.to_pylist(), counts.pairs.item_ids.texts.to_pylist()
    got = {
        (queries[q], day, *((items[counts.pairs.items[v >> 1]], v & 1) for v in coded if v >= 0)): n
        for q, day, coded, n in zip(
            found.queries, found.day.tolist(), found.coded.tolist(), found.impressions, strict=True
        )
    }
    wanted = Counter()
    for row in rows:
        wanted[row["query"], row["day"], *zip(row["items"], row["clicks"], strict=True)] += row["impressions"]
    assert got == wanted
    assert len(got) == len(found)
