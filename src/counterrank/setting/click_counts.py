"""A log counted for click models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from counterrank.click.counts import ClickCounts
from counterrank.engine import Engine, Plan
from counterrank.errors import Unanswerable
from counterrank.log import Log, Reading, read_log
from counterrank.setting.counting import count_log


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
    by_day: bool = False,
) -> tuple[ClickCounts, Reading]:
    """The same, and what was read; `by_day`: patterns of each day stand apart."""
    if "clicks" not in source.columns:
        raise Unanswerable(f"{source.name}: column 'clicks' is missing: click models need clicks on items")
    if by_day:
        source.need_days()
    plan = Plan(
        metric="clicks",
        weights=np.ones,
        queries=queries,
        top=top,
        rankings="all" if rankings else "none",
        looks=True,
        patterns=patterns,
        by_day=by_day,
    )
    run = count_log(source, plan, engine, "there are")
    counts = run.counts
    assert counts.looks is not None  # noqa: S101 - asked for
    found = ClickCounts(
        pairs=counts.pairs,
        impressions=counts.impressions,
        cells=counts.cells,
        shown=counts.shown,
        clicked=counts.clicked,
        looks=counts.looks,
        patterns=counts.patterns,
        rankings=counts.rankings,
    )
    return found, run.reading
