"""The statistics counted by plain Python loops, and an engine's `Counts` in the same shape."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from counterrank.statistics.counts import Counts, sum_chunks

Row = dict[str, Any]


def plain(rows: list[Row], metric: str, weights: Any, queries: set[str] | None, top: int | None) -> dict[str, Counter]:
    out: dict[str, Counter] = {name: Counter() for name in ("impressions", "reward", "reward2", "shown", "clicked")}
    out |= {"rankings": Counter(), "of_ranking": Counter()}
    for row in rows:
        query, items, n = row["query"], tuple(row["items"][:top]), row.get("impressions", 1)
        if queries is not None and query not in queries:
            continue
        clicks = row["clicks"][:top] if metric == "clicks" else [0] * len(items)
        value = row["reward"] if metric == "reward" else float(np.dot(weights(len(items)), clicks))
        out["impressions"][query] += n
        out["reward"][query] += n * value
        out["reward2"][query] += n * value**2
        out["rankings"][query, items] += n
        out["of_ranking"][query, items] += n * value
        for k, (item, click) in enumerate(zip(items, clicks, strict=True)):
            out["shown"][query, item, k] += n
            out["clicked"][query, item, k] += n * click
    return out


def as_plain(counts: Counts) -> dict[str, dict]:
    counts = counts.rebased(0.0)
    pairs = counts.pairs
    queries, items = pairs.query_ids.texts.to_pylist(), pairs.item_ids.texts.to_pylist()
    out: dict[str, dict] = {
        name: dict(zip(queries, getattr(counts, name).tolist(), strict=True))
        for name in ("impressions", "reward", "reward2")
    }
    names = [(queries[q], items[i]) for q, i in zip(pairs.queries, pairs.items, strict=True)]
    for name in ("shown", "clicked"):
        table = getattr(counts, name)
        at = zip(counts.cells.rows.tolist(), counts.cells.positions.tolist(), table.tolist(), strict=True)
        out[name] = {(*names[p], k): number for p, k, number in at}
    if counts.rankings is not None:
        groups = sum_chunks(counts.rankings).without_propensity()
        keys = [
            (queries[q], tuple(names[r][1] for r in rows if r >= 0))
            for q, rows in zip(groups.queries, groups.rows, strict=True)
        ]
        out["rankings"] = dict(zip(keys, groups.impressions.tolist(), strict=True))
        out["of_ranking"] = dict(zip(keys, groups.reward.tolist(), strict=True))
    return out
