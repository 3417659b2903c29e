"""Every kind of interval keeps these laws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from counterrank.interval import INTERVALS, NoInterval, Spread
from counterrank.statistics.histogram import Histogram
from counterrank.statistics.terms import Terms, Units

kinds = pytest.mark.parametrize("kind", INTERVALS)


def spread_of(x: np.ndarray) -> Spread:
    value, n = float(x.mean()), len(x)
    error, influence, units = float(x.std(ddof=1)) / math.sqrt(n), Histogram.of(x - value), Units.of(Histogram.of(x))
    return Spread(
        value=value,
        stderr=error,
        impressions=n,
        effective=float(n),
        width=25.0,
        deviation=0.2,
        influence=influence,
        terms=Terms(units, units, -4.0, 21.0),
    )


def in_half_the_units(units: Units) -> Units:
    """From another origin, too."""
    low, high = units.low / 2 + 7, units.high / 2 + 7
    return Units(units.counts, units.sums / 2 + 7 * units.counts, low, high, units.sizes)


def often(terms: Terms, times: int) -> Terms:
    u = terms.for_lower
    more = Units(times * u.counts, times * u.sums, u.low, u.high, u.sizes)
    return Terms(more, more, terms.least, terms.most)


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
        assert s.terms is not None
        half, units = Histogram(s.influence.buckets, s.influence.counts, s.influence.sums / 2), s.terms.for_lower
        moved = Terms(in_half_the_units(units), in_half_the_units(units), s.terms.least / 2 + 7, s.terms.most / 2 + 7)
        other = replace(s, value=s.value / 2 + 7, stderr=s.stderr / 2, width=12.5, deviation=0.1)
        other = replace(other, influence=half, terms=moved)
        ends = np.array(INTERVALS[kind](s, 0.9))
        assert INTERVALS[kind](other, 0.9) == pytest.approx(tuple(ends / 2 + 7), rel=1e-9)


@kinds
def test_more_impressions_never_widen(kind: str) -> None:
    """Four times the impressions, of the same kind: half the error."""
    for s in spreads():
        more = replace(s, stderr=s.stderr / 2, impressions=4 * s.impressions, effective=4 * (s.effective or 0.0))
        assert s.influence is not None
        assert s.terms is not None
        influence = Histogram(s.influence.buckets, 4 * s.influence.counts, 4 * s.influence.sums)
        more = replace(more, influence=influence, terms=often(s.terms, 4))
        narrow, wide = (np.diff(INTERVALS[kind](each, 0.9))[0] for each in (more, s))
        assert narrow <= wide * (1 + 1e-12)
