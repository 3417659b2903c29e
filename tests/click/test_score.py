"""Log-likelihood and perplexity by loops; their errors by leaving impressions out."""

from __future__ import annotations

import numpy as np
import pytest
from click_worlds import CROWD, PAIRS, patterns_of, sampled

from counterrank.click import fit_clicks
from counterrank.click.score import FLOOR, score
from counterrank.statistics.patterns import Patterns


@pytest.mark.parametrize("name", CROWD)
def test_scores_equal_plain_loops(name: str) -> None:
    patterns = sampled(CROWD["ubm"], PAIRS, 200, seed=3, ragged=True).patterns
    model = CROWD[name]
    got = score(model, patterns)
    total = impossible = 0.0
    bits, shown = np.zeros(4), np.zeros(4)
    for q, ranking, clicks, n in zip(
        patterns.queries, patterns.rankings, patterns.clicks, patterns.impressions, strict=True
    ):
        length = int((ranking >= 0).sum())
        given = model.conditional_probabilities(q[None], ranking[None], clicks[None])[0]
        alone = model.click_probabilities(q[None], ranking[None])[0]
        chances = [given[k] if clicks[k] else 1 - given[k] for k in range(length)]
        total += n * sum(np.log(max(c, FLOOR)) for c in chances) / length
        impossible += n * any(c <= 0 for c in chances)
        for k in range(length):
            shown[k] += n
            bits[k] -= n * np.log2(max(alone[k] if clicks[k] else 1 - alone[k], FLOOR))
    assert got.log_likelihood == pytest.approx(total / patterns.total, abs=1e-12)
    np.testing.assert_allclose(got.by_position, 2 ** (bits / shown), rtol=1e-12)
    assert got.perplexity == pytest.approx(np.mean(2 ** (bits / shown)), abs=1e-12)
    assert got.impossible == impossible
    assert (impossible > 0) == (name == "cm")


def test_errors_of_differences_are_those_of_leaving_impressions_out() -> None:
    counts = sampled(CROWD["ubm"], PAIRS, 400, seed=3, ragged=True)
    one, other = fit_clicks("ubm", counts).model, fit_clicks("rank-ctr", counts).model
    patterns = counts.patterns
    got = score(one, patterns).better(score(other, patterns))
    n = patterns.total
    left = []
    for g in range(len(patterns)):
        rest = patterns.impressions.copy()
        rest[g] -= 1
        without = Patterns(patterns.queries, patterns.coded, rest)
        difference = score(one, without).better(score(other, without))
        left.append([difference["log_likelihood"][0], difference["perplexity"][0]])
    left, weight = np.array(left), patterns.impressions / n
    mean = weight @ left
    jackknife = np.sqrt((n - 1) * weight @ (left - mean) ** 2)
    assert got["log_likelihood"][1] == pytest.approx(jackknife[0], rel=0.02)
    assert got["perplexity"][1] == pytest.approx(jackknife[1], rel=0.02)
    assert got["log_likelihood"][0] < 0 < got["perplexity"][0]


def test_prophets_and_coins() -> None:
    queries, rankings = np.zeros(4, dtype=np.int64), np.tile([0, 1, 2, 3], (4, 1))
    patterns = patterns_of(queries, rankings, np.eye(4, dtype=np.int64))
    coin = score(type(CROWD["ctr"])(0.5), patterns)
    assert coin.perplexity == pytest.approx(2)
    assert coin.log_likelihood == pytest.approx(np.log(0.5))


def test_a_score_in_two_threads_and_small_parts_is_that_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = sampled(CROWD["ubm"], PAIRS, 400, seed=3, ragged=True).patterns
    one = score(CROWD["dcm"], patterns)
    monkeypatch.setattr("counterrank.click.score.WORTH", 1)
    monkeypatch.setattr("counterrank.click.score.CHUNK", 7)
    two = score(CROWD["dcm"], patterns)
    np.testing.assert_allclose(two.by_position, one.by_position, rtol=1e-13)
    np.testing.assert_allclose(two.influence, one.influence, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(two.logs, one.logs)
