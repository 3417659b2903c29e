"""Histograms of influences carry the estimators' own Σψ, Σψ² and value; bootstrap intervals for all of them."""

import numpy as np
import pytest

import counterrank as cr
from counterrank.engine import open_engine
from counterrank.estimate import ESTIMATORS
from counterrank.judging.evaluate import estimates_of
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need
from counterrank.setting.plan import plan_for
from counterrank.setting.question import Question

NAMES = ["list", "wlist", "ip", "wip", "pbm", "item", "rctr", "pi", "wpi"]
SCORES = {"q": {"a": 1.0, "b": 0.5, "c": 0.0}, "r": {"a": 0.0, "x": 0.3, "y": 0.6}}


def world(n: int = 4000, seed: int = 0, reward: bool = False) -> dict:
    rng = np.random.default_rng(seed)
    log: dict = {"query": [], "items": [], "reward" if reward else "clicks": []}
    for _ in range(n):
        query = "q" if rng.random() < 0.6 else "r"
        items = list(SCORES[query])
        page = [items[i] for i in rng.permutation(3)[:2]]
        log["query"].append(query)
        log["items"].append(page)
        rate = [0.2 + 0.3 * (page[0] == "a"), 0.1 + 0.2 * (page[1] == "x")]
        if reward:
            log["reward"].append(float(sum(rate) + rng.normal()))
        else:
            log["clicks"].append([int(rng.random() < p) for p in rate])
    return log


def estimates(log: dict, engine: str, logging: object = None, **options: object) -> tuple[dict, Evidence]:
    question = Question.ask(cr.read_log(log), cr.policy.PlackettLuce(SCORES, 0.7), logging=logging, **options)
    needs = frozenset(Need) - {Need.PATTERNS}
    run = open_engine(engine).count(question.log, plan_for(needs, question))
    evidence = question.evidence(run, needs).judging(question.target)
    names = [n for n in NAMES if "clicks" in log or ESTIMATORS[n].gives("reward")]
    return estimates_of(names, evidence, run)[0], evidence


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
@pytest.mark.parametrize("logging", [None, "uniform"])
@pytest.mark.parametrize("clip", [None, 1.2])
@pytest.mark.parametrize("reward", [False, True])
def test_spreads_carry_the_sums(engine: str, logging: str | None, clip: float | None, reward: bool) -> None:
    log = world(1500, reward=reward)
    found, evidence = estimates(log, engine, logging, clip=clip)
    n = evidence.counts.total
    for name, estimate in found.items():
        spreads = estimate.spreads()
        for histogram in (spreads.influence, spreads.term, spreads.weight):
            assert histogram.total == pytest.approx(n), name
        assert spreads.influence.sums.sum() == pytest.approx(0, abs=1e-6 * n), name
        squares = spreads.influence.counts @ spreads.influence.means**2
        assert squares == pytest.approx(estimate.second_moment, rel=0.02), name  # buckets, and rates from few
        if name != "wip":  # whose positions have weights of their own
            value = spreads.term.sums.sum() / n
            assert value == pytest.approx(estimate.value, abs=1e-9), name


def test_engines_fill_the_same_buckets() -> None:
    log = world(800)
    log["clicks"][0] = [0, 0]
    one, other = (estimates(log, engine)[0] for engine in ("duckdb", "ibis"))
    for name in NAMES:
        a, b = one[name].spreads(), other[name].spreads()
        for mine, theirs in ((a.influence, b.influence), (a.term, b.term), (a.weight, b.weight)):
            gap = (mine + theirs).buckets
            assert len(gap) <= len(mine.buckets) + 3, name  # a number at a bucket's edge may fall to either side
            assert mine.sums.sum() == pytest.approx(theirs.sums.sum(), abs=1e-9), name


@pytest.mark.parametrize("reward", [False, True])
def test_bootstrap_intervals_are_close_to_normal_ones_for_many_impressions(reward: bool) -> None:
    log = world(reward=reward)
    target = cr.policy.PlackettLuce(SCORES, 0.7)
    normal, drawn = (cr.evaluate(log, target, interval=kind) for kind in ("normal", "bootstrap"))
    for one, other in zip(normal.rows, drawn.rows, strict=True):
        assert other.interval == "bootstrap"
        assert other.lower == pytest.approx(one.lower, abs=0.15 * (one.upper - one.lower)), one.estimator
        assert other.upper == pytest.approx(one.upper, abs=0.15 * (one.upper - one.lower)), one.estimator


def test_bounded_intervals_where_they_apply_and_a_reason_where_not() -> None:
    log = world()
    target = cr.policy.PlackettLuce(SCORES, 0.7)
    for kind in ("hoeffding", "empirical-bernstein"):
        got = cr.evaluate(log, target, interval=kind, logging="uniform")
        for row in got.rows:
            if row.estimator in ("wlist", "wip", "wpi"):
                assert row.lower is None
                assert any(f"no {kind} interval: it needs a bounded term" in text for text in row.warnings)
            else:
                assert row.lower < row.value < row.upper
    by_hand = cr.evaluate(log, target, interval="hoeffding", estimators="rctr").rows[0]
    assert by_hand.upper - by_hand.value == pytest.approx(2 * np.sqrt(np.log(40) / 8000))
    only_pi = cr.evaluate(log, target, interval="theorem3")
    assert [row.estimator for row in only_pi.rows if row.lower is not None] == ["pi"]


def test_thin_evidence_gets_a_t_interval() -> None:
    log = {"query": ["q"] * 20, "items": [["a", "b"], ["b", "a"]] * 10, "clicks": [[1, 0], [0, 1], [0, 0], [0, 0]] * 5}
    row = cr.evaluate(log, {"q": ["a", "b"]}, estimators="ip").rows[0]
    assert row.interval == "t"
    assert row.upper - row.value > 2.09 * row.stderr  # t with 10 − 1 degrees of freedom is 2.26
    assert cr.evaluate(log, {"q": ["a", "b"]}, estimators="ip", interval="normal").rows[0].interval == "normal"
