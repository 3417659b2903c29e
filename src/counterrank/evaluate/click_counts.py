"""A log counted for click models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from counterrank.click.counts import ClickCounts
from counterrank.engine import Engine, Plan, open_engine
from counterrank.errors import InputError
from counterrank.log import Log, Reading, read_log


def count_clicks(
    log: Any,
    *,
    engine: str | Engine = "duckdb",
    top: int | None = None,
    queries: pa.Array | None = None,
    patterns: bool = False,
    rankings: bool = False,
) -> ClickCounts:
    """One pass over a log: the counts that click models need.

    `patterns` adds every distinct (query, ranking, clicks), for models that have no closed form; they must fit in
    memory. `rankings` adds counts of whole rankings, for `most_logged`. `queries` (text) counts these only.

    >>> counts = count_clicks({"query": ["q", "q"], "items": [["a", "b"], ["a", "b"]], "clicks": [[1, 0], [0, 1]]})
    >>> counts.looks.to_first.tolist(), counts.looks.first.tolist()
    ([2, 1], [1, 1])
    """
    return read_clicks(read_log(log), engine=engine, top=top, queries=queries, patterns=patterns, rankings=rankings)[0]


def read_clicks(
    source: Log,
    *,
    engine: str | Engine,
    top: int | None,
    queries: pa.Array | None = None,
    patterns: bool = False,
    rankings: bool = False,
) -> tuple[ClickCounts, Reading]:
    """The same, and what was read."""
    if "clicks" not in source.columns:
        raise InputError(f"{source.name}: column 'clicks' is missing: click models need clicks on items")
    plan = Plan(
        metric="clicks",
        weights=np.ones,
        queries=queries,
        top=top,
        rankings="all" if rankings else "none",
        looks=True,
        patterns=patterns,
        judged="there are",
    )
    run = open_engine(engine).count(source, plan)
    counts = run.counts
    assert counts.looks is not None  # noqa: S101 - asked for
    found = ClickCounts(
        counts.pairs, counts.impressions, counts.shown, counts.clicked, counts.looks, counts.patterns, counts.rankings
    )
    return found, run.reading
