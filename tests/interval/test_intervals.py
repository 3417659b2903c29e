"""Kinds of intervals: formulas by hand or SciPy, laws that all obey, coverage where their assumptions hold."""

import math

import numpy as np
import pytest
from scipy import stats

import counterrank as cr
from counterrank.interval import INTERVALS, Spread, usual
from counterrank.interval.bootstrap import bootstrap
from counterrank.statistics.histogram import Histogram
from counterrank.statistics.terms import Terms, Units


def spread_of(x: np.ndarray, width: float | None = None) -> Spread:
    value, n = float(x.mean()), len(x)
    units = Units.of(Histogram.of(x))
    return Spread(
        value=value,
        stderr=float(x.std(ddof=1)) / math.sqrt(n),
        impressions=n,
        effective=float(n),
        width=width,
        deviation=0.2,
        influence=Histogram.of(x - value),
        terms=Terms(units, units, 0.0, width) if width is not None else None,
    )


def heavy(rng: np.random.Generator, n: int) -> np.ndarray:
    """Weighted clicks: one impression in twenty has the weight 20, and three in ten of those a click; mean 0.3."""
    return np.where(rng.random(n) < 0.05, 20.0, 0.0) * (rng.random(n) < 0.3)


def test_formulas() -> None:
    s = Spread(value=1.0, stderr=0.1, impressions=400, effective=10.0, width=3.0, deviation=0.7)
    assert INTERVALS["normal"](s, 0.9) == pytest.approx(stats.norm.interval(0.9, 1.0, 0.1))
    assert INTERVALS["t"](s, 0.9) == pytest.approx(stats.t.interval(0.9, 9.0, 1.0, 0.1))
    assert INTERVALS["theorem3"](s, 0.9) == pytest.approx((0.3, 1.7))
    radius = 3.0 * math.sqrt(math.log(20) / 800)
    assert INTERVALS["hoeffding"](s, 0.9) == pytest.approx((1 - radius, 1 + radius))
    s2 = 0.1**2 * 400  # the variance of a term
    radius = math.sqrt(2 * s2 * math.log(40) / 400) + 7 * 3.0 * math.log(40) / (3 * 399)
    assert INTERVALS["empirical-bernstein"](s, 0.9) == pytest.approx((1 - radius, 1 + radius))


def test_one_impression_worth_of_evidence_still_has_a_t_interval() -> None:
    assert INTERVALS["t"](Spread(value=1.0, stderr=0.1, impressions=400, effective=1.0), 0.95)[1] == pytest.approx(
        1 + 0.1 * stats.t.ppf(0.975, 1)
    )


def test_the_sequence_is_the_boundary_of_the_normal_mixture() -> None:
    """At the boundary the mixture martingale, integrated numerically, is 1/δ."""
    n, s, delta = 700, 1.3, 0.05
    upper = INTERVALS["sequence"](Spread(value=0.0, stderr=s / math.sqrt(n), impressions=n), 1 - delta)[1]
    twice = 2 * math.log(1 / delta)
    rho = math.sqrt((twice + math.log(1 + twice)) / 1000)
    total = upper * n / s  # a sum of n standardised terms
    lam = np.linspace(-12, 12, 400_001) * rho
    density = np.exp(lam * total - lam**2 * n / 2) * stats.norm.pdf(lam, scale=rho)
    assert float(np.trapezoid(density, lam)) == pytest.approx(1 / delta, rel=1e-6)


def test_the_usual_kind_goes_by_the_effective_size() -> None:
    assert usual(99.0) == "t"
    assert usual(100.0) == "normal"
    assert usual(None) == "normal"


def test_the_bootstrap_equals_one_over_rows() -> None:
    """Against multinomial replicates of the rows themselves, corrected the same way."""
    rng = np.random.default_rng(4)
    x = rng.exponential(1.0, 60)
    found = bootstrap(spread_of(x), 0.9, 40_000)
    theirs = stats.bootstrap((x,), np.mean, confidence_level=0.9, n_resamples=40_000, method="BCa", rng=rng)
    assert found == pytest.approx(tuple(theirs.confidence_interval), abs=0.02)


def test_nothing_varies() -> None:
    assert bootstrap(spread_of(np.full(10, 3.0)), 0.95) == (3.0, 3.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [k for k in INTERVALS if k not in ("theorem3", "sequence")])
def test_coverage_of_a_mean(kind: str) -> None:
    rng = np.random.default_rng(7)
    draws = {
        "clicks": (lambda: rng.binomial(1, 0.3, 400).astype(float), 0.3, 1.0),
        "weighted": (lambda: heavy(rng, 20_000), 0.3, 20.0),
    }
    for draw, truth, width in draws.values():
        hits = 0
        for _ in range(3000):
            s = spread_of(draw(), width)
            low, high = bootstrap(s, 0.95, 2000) if kind == "bootstrap" else INTERVALS[kind](s, 0.95)
            hits += low <= truth <= high
        share = hits / 3000
        assert share >= 0.94 - 3 * math.sqrt(0.05 * 0.95 / 3000)
        if kind in ("normal", "t", "bootstrap"):
            assert share <= 0.97 + 3 * math.sqrt(0.05 * 0.95 / 3000)


@pytest.mark.slow
def test_the_sequence_holds_over_the_whole_path() -> None:
    """Looked at after every 100 impressions from 500 to 50,000; a normal interval fails far more often."""
    rng = np.random.default_rng(8)
    at = np.arange(500, 50_001, 100)
    failed = {"sequence": 0, "normal": 0}
    for _ in range(1000):
        x = rng.binomial(1, 0.2, at[-1]).astype(float)
        total = np.cumsum(x)[at - 1]
        for kind in failed:
            for n, s in zip(at.tolist(), total.tolist(), strict=True):
                mean = s / n
                low, high = INTERVALS[kind](
                    Spread(value=mean, stderr=math.sqrt(mean * (1 - mean) / (n - 1)), impressions=n), 0.95
                )
                if not low <= 0.2 <= high:
                    failed[kind] += 1
                    break
    assert failed["sequence"] <= 1000 * (0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000))
    assert failed["normal"] > 250


def test_histograms_add_and_know_their_largest() -> None:
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(size=1000), [0.0, 0.0, 50.0, -80.0]])
    whole, parts = Histogram.of(x), Histogram.of(x[:300]) + Histogram.of(x[300:])
    assert whole.buckets.tolist() == parts.buckets.tolist()
    assert np.allclose(whole.sums, parts.sums)
    assert whole.total == 1004
    assert whole.sums.sum() == pytest.approx(x.sum())
    assert whole.largest(2) == pytest.approx(130.0)
    assert whole.largest(12) == pytest.approx(np.sort(np.abs(x))[-12:].sum(), rel=0.05)
    assert whole.counts @ whole.means**2 == pytest.approx((x**2).sum(), rel=0.01)


def test_the_width_of_list_knows_weights_that_were_not_logged() -> None:
    """The logging policy is known and shows `ba` once in 50; a log without it must not look narrow."""
    logging = cr.policy.Table(["q", "q"], [["a", "b"], ["b", "a"]], [0.98, 0.02])
    target = cr.policy.Table(["q", "q"], [["a", "b"], ["b", "a"]], [0.5, 0.5])
    rows = {"query": ["q"] * 20, "items": [["a", "b"]] * 20, "clicks": [[1, 0], [0, 0]] * 10}
    row = cr.evaluate(rows, target, logging=logging, estimators="list", interval="hoeffding")["list"]
    assert row.upper - row.value == pytest.approx(2 * 25 * math.sqrt(math.log(40) / 40))
    clipped = cr.evaluate(rows, target, logging=logging, estimators="list", interval="hoeffding", clip=5.0)["list"]
    assert clipped.upper - clipped.value == pytest.approx(2 * 5 * math.sqrt(math.log(40) / 40))
