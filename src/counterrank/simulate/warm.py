"""Small made-up logs through what each command does by default, so that all that it compiles is compiled and kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from counterrank import compiled, temporary
from counterrank.backtesting.backtest import backtest
from counterrank.checking.check import check
from counterrank.comparing.compare import compare
from counterrank.errors import unknown
from counterrank.fitting.clicks import clicks
from counterrank.judging.evaluate import evaluate
from counterrank.learning.learn import learn
from counterrank.optimizing.optimize import optimize
from counterrank.policy import Policy, read_policy
from counterrank.records import dataclass


@dataclass(frozen=True)
class Warmed:
    """What was done for one command."""

    command: str
    compiled: int  # functions that were not kept before
    seconds: float


@dataclass(frozen=True)
class _Made:
    """A log, and what may be judged on it."""

    log: str
    table: Policy
    scores: str

    def judged(self) -> Iterator[Policy]:
        yield self.table
        yield read_policy(self.scores, temperature=1.0)


WARMED: dict[str, Callable[[_Made], object]] = {
    "evaluate": lambda made: [evaluate(made.log, policy) for policy in made.judged()],
    "compare": lambda made: [compare(made.log, policy) for policy in made.judged()],
    "check": lambda made: check(made.log),
    "clicks": lambda made: clicks(made.log),
    "optimize": lambda made: optimize(made.log),
    "backtest": lambda made: backtest(made.log),
    "learn": lambda made: learn(made.log),
}


def warm(names: Sequence[str] = ()) -> Iterator[Warmed]:
    """Do what the commands of these names do, or all, on logs with ids of both kinds; tell of each when it is done."""
    for name in names:
        if name not in WARMED:
            raise unknown("command", name, WARMED)
    folder = temporary.Folder()
    few = ((40, 8, 5, True), (3, 4, 3, True), (40, 8, 5, False), (400, 8, 5, True))  # the last outgrows first tables
    logs = [_made(Path(folder.name), 600, *each) for each in few]
    logs += [_made(Path(folder.name), 80_000, 40, 8, 5, whole) for whole in (True, False)]  # which come in row groups
    for name in names or WARMED:
        start, before = time.perf_counter(), compiled.made()
        for log in logs:
            WARMED[name](log)
        yield Warmed(name, compiled.made() - before, time.perf_counter() - start)


def _made(folder: Path, rows: int, queries: int, items: int, positions: int, whole: bool) -> _Made:
    """A log of many queries with few impressions each, or of few with many."""
    rng = np.random.default_rng(0)
    query = rng.integers(0, queries, rows)
    shown = rng.random((rows, items)).argsort(axis=1)[:, :positions]
    clicked = (rng.random(shown.shape) < 0.3 / np.arange(1, positions + 1)).astype(np.int8)
    day = [f"2024-01-0{1 + d}" for d in rng.integers(0, 3, rows)]
    name, ends = f"{rows}-{queries}-{'whole' if whole else 'text'}", np.arange(0, rows * positions + 1, positions)

    def ids(values: np.ndarray, what: str) -> pa.Array:
        return pa.array(values if whole else [f"{what}-{value}" for value in values])

    lists = [ids((query[:, None] * items + shown).ravel(), "item"), pa.array(clicked.ravel())]
    listed = [pa.ListArray.from_arrays(pa.array(ends, pa.int32()), each) for each in lists]
    table = pa.table({"query": ids(query, "query"), "items": listed[0], "clicks": listed[1], "day": day})
    log, scores = folder / f"log-{name}.parquet", folder / f"scores-{name}.parquet"
    pq.write_table(table, log, row_group_size=40_000)
    each, item = np.repeat(np.arange(queries), items), np.arange(queries * items)
    worth = rng.normal(size=len(item))
    pq.write_table(pa.table({"query": ids(each, "query"), "item": ids(item, "item"), "score": worth}), scores)
    mine = item.reshape(queries, items)[:, :positions].tolist()
    first = {str(q) if whole else f"query-{q}": [str(i) if whole else f"item-{i}" for i in mine[q]] for q in set(query)}
    return _Made(str(log), read_policy(first), str(scores))
