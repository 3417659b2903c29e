"""Every kind of interval keeps these laws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from counterrank.interval import INTERVALS, NoInterval, Spread
from counterrank.statistics.histogram import Histogram

kinds = pytest.mark.parametrize("kind", INTERVALS)


def spread_of(x: np.ndarray) -> Spread:
    value, n = float(x.mean()), len(x)
    error, influence = float(x.std(ddof=1)) / math.sqrt(n), Histogram.of(x - value)
    return Spread(
        value=value, stderr=error, impressions=n, effective=float(n), width=25.0, deviation=0.2, influence=influence
    )


def spreads() -> list[Spread]:
    rng = np.random.default_rng(0)
    return [spread_of(rng.normal(size=50)), spread_of((rng.random(300) < 0.05) * 20.0 * (rng.random(300) < 0.3))]


@kinds
def test_a_higher_confidence_never_narrows(kind: str) -> None:
    for s in spreads():
        ends = [INTERVALS[kind](s, c) for c in (0.5, 0.8, 0.9, 0.95, 0.99)]
        lower, upper = zip(*ends, strict=True)
        assert list(lower) == sorted(lower, reverse=True)
        assert list(upper) == sorted(upper)
        assert all(low <= s.value <= high for low, high in ends)


@kinds
def test_what_is_not_known_is_said(kind: str) -> None:
    """Where only value and error are known, there is an interval around the value, or a reason for none."""
    bare = Spread(value=3.0, stderr=1.0, impressions=10)
    if kind in ("normal", "t", "sequence"):
        low, high = INTERVALS[kind](bare, 0.95)
        assert -math.inf < low <= 3 <= high < math.inf
    else:
        with pytest.raises(NoInterval, match=r"^[^\n]*\bit\b[^\n]*$"):
            INTERVALS[kind](bare, 0.95)


@kinds
def test_units_and_origins_do_not_matter(kind: str) -> None:
    """In half the units, from another origin, it is the same interval."""
    for s in spreads():
        assert s.influence is not None
        half = Histogram(s.influence.buckets, s.influence.counts, s.influence.sums / 2)
        other = replace(s, value=s.value / 2 + 7, stderr=s.stderr / 2, width=12.5, deviation=0.1, influence=half)
        ends = np.array(INTERVALS[kind](s, 0.9))
        assert INTERVALS[kind](other, 0.9) == pytest.approx(tuple(ends / 2 + 7), rel=1e-9)


@kinds
def test_more_impressions_never_widen(kind: str) -> None:
    """Four times the impressions, of the same kind: half the error."""
    for s in spreads():
        more = replace(s, stderr=s.stderr / 2, impressions=4 * s.impressions, effective=4 * (s.effective or 0.0))
        assert s.influence is not None
        more = replace(more, influence=Histogram(s.influence.buckets, 4 * s.influence.counts, 4 * s.influence.sums))
        narrow, wide = (np.diff(INTERVALS[kind](each, 0.9))[0] for each in (more, s))
        assert narrow <= wide * (1 + 1e-12)
