"""Batches of kept rows made one, and groups of rankings picked from all."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import counterrank as cr
from counterrank.engine import Embedded, Plan, WantedRankings
from counterrank.engine.coder import CodedRows
from counterrank.engine.kept import KeptRows
from counterrank.engine.pages import EveryRanking
from counterrank.policy import Table


@pytest.mark.parametrize("seed", range(20))
def test_batches_become_one_in_the_order_of_queries(seed: int) -> None:
    """Each row stays one, behind those of its query that came before it; rows of no query come first."""
    rng = np.random.default_rng(seed)
    kept, expected, number = KeptRows(1 << 20, to_disk=False), [], 0
    for batch in range(int(rng.integers(1, 5))):
        queries, size = int(rng.integers(1, 6)), int(rng.integers(0, 12))
        of = np.sort(rng.integers(-1, queries, size))
        coded = np.full((size, int(rng.integers(1, 4))), -1, dtype=np.int32)
        coded[:, 0] = np.arange(number, number + size)
        number += size
        starts = np.searchsorted(of, np.arange(queries + 1))
        kept.add(CodedRows(coded=coded, impressions=10 * coded[:, 0].astype(np.int64), starts=starts))
        expected += [(int(q), batch, int(row)) for q, row in zip(of, coded[:, 0], strict=True)]
    kept.gather()
    [rows] = kept.in_memory
    assert rows.coded[:, 0].tolist() == [row for _, _, row in sorted(expected)]
    assert (rows.coded[:, 1:] == -1).all()
    assert rows.impressions is not None
    assert (rows.impressions == 10 * rows.coded[:, 0]).all()
    for q, (begin, end) in enumerate(pairwise(rows.starts)):
        assert rows.coded[begin:end, 0].tolist() == [row for of, _, row in sorted(expected) if of == q]
    assert rows.starts[-1] == len(rows.coded)


def test_picked_groups_are_those_that_a_pass_would_count() -> None:
    rng = np.random.default_rng(0)
    items = "abcd"
    log = cr.read_log(
        {
            "query": [int(q) for q in rng.integers(0, 3, 300)],
            "items": [[items[i] for i in rng.permutation(4)[: rng.integers(1, 4)]] for _ in range(300)],
            "reward": rng.random(300).tolist(),
        }
    )
    pages = [["a", "b", "c"], ["a"], ["d", "x", "a"], ["a"], ["x"]]
    wanted = Table(["0", "0", "1", "7", "2"], pages, [0.5, 0.5, 1, 1, 1])
    rankings = WantedRankings(*wanted.rankings())
    plan = {"metric": "reward", "weights": np.ones}
    counted = Embedded().count(log, Plan(rankings=rankings, **plan)).counts.rankings
    every = Embedded().count(log, Plan(rankings="all", pages="all", **plan)).counts
    found = EveryRanking.of(every.rankings).picked(every.pairs, rankings)
    for name in ("queries", "rows", "impressions", "reward", "reward2"):
        np.testing.assert_allclose(getattr(found, name), getattr(counted, name), err_msg=name)
    assert 0 < len(found) < len(every.rankings)


def test_nothing_is_picked_where_nothing_is_wanted() -> None:
    log = cr.read_log({"query": ["q"], "items": [["a"]], "clicks": [[1]]})
    every = Embedded().count(log, Plan(metric="clicks", weights=np.ones, rankings="all", pages="all")).counts
    wanted = Table(["q"], [["x"]])
    assert len(EveryRanking.of(every.rankings).picked(every.pairs, WantedRankings(*wanted.rankings()))) == 0
