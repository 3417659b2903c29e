"""Tests within strata: against sums by hand, and against the estimates that they compare."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats

import counterrank as cr
from counterrank.engine.embedded import Embedded
from counterrank.findings.neighbours import by_neighbour, scores
from counterrank.findings.strata import Strata
from counterrank.setting.counting import count
from counterrank.setting.need import Need
from counterrank.setting.plan import plan_for
from counterrank.setting.question import Question
from counterrank.statistics.sample import NO_DAY, Sample, first_pairs
from judging.user_worlds import make


def sampled(log: object, engine: object = "duckdb") -> tuple[Sample, int]:
    question = Question.ask(cr.read_log(log), "uniform", metric="clicks")
    run = count(question, plan_for(frozenset({Need.CLICKS, Need.MARGINALS}), question), engine)
    return run.sample(run.counts.pairs), len(run.counts.pairs)


def drawn(n: int, seed: int, stop: bool = False, engaged: float = 0.0) -> dict:
    """Three of five items at random, for four queries, and users who look at position k with chance 1/k."""
    rng = np.random.default_rng(seed)
    query = rng.integers(0, 4, n)
    shown = np.argsort(rng.random((n, 5)), axis=1)[:, :3]
    rate = np.random.default_rng(1).uniform(0.1, 0.8, (4, 5))[query[:, None], shown] / np.arange(1, 4)
    rate = np.where((rng.random(n) < engaged)[:, None], np.minimum(3 * rate, 1.0), rate)
    clicks = (rng.random((n, 3)) < rate).astype(int)
    if stop:
        clicks[:, 1:] *= np.cumsum(clicks, axis=1)[:, :-1] == 0
    return {"query": query.tolist(), "items": shown.tolist(), "clicks": clicks.tolist()}


@pytest.mark.parametrize("engine", [Embedded(cache_bytes=100), "ibis"])
def test_engines_give_the_same_sample(engine: object) -> None:
    log = make("drift", 1, queries=3, items=4, places=3).log(400, 1)
    one, other = sampled(log)[0], sampled(log, engine)[0]
    for name in ("queries", "coded", "impressions", "days"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.impressions.sum() == 400
    assert one.share == other.share == 1.0
    assert NO_DAY not in one.days


def test_large_queries_are_sampled_by_what_stands_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterrank.statistics.sample.SHOWN", 300)  # a hundred impressions of three items
    log = drawn(400, 0)
    question = Question.ask(cr.read_log(log), "uniform", metric="clicks")
    run = count(question, plan_for(frozenset({Need.CLICKS, Need.MARGINALS}), question), "duckdb")
    first = first_pairs(run.counts.pairs, run.counts.shown_first, 1.0)
    taken = run.sample(run.counts.pairs)
    assert 0 < taken.impressions.sum() == run.counts.shown_first[first].sum() <= 100
    assert np.isin(taken.rows[:, 0], np.flatnonzero(first)).all()


def test_scores_by_hand() -> None:
    """Σ (f − mean)·click over strata, page by page, with residuals longer by √(n/(n − 1))."""
    sample, _ = sampled(drawn(60, 3))
    strata = Strata.of(sample)
    rng = np.random.default_rng(0)
    f = rng.random(strata.rows.shape)
    members: dict = {}
    for g, k in itertools.product(range(len(f)), range(3)):
        members.setdefault((strata.rows[g, k], k), []).append(g)
    total, parts = 0.0, np.zeros(len(f))
    for (_, k), groups in members.items():
        n = strata.number[groups]
        mean = (n @ f[groups, k]) / n.sum()
        rate = (n @ strata.clicks[groups, k]) / n.sum()
        total += float(n @ ((f[groups, k] - mean) * strata.clicks[groups, k]))
        if n.sum() > 1:
            longer = (n.sum() / (n.sum() - 1)) ** 0.5
            parts[groups] += (f[groups, k] - mean) * (strata.clicks[groups, k] - rate) * longer
    found = strata.score([f])
    assert found.total[0] == pytest.approx(total)
    assert found.variance[0, 0] == pytest.approx(float(strata.number @ parts**2))
    assert found.chance == pytest.approx(scipy.stats.chi2.sf(total**2 / found.variance[0, 0], 1))


def test_neighbours_are_hypergeometric() -> None:
    """One query, two items of three: the expected square is the sum of hypergeometric variances."""
    rng = np.random.default_rng(2)
    pages = [["abc"[i] for i in rng.permutation(3)[:2]] for _ in range(50)]
    clicks = rng.integers(0, 2, (50, 2)).tolist()
    found = by_neighbour(Strata.of(sampled({"query": ["q"] * 50, "items": pages, "clicks": clicks})[0]), -1)
    below = {item: [i for i, page in enumerate(pages) if page[1] == item] for item in "abc"}
    square = variance = 0.0
    for item, rows in below.items():
        hits = sum(clicks[i][1] for i in rows)
        for other in set("abc") - {item}:
            some = [i for i in rows if pages[i][0] == other]
            law = scipy.stats.hypergeom(len(rows), hits, len(some))
            square += (sum(clicks[i][1] for i in some) - law.mean()) ** 2
            variance += law.var()
    assert (found.statistic, found.expected) == pytest.approx((square, variance))


@pytest.mark.parametrize("less", ["list", "pi"])
def test_a_contrast_is_the_difference_of_the_estimates(less: str) -> None:
    """With shares, and all of the target shown, it is `ip` less the other."""
    log = drawn(12000, 5)
    target = {q: [0, 3, 1] for q in range(4)}
    result = cr.evaluate(log, target)
    [gap] = [f for f in result.diagnosis.findings if f.key == "disagreement" and f.numbers["pair"] == ["ip", less]]
    assert result[less].unsupported == pytest.approx(0.0, abs=1e-9)
    assert gap.numbers["difference"] == pytest.approx(result.value("ip") - result.value(less), abs=1e-9)
    alone = float(np.hypot(result["ip"].stderr, result[less].stderr))
    assert 0 < gap.numbers["stderr"] < alone


@pytest.mark.parametrize("engaged", [0.0, 0.2])
def test_false_alarms_are_few_and_cascades_are_found(engaged: float) -> None:
    """At a chance of 0.01, three tests together; clicks of engaged users hang on each other, which is no alarm."""
    alarms, runs = 0, 100
    for seed in range(runs):
        sample, pairs = sampled(drawn(600, seed, engaged=engaged))
        strata = Strata.of(sample)
        chances = [scores(strata, pairs).chance, by_neighbour(strata, -1).chance, by_neighbour(strata, 1).chance]
        alarms += 3 * min(chances) < 0.01
    assert alarms / runs <= 0.03
    strata = Strata.of(sampled(drawn(3000, 0, stop=True))[0])
    assert scores(strata, 20).chance < 1e-4
