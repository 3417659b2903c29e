"""Simulated logs against the policies and click models that they come from."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from counterrank.errors import InputError
from counterrank.simulate import make_world, simulate, write_log
from counterrank.simulate.world import USERS

SMALL = {"queries": 2, "items": 4, "k": 2}


@pytest.mark.parametrize("uniform_share", [0.0, 0.3])
def test_lists_come_as_often_as_the_policy_says(uniform_share: float) -> None:
    world = make_world(**SMALL, uniform_share=uniform_share, seed=3)
    policy = world.logging_policy().bind(world.pairs)
    log = simulate(world, 60_000, np.random.default_rng(1))
    seen = Counter((q, tuple(i)) for q, i in zip(log["query"].to_pylist(), log["items"].to_pylist(), strict=True))
    stated = {(row["query"], tuple(row["items"])): row["propensity"] for row in log.slice(0, 5000).to_pylist()}
    total = 0.0
    for q, order in ((q, o) for q in range(2) for o in permutations(range(4), 2)):
        rows = np.array([[q * 4 + i for i in order]])
        p = policy.probability(np.array([q]), rows)[0]
        name = f"q{q + 1}", tuple(f"i{i + 1}" for i in order)
        assert stated.get(name, p) == pytest.approx(p, rel=1e-12)
        joint = p * world.frequencies[q]
        total += joint
        assert abs(seen[name] / 60_000 - joint) < 5 * np.sqrt(joint / 60_000)
    assert total == pytest.approx(1)


@pytest.mark.parametrize("users", USERS)
def test_click_rates_follow_the_users(users: str) -> None:
    world = make_world(**SMALL, users=users, seed=5)
    log = simulate(world, 50_000, np.random.default_rng(2), days=3, drift=1.0)
    queries = world.pairs.query_ids.codes(log["query"].combine_chunks())
    items = world.pairs.item_ids.codes(log["items"].combine_chunks().flatten()).reshape(-1, 2)
    rankings = world.pairs.find(np.repeat(queries, 2), items.ravel()).reshape(-1, 2)
    clicks = log["clicks"].combine_chunks().flatten().to_numpy().reshape(-1, 2)
    expected = world.users.click_probabilities(queries, rankings)
    sigma = np.sqrt((expected * (1 - expected)).sum(axis=0))
    assert (np.abs((clicks - expected).sum(axis=0)) < 5 * sigma).all()


def test_days_are_equal_parts_and_inverse_propensities_count_the_rankings() -> None:
    world = make_world(**SMALL, seed=1)
    log = simulate(world, 30_000, np.random.default_rng(0), days=4, drift=0.7)
    day, inverse = log["day"].to_numpy(), 1 / log["propensity"].to_numpy()
    assert np.bincount(day).tolist() == [0, 7500, 7500, 7500, 7500]
    for d in range(1, 5):  # E[1/propensity] = number of rankings, each day under its own policy
        part = inverse[day == d]
        assert abs(part.mean() - 12) < 5 * part.std() / np.sqrt(len(part))


def test_drift_moves_the_top_but_not_the_whole_page() -> None:
    """li2018, section 6.5: cascade users whose pages hold every item click as often, but elsewhere."""
    world = make_world(queries=1, items=5, k=5, users="cm", seed=2, temperature=0.3)
    days = 12

    def daily(drift: float) -> np.ndarray:
        log = simulate(world, 12_000 * days, np.random.default_rng(6), days=days, drift=drift)
        clicks = log["clicks"].combine_chunks().flatten().to_numpy().reshape(days, -1, 5)
        return clicks.mean(axis=1)

    moving, still = daily(2.0), daily(0.0)
    noise = np.sqrt(0.25 / 12_000)
    assert moving[:, 0].std() > 10 * noise
    assert moving.sum(axis=1).std() < 2 * noise
    assert still[:, 0].std() < 2 * noise


def test_drift_touches_a_share_of_the_queries() -> None:
    world = make_world(queries=40, items=3, k=1, zipf=0, seed=2, temperature=0.2)
    log = simulate(world, 80_000, np.random.default_rng(6), days=2, drift=3.0, drift_share=0.25)
    kept = 0
    for query in world.pairs.query_ids.texts.to_pylist():
        rows = log.filter(pc.equal(log["query"], query))
        first, second = (set(rows.filter(pc.equal(rows["day"], day))["propensity"].to_pylist()) for day in (1, 2))
        kept += bool(first & second)
    assert 10 < kept < 35  # untouched on both days: 0.75² of 40


def test_same_seed_same_log_and_stream_equals_memory(tmp_path: Path) -> None:
    world = make_world(**SMALL)
    write_log(world, tmp_path / "a.parquet", 1000, 9, days=2, drift=1)
    write_log(world, tmp_path / "b.parquet", 1000, 9, days=2, drift=1)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    memory = simulate(world, 1000, np.random.default_rng(9), days=2, drift=1)
    assert pq.read_table(tmp_path / "a.parquet").equals(memory)
    assert not memory.equals(simulate(world, 1000, np.random.default_rng(8), days=2, drift=1))


def test_every_file_form_holds_the_same_rows(tmp_path: Path) -> None:
    world = make_world(**SMALL)
    for suffix in ("parquet", "csv", "csv.gz", "jsonl", "jsonl.gz"):
        clicks = write_log(world, tmp_path / f"log.{suffix}", 500, 3, days=3, chunk=100)
    rows = pq.read_table(tmp_path / "log.parquet").to_pylist()
    assert pq.ParquetFile(tmp_path / "log.parquet").num_row_groups == 6  # 167, 167, 166 in chunks of 100
    assert clicks == sum(sum(row["clicks"]) for row in rows)
    for suffix, unzip in (("", open), (".gz", gzip.open)):
        with unzip(tmp_path / f"log.jsonl{suffix}", "rt") as lines:
            assert [json.loads(line) for line in lines] == rows
        with unzip(tmp_path / f"log.csv{suffix}", "rt") as lines:
            read = list(csv.DictReader(lines))
        for row in read:
            row |= {"items": json.loads(row["items"]), "clicks": json.loads(row["clicks"])}
            row |= {"day": int(row["day"]), "propensity": float(row["propensity"])}
        assert read == rows


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"impressions": 0}, "impressions is 0"),
        ({"days": 0}, "days is 0"),
        ({"drift": -1}, "drift is -1"),
        ({"drift_share": 2}, "drift share is 2"),
        ({"path": "log.xlsx"}, "end the name with"),
        ({"path": "no/such/folder/log.csv"}, "cannot be written"),
        ({"path": "no/such/folder/log.parquet"}, "cannot be written"),
    ],
)
def test_bad_options(tmp_path: Path, options: dict, message: str) -> None:  # type: ignore[type-arg]
    path = tmp_path / options.pop("path", "log.parquet")
    with pytest.raises(InputError, match=message):
        write_log(make_world(**SMALL), path, **{"impressions": 10, "seed": 0, **options})
