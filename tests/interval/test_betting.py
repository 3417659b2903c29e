"""The betting bounds against the mixture calculated on raw values, and against all logs of a tiny world."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp

import counterrank as cr
from counterrank.engine import open_engine
from counterrank.estimate import ESTIMATORS
from counterrank.interval import INTERVALS, NoInterval, Spread, query_bounds
from counterrank.interval.betting import lower_bound, lower_bounds
from counterrank.interval.mixture import BETS, WEIGHTS
from counterrank.judging.evaluate import finished
from counterrank.setting.need import Need
from counterrank.setting.plan import plan_for
from counterrank.setting.question import Question
from counterrank.statistics.histogram import Histogram, bucket_of
from counterrank.statistics.query_terms import QueryTerms, QueryUnits
from counterrank.statistics.terms import Terms, Units, edges
from interval.test_spreads import world


def exact(total: np.ndarray, size: np.ndarray, least: float, delta: float) -> float:
    """The same mixture on raw values: Σ over bets of weight·Π(1 + λ(T − m·n)) = 1/δ, by another way of solving."""

    def beyond(m: float) -> float:
        bet = BETS / ((m - least) * size.max())
        return float(logsumexp(WEIGHTS + np.log1p(bet[:, None] * (total - m * size)).sum(axis=1)) + math.log(delta))

    mean = total.sum() / size.sum()
    return float(brentq(beyond, least + 1e-9 * (mean - least), mean, xtol=1e-15))


def units_of(total: np.ndarray, size: np.ndarray) -> Units:
    return Units.joined([Units.of(Histogram.of(total[size == n]), n) for n in np.unique(size)])


@pytest.mark.parametrize("n", [3, 40, 3000])
@pytest.mark.parametrize("delta", [0.2, 0.025, 1e-6])
def test_on_the_edges_of_buckets_the_bound_is_that_of_the_raw_values(n: int, delta: float) -> None:
    rng = np.random.default_rng(n)
    x = rng.choice([0.0, -1.0, 0.5, 3.0], n, p=[0.6, 0.1, 0.2, 0.1])
    x[0] = 3.0
    found = lower_bound(Units.of(Histogram.of(x)).within(-2.0, 5.0), -2.0, delta)
    assert found == pytest.approx(exact(x, np.ones(n), -2.0, delta), abs=1e-6)


@pytest.mark.parametrize("clustered", [False, True])
def test_elsewhere_it_is_a_little_below_never_above(clustered: bool) -> None:
    rng = np.random.default_rng(5)
    for n in (10, 300, 5000):
        size = rng.integers(1, 6, n).astype(float) if clustered else np.ones(n)
        x = np.array([(rng.exponential(size=int(k)) * (rng.random(int(k)) < 0.4)).clip(0, 4).sum() for k in size])
        units = units_of(x, size).within(0.0, 4.0)
        for least in (0.0, -1.0):
            found, wanted = lower_bound(units, least, 0.025), exact(x, size, least, 0.025)
            assert found <= wanted + 1e-12
            assert found == pytest.approx(wanted, abs=0.01 * (units.mean - wanted))
        assert lower_bound(units, 0.0, 0.025) > lower_bound(units, -50.0, 0.025)  # the losing side limits the bet


def test_the_capital_falls_with_the_mean_that_is_bet_against() -> None:
    rng = np.random.default_rng(1)
    x, size = rng.normal(size=50).clip(-2, 2), np.ones(50)
    capitals = []
    for m in np.linspace(-1.99, 3.0, 200):
        bet = BETS / (m + 2.0)
        capitals.append(logsumexp(WEIGHTS + np.log1p(bet[:, None] * (x - m * size)).sum(axis=1)))
    assert (np.diff(capitals) < 0).all()


def test_the_bets_are_a_mixture() -> None:
    assert np.exp(WEIGHTS).sum() == pytest.approx(1.0, abs=1e-12)
    assert ((BETS > 0) & (BETS < 1)).all()


@pytest.mark.parametrize(("values", "chances", "least", "most"), [
    ([0.0, 1.0], [0.8, 0.2], 0.0, 1.0),
    ([-1.0, 0.0, 4.0], [0.2, 0.7, 0.1], -1.0, 4.0),
    ([-1.0, 0.0, 4.0], [0.2, 0.7, 0.1], -2.0, 8.0),
])  # fmt: skip
@pytest.mark.parametrize("delta", [0.025, 0.2, 0.5])
def test_over_all_logs_of_a_tiny_world_each_side_fails_with_chance_delta_at_most(
    values: list[float], chances: list[float], least: float, most: float, delta: float
) -> None:
    """Also if the log is looked at after every impression: bounds of all lengths must hold."""
    mean = float(np.dot(values, chances))
    misses = [0.0, 0.0]
    ends: dict[tuple[int, ...], tuple[float, float]] = {}
    for log in itertools.product(range(len(values)), repeat=6):
        failed = [False, False]
        for n in range(1, 7):
            seen = tuple(sorted(log[:n]))
            if seen not in ends:
                units = Units.of(Histogram.of(np.array(values)[list(seen)])).within(least, most)
                ends[seen] = lower_bound(units, least, delta), -lower_bound(units.mirrored(), -most, delta)
            lower, upper = ends[seen]
            failed[0] |= lower > mean
            failed[1] |= upper < mean
        for side in range(2):
            misses[side] += failed[side] * float(np.prod(np.array(chances)[list(log)]))
    assert max(misses) <= delta
    assert delta < 0.2 or max(misses) > 0  # it can fail


def test_many_groups_at_once_are_each_alone() -> None:
    rng = np.random.default_rng(2)
    parts = [Units.of(Histogram.of(rng.exponential(size=n))) for n in (1, 5, 0, 200)]
    starts = np.cumsum([0, *(len(part.counts) for part in parts)])
    least = np.array([0.0, -1.0, -3.0, 0.0])
    found = lower_bounds(starts, Units.joined(parts), least, 0.05)
    alone = [lower_bound(part, low, 0.05) for part, low in zip(parts, least, strict=True)]
    assert found == pytest.approx(alone, abs=2e-3)  # of many at once, the smallest bets are left out
    assert (found <= alone).all()
    assert found[2] == -3.0  # nothing was seen


def test_where_all_terms_are_the_least_the_bound_is_that() -> None:
    assert lower_bound(Units.of(Histogram.of([0.0] * 9)), 0.0, 0.025) == 0.0
    assert lower_bound(Units.of(Histogram.of([3.0] * 9)), -math.inf, 0.025) == -math.inf


def test_every_number_lies_between_the_edges_of_its_bucket() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=2000) * 10.0 ** rng.integers(-300, 300, 2000), [0.0, 1.0, 1.125, -1.0, 2.0]])
    low, high = edges(bucket_of(x))
    assert ((low <= x) & (x <= high)).all()
    assert ((high - low) <= 0.126 * np.abs(x) + 1e-300).all()


def test_an_open_side_has_no_end_and_two_have_no_interval() -> None:
    units = Units.of(Histogram.of([0.0, 1.0], [50, 50]))
    spread = Spread(value=0.5, stderr=0.05, impressions=100, terms=Terms(units, units, 0.0, math.inf))
    lower, upper = INTERVALS["betting"](spread, 0.95)
    assert 0.2 < lower < 0.5
    assert upper == math.inf
    both = Spread(value=0.5, stderr=0.05, impressions=100, terms=Terms(units, units, -math.inf, math.inf))
    with pytest.raises(NoInterval, match="how far a term can reach"):
        INTERVALS["betting"](both, 0.95)


@pytest.mark.parametrize("name", ["list", "pi", "rctr", "ip"])
def test_one_query_alone_has_the_bounds_of_the_whole(name: str) -> None:
    """And the sums of groups of rankings are the log's own."""
    log = world(400)
    log = {c: [v for v, q in zip(values, log["query"], strict=True) if q == "q"] for c, values in log.items()}
    question = Question.ask(cr.read_log(log), cr.read_policy({"q": ["a", "b"]}), logging="uniform")
    run = open_engine("duckdb").count(question.log, plan_for(frozenset(Need), question))
    [evidence] = question.evidences(run, frozenset(Need))
    done, _ = finished({name: ESTIMATORS[name].estimate(evidence)}, evidence, run, by_query=[name])
    terms, by_query = done[name].terms(), done[name].query_terms()
    value, n = done[name].value, evidence.counts.total
    for units in (terms.for_lower, terms.for_upper):
        assert units.sums.sum() / n == pytest.approx(value, rel=1e-9)
        assert units.counts.sum() == pytest.approx(n)
    whole = INTERVALS["betting"](Spread(value=value, stderr=0.1, impressions=n, terms=terms), 0.95)
    each = query_bounds(by_query, 0.95)
    assert (each[0][0], each[1][0]) == pytest.approx(whole, rel=1e-6)


def test_queries_are_bounded_alike_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Terms of other queries are strung together as they are; a query that is a part by itself is no special one."""
    rng = np.random.default_rng(1)
    query, term = rng.integers(0, 9, 300), rng.choice([0.0, 0.5, 1.0, 2.0], 300)
    query[query == 4] = 5  # one without impressions
    whole = QueryUnits.of(query, term)
    parts = [QueryUnits.of(query[query % 3 == i], term[query % 3 == i]) for i in range(3)]
    apart = [QueryUnits.of(query[query // 3 == i], term[query // 3 == i]) for i in (2, 0, 1)]
    for found in (QueryUnits.joined(parts), QueryUnits.joined(apart)):
        for name in ("queries", "sizes", "buckets", "counts", "sums"):
            np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    terms = QueryTerms(whole, whole, np.zeros(9), np.full(9, 2.0))
    at_once = query_bounds(terms, 0.9)
    monkeypatch.setitem(lower_bound.__globals__, "SOME", 5)
    np.testing.assert_array_equal(query_bounds(terms, 0.9), at_once)
