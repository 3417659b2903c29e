"""Looks and patterns: every engine counts what plain loops count, and parts add up to the whole."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import counterrank as cr
import worlds
from counterrank.engine import Embedded, Plan
from counterrank.setting.options import position_weights
from counterrank.statistics.counts import Counts
from seeds import seeds


def plain(rows: list[dict], queries: set[str] | None, top: int | None) -> dict[str, Counter]:
    """By the rules of the models: cm reads down to the first click, dcm to the last; with none, everything is read."""
    out = {name: Counter() for name in ("to_first", "first", "to_last", "last", "last_at", "patterns")}
    for row in rows:
        query, items, n = row["query"], tuple(row["items"][:top]), row.get("impressions", 1)
        if queries is not None and query not in queries:
            continue
        clicks = tuple(int(c) for c in row["clicks"][:top])
        places = [k for k, click in enumerate(clicks) if click]
        out["patterns"][query, items, clicks] += n
        for k, item in enumerate(items):
            out["to_first"][query, item] += n * (not places or k <= places[0])
            out["to_last"][query, item] += n * (not places or k <= places[-1])
        if places:
            out["first"][query, items[places[0]]] += n
            out["last"][query, items[places[-1]]] += n
            out["last_at"][query, places[-1]] += n
    return {name: +counter for name, counter in out.items()}


def as_plain(counts: Counts) -> dict[str, Counter]:
    pairs, looks, patterns = counts.pairs, counts.looks, counts.patterns
    queries, items = pairs.query_ids.texts.to_pylist(), pairs.item_ids.texts.to_pylist()
    names = [(queries[q], items[i]) for q, i in zip(pairs.queries, pairs.items, strict=True)]
    out = {
        name: +Counter(dict(zip(names, getattr(looks, name).tolist(), strict=True)))
        for name in ("to_first", "first", "to_last", "last")
    }
    q, k = np.nonzero(looks.last_at)
    out["last_at"] = Counter({(queries[i], int(j)): int(looks.last_at[i, j]) for i, j in zip(q, k, strict=True)})
    out["patterns"] = Counter()
    shown = patterns.rankings
    for g in range(len(patterns)):
        length = int((shown[g] >= 0).sum())
        ranking = tuple(names[p][1] for p in shown[g, :length])
        key = queries[patterns.queries[g]], ranking, tuple(patterns.clicks[g, :length].tolist())
        assert key not in out["patterns"], "a pattern came twice"
        out["patterns"][key] = int(patterns.impressions[g])
    return out


def a_plan(**more) -> Plan:
    return Plan(metric="clicks", weights=position_weights("clicks"), looks=True, patterns=True, **more)


@pytest.mark.parametrize("seed", seeds(range(16), 8))
def test_looks_and_patterns_are_those_of_plain_loops(engine, few, seed):
    if few and seed >= 1:
        pytest.skip("a few seeds do for an engine that is slow to start a job")
    rng = random.Random(seed)
    rows = worlds.make_rows(rng, queries=4, style="hostile" if seed % 2 else "plain", impressions=seed % 3 == 0)
    rows = [*rows, *rows[: len(rows) // 2]]
    asked = {rows[0]["query"], rows[-1]["query"]} if seed % 4 == 1 else None
    top = rng.choice([None, 1, 2, 3])
    plan = a_plan(top=top, queries=pa.array([*sorted(asked), "never logged"]) if asked else None, whole_log=seed == 5)
    counts = engine.count(cr.read_log(worlds.to_arrow(rows)), plan).counts
    wanted = plain(rows, asked, top)
    assert as_plain(counts) == wanted
    impressions, tally, looks = counts.patterns.counts(len(counts.pairs), len(counts.pairs.query_ids))
    assert (impressions == counts.impressions).all()
    np.testing.assert_array_equal(tally.cells.keys, counts.cells.keys)
    np.testing.assert_array_equal(tally.shown, counts.shown)
    np.testing.assert_array_equal(tally.clicked, counts.clicked)
    np.testing.assert_array_equal(looks.table, counts.looks.table)
    np.testing.assert_array_equal(looks.last_at, counts.looks.last_at)


@pytest.mark.parametrize("seed", seeds(range(20, 24), 2))
def test_looks_and_patterns_of_parts_add_up(engine, few, seed):
    if few and seed > 20:
        pytest.skip("one seed does for an engine that is slow to start a job")
    rng = random.Random(seed)
    rows = worlds.make_rows(rng, queries=4, style="hostile", impressions=True, rows_per_query=(4, 10))
    half = len(rows) // 2
    parts = rows[:half], rows[half:], rows[: half // 2]
    one, two, three = (engine.count(cr.read_log(worlds.to_arrow(part)), a_plan()).counts for part in parts)
    assert as_plain(one + two + three) == plain([*rows, *parts[2]], None, None)
    queries = np.zeros(1, dtype=np.int64)
    assert as_plain(one.extended(queries, pa.array(["never shown"]))) == plain(parts[0], None, None)


def test_rows_that_went_to_disk_are_patterns_too():
    rng = random.Random(3)
    rows = worlds.make_rows(rng, queries=5, style="hostile", rows_per_query=(10, 20))
    table = worlds.to_arrow(rows)
    counts = Embedded(cache_bytes=0).count(cr.read_log(table), a_plan()).counts
    assert as_plain(counts)["patterns"] == plain(rows, None, None)["patterns"]


def test_many_batches_make_the_same_patterns():
    rng = np.random.default_rng(0)
    n = 300_000
    table = pa.table(
        {
            "query": rng.integers(0, 5, n),
            "items": pa.FixedSizeListArray.from_arrays(pa.array(np.tile([1, 2, 3], n)), 3).cast(pa.list_(pa.int64())),
            "clicks": pa.FixedSizeListArray.from_arrays(pa.array(rng.integers(0, 2, 3 * n)), 3).cast(
                pa.list_(pa.int64())
            ),
        }
    )
    patterns = Embedded().count(cr.read_log(table), a_plan()).counts.patterns
    assert len(patterns) == 5 * 8
    assert patterns.total == n
