"""Each finding against numbers worked out by hand, by enumeration or by SciPy."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import scipy.stats

import counterrank as cr
from counterrank.engine import open_engine
from counterrank.estimate import Item
from counterrank.findings.click_model import misfits
from counterrank.findings.diagnosis import Finding
from counterrank.findings.tails import skewness, tail_of
from counterrank.setting.plan import plan_for
from counterrank.setting.question import Question
from counterrank.statistics.chi_square import holm, upper_tail
from counterrank.statistics.histogram import Histogram, Spreads


def found(result, key: str, estimator: str | None = None) -> Finding:
    (one,) = [f for f in result.diagnosis.findings if f.key == key and (estimator is None or estimator in f.estimators)]
    return one


def repeated(*rows: tuple[list[str], list[int], int], **columns: list) -> dict:
    """A log of one query: items, clicks, and how often."""
    items, clicks, n = zip(*rows, strict=True)
    return {"query": ["q"] * len(n), "items": list(items), "clicks": list(clicks), "impressions": list(n)} | columns


@pytest.mark.parametrize("x", [0.01, 0.7, 3.0, 12.0, 60.0, 400.0])
@pytest.mark.parametrize("freedom", [1, 2, 7, 40, 1000])
def test_chi_square_is_scipys(x: float, freedom: int) -> None:
    assert upper_tail(x, freedom) == pytest.approx(scipy.stats.chi2.sf(x, freedom), rel=1e-9, abs=1e-15)


def test_holm_by_hand() -> None:
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([]) == []


def test_tails_by_hand() -> None:
    """Weights 1 (90 times), 4 (9 times) and -64 (once); of 40 terms of 1, ten bring a quarter."""
    weight = Histogram.of([1.0, 4.0, -64.0, 0.0], [90, 9, 1, 100])
    tail = tail_of(Spreads(weight, Histogram.of([1.0, 0.0], [40, 160]), weight))
    assert tail.edges == [2.0**k for k in range(8)]
    assert tail.counts == [90, 0, 9, 0, 0, 0, 1]
    assert (tail.zero, tail.negative, tail.largest, tail.ten) == (100, 1 / 200, 64, 0.25)
    assert tail.largest_share == pytest.approx(64 / (90 + 36 + 64))


def test_skewness_of_a_mean() -> None:
    """Of a click that comes with chance p the skewness of the mean of n is (1 − 2p)/√(n·p·(1 − p))."""
    n, p = 400, 0.1
    influence = Histogram.of([1 - p, -p], [n * p, n * (1 - p)])
    assert skewness(influence) == pytest.approx((1 - 2 * p) / math.sqrt(n * p * (1 - p)))


def test_overlap_and_size() -> None:
    """Half of the target's mass was never logged: ab has 150 impressions of 400, ba 250, and ca none."""
    log = repeated((["a", "b"], [1, 0], 150), (["b", "a"], [0, 1], 250))
    target = {"query": ["q", "q"], "items": [["a", "b"], ["c", "a"]], "probability": [0.5, 0.5]}
    result = cr.evaluate(log, target, estimators="list")
    overlap = found(result, "overlap")
    assert overlap.level == "do not trust"
    assert overlap.numbers["unsupported"] == 0.5
    assert "50.0%" in overlap.words
    size = found(result, "size")
    assert size.numbers["effective_sample_size"] == pytest.approx(150)
    assert size.level == "trust"
    assert result.diagnosis.verdict == "do not trust"
    assert result.diagnosis.estimator == "list"


@pytest.mark.parametrize(("n", "level"), [(20, "do not trust"), (50, "caution"), (150, "trust")])
def test_few_impressions(n: int, level: str) -> None:
    log = repeated((["a"], [1], n // 2), (["a"], [0], n - n // 2), (["b"], [0], 5 * n))
    result = cr.evaluate(log, {"q": ["a"]}, estimators="ip")
    assert found(result, "size").level == level
    assert result.diagnosis.verdict == level


def test_ten_impressions() -> None:
    """Eleven clicks bring everything, ten of them 10/11."""
    result = cr.evaluate(repeated((["a"], [1], 11), (["a"], [0], 9989)), {"q": ["a"]}, estimators="ip")
    ten = found(result, "ten")
    assert ten.numbers["share"] == pytest.approx(10 / 11)
    assert ten.level == "do not trust"


def test_drift_is_the_analysis_of_variance() -> None:
    rng = np.random.default_rng(0)
    days = np.repeat(np.arange(5), 200)
    clicks = (rng.random(1000) < 0.2 + 0.1 * (days == 3)).astype(int)
    log = {"query": ["q"] * 1000, "items": [["a"]] * 1000, "clicks": clicks[:, None].tolist(), "day": days.tolist()}
    result = cr.evaluate(log, {"q": ["a"]}, estimators="ip")
    drift = found(result, "drift")
    statistic = scipy.stats.f_oneway(*(clicks[days == d] for d in range(5))).statistic
    assert drift.numbers["statistic"] == pytest.approx(4 * statistic)
    assert drift.numbers["chance"] == pytest.approx(scipy.stats.chi2.sf(4 * statistic, 4))
    table = result.days.to_pydict()
    assert table["mean"] == pytest.approx([clicks[days == d].mean() for d in range(5)])
    assert table["stderr"] == pytest.approx([scipy.stats.sem(clicks[days == d]) for d in range(5)])
    shifted = log | {"clicks": np.where(days == 3, 1, clicks)[:, None].tolist()}
    assert found(cr.evaluate(shifted, {"q": ["a"]}, estimators="ip"), "drift").level == "caution"


def test_errors_of_rounding_have_no_skewness() -> None:
    """Influences of ±7·10⁻⁷ beside terms of 60 are roots of what rounding leaves of squares."""
    noise = Histogram.of([0.0, 7e-7, -5e-15, -6e-7])
    assert skewness(noise, Histogram.of([0.0, -60.0])) is None
    assert skewness(noise, Histogram.of([0.0, 1e-6])) is not None
    assert skewness(Histogram.of([1.0, 1.0 + 1e-15, -1.0, -1.0]), Histogram.of([1.0])) == 0.0


def test_queries_that_carry_the_value() -> None:
    """One query of 30 has a third of all clicks in 2 % of the impressions, two more half of the rest."""
    queries = ["big"] + ["two"] + ["three"] + [f"q{i}" for i in range(27)]
    clicks = [60, 30, 30] + [2] * 27
    log = {"query": queries * 2, "items": [["a"]] * 60, "clicks": [[1]] * 30 + [[0]] * 30}
    log["impressions"] = clicks + [100 - c for c in clicks]
    result = cr.evaluate(log, {q: ["a"] for q in queries}, estimators="ip")
    carried = found(result, "queries")
    assert carried.level == "caution"
    assert carried.numbers["half"] == 2  # 60 + 30 of 174
    assert [each["query"] for each in carried.numbers["largest"]] == [
        "big",
        "three",
        "two",
    ]  # equal ones in the order of ids
    assert carried.numbers["largest"][0]["share"] == pytest.approx(60 / 174)


def position_matters(n: int = 4000) -> dict:
    """a is clicked half of the time at 1, and never at 2; b one time in ten anywhere."""
    half, tenth = n // 2, n // 10
    return repeated(
        (["a", "b"], [1, 0], half - tenth), (["a", "b"], [1, 1], tenth), (["a", "b"], [0, 0], half),
        (["b", "a"], [1, 0], tenth), (["b", "a"], [0, 0], n - tenth),
    )  # fmt: skip


def test_item_and_ip_disagree_where_position_matters() -> None:
    """ip: ab is worth 1/2 + 1/10. item: a has 1/4 and b 1/10 anywhere, and the target shows both once."""
    result = cr.evaluate(position_matters(), {"q": ["a", "b"]}, estimators="ip,item")
    gap = found(result, "disagreement")
    assert gap.numbers["difference"] == pytest.approx(0.35 - 0.6)
    assert gap.numbers["pair"] == ["item", "ip"]
    assert gap.level == "do not trust"
    assert gap.estimators == ["item"]
    assert "position matters" in gap.words
    assert found(result, "click-model").level == "do not trust"
    assert result.diagnosis.estimator == "ip"
    assert result.diagnosis.verdict == "trust"


def by_hand_positions() -> float:
    """Pairs a and b, 4000 at each position. Poisson shares: d of a is (1000, -1000), of b (0, 0)."""
    n, total = 4000.0, 0.0
    gap = np.array([1000.0, -1000.0])
    for clicks in (2000.0, 800.0):
        share = np.array([0.5, 0.5])
        each = share * (clicks - clicks * (clicks - 1) / (2 * n))
        project = np.eye(2) - np.outer(share, np.ones(2))
        total = total + project @ np.diag(each) @ project.T
    return float(gap @ np.linalg.pinv(total) @ gap)


def test_click_model_by_hand() -> None:
    result = cr.evaluate(position_matters(), {"q": ["a", "b"]}, estimators="ip,item")
    positions = found(result, "click-model").numbers["positions"]
    assert positions["freedom"] == 1
    assert positions["statistic"] == pytest.approx(by_hand_positions())


def test_a_click_model_that_holds_is_seldom_rejected() -> None:
    """At a chance of 0.001 (here 0.05), on position-based clicks of sparse pairs."""
    rejected, runs = 0, 200
    rng = np.random.default_rng(5)
    for _ in range(runs):
        n = 300
        pages = np.argsort(rng.random((n, 8)), axis=1)[:, :3]
        rate = np.linspace(0.2, 0.9, 8)[pages] / np.arange(1, 4)
        clicks = (rng.random((n, 3)) < rate).astype(int)
        log = {"query": [f"q{i % 30}" for i in range(n)], "items": pages.tolist(), "clicks": clicks.tolist()}
        question = Question.ask(cr.read_log(log), "uniform")
        run = open_engine("duckdb").count(question.log, plan_for(Item.needs, question))
        evidence = question.evidence(run, Item.needs).judging(question.target)
        curve = evidence.examination
        rejected += misfits(evidence, curve)[0].chance < 0.05
    assert 0.005 <= rejected / runs <= 0.1


def test_balance_tells_a_wrong_logging_policy() -> None:
    """Said to be even, in truth nine to one: the weights of a average 2·0.9."""
    log = repeated((["a"], [1], 450), (["a"], [0], 450), (["b"], [0], 100))
    result = cr.evaluate(log, {"q": ["a"]}, estimators="ip", logging="uniform")
    balance = found(result, "balance")
    assert balance.numbers["mean_weight"] == pytest.approx(1.8)
    assert balance.level == "do not trust"


def test_the_verdict_is_json_and_names_hostile_queries_whole() -> None:
    name = "<img onerror>" + "x" * 100
    log = {"query": [name] * 300 + ["r"] * 300, "items": [["a"], ["b"]] * 300, "clicks": [[1], [0], [0]] * 200}
    result = cr.evaluate(log, {name: ["a"], "r": ["a"]}, estimators="ip")
    verdict = json.loads(result.to_json())["verdict"]
    assert set(verdict) == {"level", "reason", "estimator", "findings"}
    largest = next(f for f in verdict["findings"] if f["key"] == "queries")["numbers"]["largest"]
    assert name in {each["query"] for each in largest}
    assert all(len(f["words"]) < 250 for f in verdict["findings"])


def test_comparisons_are_judged_too() -> None:
    log = position_matters()
    by_bound = cr.compare(log, {"q": ["a", "b"]}, {"q": ["b", "a"]}, estimator="genspec")
    assert by_bound.diagnosis.verdict == "do not trust"  # clicks do not follow 1/k
    assert by_bound.to_dict()["trust"]["level"] == "do not trust"
    assert by_bound.verdict == by_bound.to_dict()["verdict"]
    paired = cr.compare(log, {"q": ["a", "b"]}, {"q": ["b", "a"]}, estimator="ip")
    assert paired.diagnosis.verdict == "trust"
    missing = cr.compare(log, {"q": ["a", "c"]}, {"q": ["b", "a"]}, estimator="ip")
    assert missing.diagnosis.verdict == "do not trust"
    assert missing.diagnosis.reason.startswith("target: the log never shows 50.0%")
