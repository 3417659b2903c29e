"""Groups of impressions in histograms, beside their definition in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from counterrank.statistics.histogram import BUCKETS, Histogram, Spreads, add_groups


@pytest.mark.parametrize("from_zero", [True, False])
def test_groups_are_two_rewards_each(from_zero: bool) -> None:
    rng = np.random.default_rng(0)
    size = 200
    n = rng.integers(1, 9, size).astype(float)
    rewards = [rng.integers(0, 2, int(k)).astype(float) if from_zero else rng.normal(1, 2, int(k)) for k in n]
    f, f2 = (np.array([(each**power).sum() for each in rewards]) for power in (1, 2))
    slope, level, term, weight = rng.normal(size=(4, size))
    out = np.zeros((3, BUCKETS, 2))
    add_groups(n, f, f2, from_zero, slope, level, term, weight, out)
    if from_zero:  # single clicks: what happened
        points = [(g, reward) for g, each in enumerate(rewards) for reward in each]
        g, reward = np.array([p[0] for p in points]), np.array([p[1] for p in points])
        often = np.ones(len(g))
    else:
        deviation = np.sqrt(np.maximum(f2 / n - (f / n) ** 2, 0.0))
        deviation[n == 1] = 0.0
        g, reward = np.tile(np.arange(size), 2), np.concatenate([f / n - deviation, f / n + deviation])
        often = np.tile(n / 2, 2)
    found = Spreads.dense(out[None, None])[0]
    for kind, add in (("influence", level), ("term", term)):
        want, got = Histogram.of(slope[g] * reward + add[g], often), getattr(found, kind)
        assert got.buckets.tolist() == want.buckets.tolist(), kind
        np.testing.assert_allclose(got.counts, want.counts)
        np.testing.assert_allclose(got.sums, want.sums, atol=1e-9)
    want = Histogram.of(weight, n)
    assert found.weight.buckets.tolist() == want.buckets.tolist()
    np.testing.assert_allclose(found.weight.sums, want.sums, atol=1e-12)


def test_tables_of_parts_add_up() -> None:
    rng = np.random.default_rng(1)
    tables = np.zeros((2, 4, 3, BUCKETS, 2))
    at = rng.integers(0, BUCKETS, (500, 1))[:, 0]
    tables[rng.integers(0, 2, 500), rng.integers(0, 4, 500), rng.integers(0, 3, 500), at] = rng.random((500, 2))
    for e, found in enumerate(Spreads.dense(tables)):
        for i, got in enumerate((found.influence, found.term, found.weight)):
            whole = tables[:, e, i].sum(axis=0)
            assert got.buckets.tolist() == np.flatnonzero(whole[:, 0]).tolist()
            np.testing.assert_array_equal(np.stack([got.counts, got.sums], axis=1), whole[got.buckets])
