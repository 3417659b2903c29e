"""Small click logs drawn from known models, as `ClickCounts`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from counterrank.click import (
    Cascade,
    ClickChain,
    ClickCounts,
    ClickModel,
    DependentClick,
    DynamicBayesian,
    GlobalRate,
    ItemRate,
    PositionBased,
    RankRate,
    UserBrowsing,
)
from counterrank.ids import Ids
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.patterns import Patterns


def make_pairs(queries: int, items: int, positions: int) -> Pairs:
    return Pairs.build(
        Ids(pa.array([f"q{q}" for q in range(queries)])),
        Ids(pa.array([f"i{i}" for i in range(items)])),
        np.repeat(np.arange(queries), items),
        np.tile(np.arange(items), queries),
        np.full(queries, positions),
        positions,
    )


def random_rankings(pairs: Pairs, n: int, rng: np.random.Generator, ragged: bool = False) -> tuple:
    """Queries and uniformly random rankings; every third list is shorter where they are ragged."""
    items = int(pairs.sizes[0])
    queries = rng.integers(0, len(pairs.query_ids), n)
    order = rng.random((n, items)).argsort(axis=1)[:, : pairs.positions]
    rankings = order + pairs.starts[queries][:, None]
    if ragged:
        lengths = np.where(np.arange(n) % 3 == 0, rng.integers(1, pairs.positions + 1, n), pairs.positions)
        rankings = np.where(np.arange(pairs.positions) < lengths[:, None], rankings, -1)
    return queries, rankings


def patterns_of(queries: np.ndarray, rankings: np.ndarray, clicks: np.ndarray) -> Patterns:
    coded = np.where(rankings >= 0, 2 * rankings + clicks, -1).astype(np.int32)
    return Patterns(queries, coded, np.ones(len(queries), dtype=np.int64)).merged()


def sampled(model: ClickModel, pairs: Pairs, n: int, seed: int, ragged: bool = False) -> ClickCounts:
    rng = np.random.default_rng(seed)
    queries, rankings = random_rankings(pairs, n, rng, ragged)
    return ClickCounts.of(pairs, patterns_of(queries, rankings, model.sample(queries, rankings, rng)))


PAIRS = make_pairs(queries=3, items=5, positions=4)
A = np.random.default_rng(1).uniform(0.1, 0.7, len(PAIRS))
CURVE = np.array([1.0, 0.6, 0.4, 0.3])
BROWSING = np.array([[1, 0, 0, 0], [0.7, 0.9, 0, 0], [0.4, 0.6, 0.8, 0], [0.2, 0.4, 0.6, 0.9]])
CROWD: dict[str, ClickModel] = {
    "ctr": GlobalRate(0.3),
    "rank-ctr": RankRate(CURVE / 2),
    "item-ctr": ItemRate(A),
    "cm": Cascade(A),
    "dcm": DependentClick(A, [0.7, 0.6, 0.5, 0.0]),
    "pbm": PositionBased(A, CURVE),
    "ubm": UserBrowsing(A, BROWSING),
    "dbn": DynamicBayesian(A, np.random.default_rng(2).uniform(0.1, 0.9, len(PAIRS)), 0.85),
    "ccm": ClickChain(A, [0.85, 0.8, 0.3]),
}
