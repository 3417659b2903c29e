"""Logs drawn from a world, in memory or streamed to a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from counterrank.click.base import Floats
from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.policy.base import BoundPolicy
from counterrank.simulate.files import writer
from counterrank.simulate.world import MOST, World, check_counts

CHUNK = 1 << 17  # impressions at a time: a row group of the Parquet file

SCHEMA = pa.schema(
    [
        ("query", pa.string()),
        ("items", pa.list_(pa.string())),
        ("clicks", pa.list_(pa.int8())),
        ("day", pa.int32()),
        ("propensity", pa.float64()),
    ]
)


def simulate(
    world: World,
    impressions: int,
    rng: np.random.Generator,
    *,
    days: int = 1,
    drift: float = 0.0,
    drift_share: float = 1.0,
) -> pa.Table:
    """A list-form log: query, items, clicks, day (from 1) and propensity, exact under that day's logging policy.

    With `drift` above 0 each day's logging policy is another one: a fresh `drift` · N(0, 1) is added to the logging
    scores, each day for a fresh share `drift_share` of the queries. Users stay the same, so that the clicks at the top
    positions move with what is placed there while the clicks on the whole page move less (not at all, for cm users
    whose pages hold every item): the setting in which estimators beat the log's mean (li2018, section 6.5).

    >>> from counterrank.simulate.world import make_world
    >>> log = simulate(make_world(queries=2, items=3, k=2), 5, np.random.default_rng(0))
    >>> log.num_rows, log.column_names
    (5, ['query', 'items', 'clicks', 'day', 'propensity'])
    """
    return pa.Table.from_batches(batches(world, impressions, rng, days, drift, drift_share, chunk=CHUNK), schema=SCHEMA)


def write_log(
    world: World,
    path: str | Path,
    impressions: int,
    seed: int,
    *,
    days: int = 1,
    drift: float = 0.0,
    drift_share: float = 1.0,
    chunk: int = CHUNK,
) -> int:
    """As `simulate`, streamed to Parquet, CSV or JSON Lines (by suffix; .gz for the last two). Clicks in all.

    Memory grows with `chunk`, not with `impressions`. The same world, seed and chunk give the same rows.
    """
    rng = np.random.default_rng(seed)
    clicks = 0
    with writer(path, SCHEMA) as write:
        for batch in batches(world, impressions, rng, days, drift, drift_share, chunk=chunk):
            write(batch)
            clicks += int(np.count_nonzero(batch["clicks"].flatten().to_numpy()))
    return clicks


def batches(
    world: World,
    impressions: int,
    rng: np.random.Generator,
    days: int,
    drift: float,
    drift_share: float,
    *,
    chunk: int,
) -> Iterator[pa.RecordBatch]:
    """The log day by day, at most `chunk` impressions at a time."""
    check_counts({"impressions": impressions, "days": days, "chunk": chunk})
    if not 0 <= drift <= MOST["drift"]:
        raise InputError(f"drift is {drift:g}: give a number from 0 to {MOST['drift']:,}")
    if not 0 <= drift_share <= 1:
        raise InputError(f"drift share is {drift_share:g}: give a number from 0 to 1")
    upto = np.cumsum(world.frequencies)
    bound = world.logging_policy().bind(world.pairs)
    for day in range(days):
        if drift > 0:
            bound = world.logging_policy(_shift(world, drift, drift_share, rng)).bind(world.pairs)
        low, high = impressions * day // days, impressions * (day + 1) // days
        for start in range(low, high, chunk):
            aim = rng.random(min(chunk, high - start)) * upto[-1]
            queries = np.minimum(np.searchsorted(upto, aim, side="right"), len(upto) - 1)
            yield _batch(world, bound, queries, day + 1, rng)


def _shift(world: World, drift: float, share: float, rng: np.random.Generator) -> Floats:
    touched = rng.random(len(world.frequencies)) < share
    return drift * rng.standard_normal(len(world.pairs)) * touched[world.pairs.queries]


def _batch(world: World, bound: BoundPolicy, queries: Codes, day: int, rng: np.random.Generator) -> pa.RecordBatch:
    rankings = bound.sample(queries, rng)
    clicks = world.users.sample(queries, rankings, rng)
    shown = rankings >= 0
    ends = pa.array(np.concatenate([[0], np.cumsum(shown.sum(axis=1))]).astype(np.int32))
    items = world.pairs.item_ids.texts.take(pa.array(world.pairs.items[rankings[shown]].astype(np.int32)))
    columns = [
        world.pairs.query_ids.texts.take(pa.array(queries)),
        pa.ListArray.from_arrays(ends, items),
        pa.ListArray.from_arrays(ends, pa.array(clicks[shown])),
        pa.array(np.full(len(queries), day, dtype=np.int32)),
        pa.array(bound.probability(queries, rankings)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
