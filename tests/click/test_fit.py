"""Fits against independent calculations: closed forms by loops, expectation–maximisation by plain enumeration."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from click_worlds import make_pairs, sampled

import worlds
from counterrank.click import (
    FITS,
    Cascade,
    ClickCounts,
    DependentClick,
    Options,
    PositionBased,
    fit_clicks,
    fit_examination,
    harvest_examination,
)
from counterrank.errors import InputError
from counterrank.evaluate import count_clicks

PAIRS = make_pairs(queries=3, items=5, positions=4)
A = np.random.default_rng(1).uniform(0.1, 0.7, len(PAIRS))
GO_ON = np.array([0.7, 0.6, 0.5, 0.0])
CURVE = np.array([1.0, 0.6, 0.4, 0.3])
CROWD = {"cm": Cascade(A), "dcm": DependentClick(A, GO_ON), "pbm": PositionBased(A, CURVE)}


def pages(counts):
    """(query, pairs, clicks, n) of each pattern, as plain lists."""
    patterns = counts.patterns
    for q, coded, n in zip(patterns.queries, patterns.coded, patterns.impressions, strict=True):
        row = [int(v) for v in coded if v >= 0]
        yield int(q), [v >> 1 for v in row], [v & 1 for v in row], int(n)


def test_cascade_counts_by_hand() -> None:
    log = {
        "query": ["q"] * 4,
        "items": [["a", "b", "c"], ["b", "a", "c"], ["a", "b", "c"], ["c", "a"]],
        "clicks": [[0, 1, 1], [1, 1, 0], [0, 0, 0], [0, 0]],
    }
    fit = fit_clicks("cm", count_clicks(log), prior=(1, 1))
    # examined: a in 1, 3, 4; b in 1 (clicked), 2 (clicked), 3; c in 3, 4
    assert fit.looks.looks.tolist() == [3, 3, 2]
    assert fit.looks.clicks.tolist() == [0, 2, 0]
    np.testing.assert_allclose(fit.model.attraction, [1 / 5, 3 / 5, 1 / 4])


def test_dependent_click_counts_of_the_paper_by_hand() -> None:
    log = {
        "query": ["q", "q", "q", "r"],
        "items": [["a", "b", "c"], ["b", "a", "c"], ["a", "b", "c"], ["a", "b", "c"]],
        "clicks": [[1, 1, 0], [1, 0, 0], [0, 0, 0], [0, 1, 0]],
    }
    counts = count_clicks(log)
    pooled = fit_clicks("dcm-paper", counts, prior=(0, 0))
    assert pooled.looks.looks.tolist() == [2, 3, 1, 1, 1, 0]
    assert pooled.looks.clicks.tolist() == [1, 2, 0, 0, 1, 0]
    # clicks at 1: two, one of them last; at 2: two, both last; at 3: none, so neither prior nor evidence
    np.testing.assert_allclose(pooled.model.continuation, [0.5, 0.0, 0.5])
    own = fit_clicks("dcm-paper", counts, prior=(1, 1), scope="query")
    np.testing.assert_allclose(own.model.continuation, [[2 / 4, 1 / 3, 1 / 2], [1 / 2, 1 / 3, 1 / 2]])


@pytest.mark.parametrize("scope", ["pooled", "query"])
@pytest.mark.parametrize("seed", range(3))
def test_position_based_of_the_paper_equals_equations_13_and_14(seed: int, scope: str) -> None:
    rows = worlds.make_rows(random.Random(seed), queries=3, style="plain")
    counts = count_clicks(worlds.to_arrow(rows))
    fit = fit_clicks("pbm-paper", counts, prior=(1, 2), scope=scope)
    queries, items = counts.pairs.query_ids.texts.to_pylist(), counts.pairs.item_ids.texts.to_pylist()
    for p, (q, i) in enumerate(zip(counts.pairs.queries, counts.pairs.items, strict=True)):
        same = [row for row in rows if scope == "pooled" or row["query"] == queries[q]]
        curve = [
            sum(row["clicks"][k] for row in same if k < len(row["items"])) / len(same)
            for k in range(counts.pairs.positions)
        ]
        looks = clicks = 0.0
        for row in rows:
            if row["query"] == queries[q] and items[i] in row["items"]:
                k = row["items"].index(items[i])
                looks += curve[k]
                clicks += curve[k] * row["clicks"][k]
        assert fit.looks.looks[p] == pytest.approx(looks, abs=1e-12)
        assert fit.looks.clicks[p] == pytest.approx(clicks, abs=1e-12)
        assert fit.model.attraction[p] == pytest.approx((1 + clicks) / (3 + looks), abs=1e-12)
        got = fit.model.examination if scope == "pooled" else fit.model.examination[q]
        np.testing.assert_allclose(got, curve, atol=1e-12)


def stories(model: str, a: list[float], at: list[float], clicks: list[int]):
    """Every hidden story that fits the clicks: (chance, examined or not by position)."""
    for seen in product((0, 1), repeat=len(a)):
        chance = 1.0
        for k, (look, click) in enumerate(zip(seen, clicks, strict=True)):
            if model == "pbm":
                chance *= at[k] if look else 1 - at[k]
            elif k == 0:
                chance *= look
            elif not seen[k - 1]:
                chance *= 1 - look
            else:
                on = at[k - 1] if clicks[k - 1] else 1.0
                chance *= on if look else 1 - on
            chance *= (a[k] if click else 1 - a[k]) if look else 1 - click
        if chance > 0:
            yield chance, seen


def one_step(model: str, counts, a: np.ndarray, at: np.ndarray, prior: tuple[float, float]):
    """One step of expectation–maximisation by enumeration, and the log-likelihood before it."""
    alpha, beta = prior
    looks, clicks = np.zeros(len(a)), np.zeros(len(a))
    went, could = np.zeros(len(at)), np.zeros(len(at))
    likelihood = 0.0
    for _, shown, clicked, n in pages(counts):
        told = list(stories(model, [a[p] for p in shown], list(at), clicked))
        total = sum(chance for chance, _ in told)
        likelihood += n * np.log(total)
        for chance, seen in told:
            w = n * chance / total
            for k, p in enumerate(shown):
                looks[p] += w * seen[k]
                clicks[p] += w * clicked[k]
                if model == "pbm":
                    could[k] += w
                    went[k] += w * seen[k]
                elif clicked[k] and k + 1 < len(shown):
                    could[k] += w
                    went[k] += w * seen[k + 1]
                elif clicked[k] and len(shown) == len(at):
                    could[k] += w
    mean = (went + alpha) / (could + alpha + beta)
    if model == "pbm":
        mean[0] = 1.0
    return (clicks + alpha) / (looks + alpha + beta), mean, likelihood, looks


@pytest.mark.parametrize("model", ["dcm", "pbm"])
def test_expectation_maximisation_equals_enumeration(model: str) -> None:
    counts = sampled(CROWD[model], PAIRS, 60, seed=4, ragged=True)
    prior = (1.0, 1.0)
    if model == "dcm":
        start = fit_clicks("dcm-paper", counts).model
        a, at = start.attraction, start.continuation
    else:
        a, at = np.full(len(PAIRS), 0.5), np.array([1.0, 0.5, 0.5, 0.5])
    trace = []
    for _ in range(3):
        chances = (a, at[1:] if model == "pbm" else at)
        a, at, likelihood, looks = one_step(model, counts, a, at, prior)
        trace.append(likelihood + Options(prior).penalty(*chances))
    fit = fit_clicks(model, counts, prior=prior, iterations=3)
    np.testing.assert_allclose(fit.model.attraction, a, atol=1e-12)
    np.testing.assert_allclose(fit.model.continuation if model == "dcm" else fit.model.examination, at, atol=1e-12)
    np.testing.assert_allclose(fit.trace, trace, atol=1e-9)
    assert (fit.looks.looks <= looks + 1e-9).all()  # a look that only may have happened tells less
    np.testing.assert_allclose(fit.looks.clicks / fit.looks.looks, counts.clicked.sum(axis=1) / looks, rtol=1e-9)
    assert not fit.converged
    assert "still rising" in fit.notes[0]


@pytest.mark.parametrize("prior", [(0.0, 0.0), (1.0, 1.0), (0.5, 4.0)])
@pytest.mark.parametrize("scope", ["pooled", "query"])
@pytest.mark.parametrize("model", ["dcm", "pbm"])
def test_the_objective_never_falls(model: str, scope: str, prior: tuple[float, float]) -> None:
    for seed in range(3):
        counts = sampled(CROWD["pbm"], PAIRS, 80, seed, ragged=True)
        trace = np.array(fit_clicks(model, counts, prior=prior, scope=scope, iterations=200).trace)
        assert np.diff(trace).min() >= -1e-9 * abs(trace[0])


def test_position_based_without_prior_reaches_the_top_that_newton_finds() -> None:
    counts = sampled(CROWD["pbm"], PAIRS, 20_000, seed=3)
    fit = fit_clicks("pbm", counts, prior=(0, 0), iterations=5_000)
    best = fit_examination(counts.shown, counts.clicked)
    assert fit.trace[-1] == pytest.approx(best.log_likelihood, rel=1e-7)
    np.testing.assert_allclose(fit.model.examination, best.examination, atol=2e-3)


@pytest.mark.parametrize("model", CROWD)
@pytest.mark.parametrize("scope", ["pooled", "query"])
def test_fits_find_the_parameters_with_an_error_that_halves_when_data_is_fourfold(model: str, scope: str) -> None:
    def error(n: int, seed: int) -> float:
        fit = fit_clicks(model, sampled(CROWD[model], PAIRS, n, seed), scope=scope, iterations=300)
        return float(np.sqrt(np.mean((fit.model.attraction - A) ** 2)))

    few = np.mean([error(1_000, seed) for seed in range(6)])
    many = np.mean([error(16_000, seed) for seed in range(6)])
    assert few / many == pytest.approx(4, rel=0.35)
    assert many < 0.03


def test_the_papers_dependent_click_counts_overrate_and_the_default_does_not() -> None:
    model = DependentClick(A, np.full(4, 0.8))
    counts = sampled(model, PAIRS, 60_000, seed=9)
    paper, better = (fit_clicks(name, counts, iterations=200).model for name in ("dcm-paper", "dcm"))
    assert (paper.attraction - A).mean() > 0.02
    assert abs((better.attraction - A).mean()) < 0.005
    np.testing.assert_allclose(better.continuation[:3], 0.8, atol=0.03)


def test_harvesting_finds_the_curve_of_position_based_users() -> None:
    counts = sampled(CROWD["pbm"], PAIRS, 200_000, seed=5)
    np.testing.assert_allclose(harvest_examination(counts.shown, counts.clicked).examination, CURVE, atol=0.02)
    fixed = np.diag([10, 10, 10])
    with pytest.raises(InputError, match="no item was shown at two positions"):
        harvest_examination(fixed, fixed // 2)


def test_most_logged_rankings() -> None:
    log = {
        "query": ["q", "q", "q", "r", "r", "s"],
        "items": [["a", "b"], ["b", "a"], ["b", "a"], ["d", "c"], ["c", "d"], ["e"]],
        "clicks": [[0, 0], [0, 1], [1, 0], [0, 0], [0, 0], [1]],
    }
    for options in ({"rankings": True}, {"patterns": True}):
        for engine in ("duckdb", "ibis"):
            counts = count_clicks(log, engine=engine, **options)
            rows, often = counts.most_logged()
            names = counts.pairs.item_ids.texts.to_pylist()
            found = {
                query: [names[counts.pairs.items[p]] for p in row if p >= 0]
                for query, row in zip(counts.pairs.query_ids.texts.to_pylist(), rows, strict=True)
            }
            assert found == {"q": ["b", "a"], "r": ["c", "d"], "s": ["e"]}  # r is a tie
            assert dict(zip(counts.pairs.query_ids.texts.to_pylist(), often.tolist(), strict=True)) == {
                "q": 2, "r": 1, "s": 1,
            }  # fmt: skip


def test_what_cannot_be_fitted_is_said() -> None:
    log = {"query": ["q"], "items": [["a", "b"]], "clicks": [[1, 0]]}
    counts = count_clicks(log)
    with pytest.raises(InputError, match="patterns=True"):
        fit_clicks("dcm", counts)
    with pytest.raises(InputError, match="rankings=True"):
        counts.most_logged()
    with pytest.raises(InputError, match="unknown click model 'dmc'"):
        fit_clicks("dmc", counts)
    with pytest.raises(InputError, match="prior"):
        fit_clicks("cm", counts, prior=(-1, 1))
    with pytest.raises(InputError, match="column 'clicks' is missing"):
        count_clicks({"query": ["q"], "items": [["a"]], "reward": [1.0]})
    assert set(FITS) >= {"cm", "dcm", "dcm-paper", "pbm", "pbm-paper"}


def test_unseen_pairs_get_the_prior() -> None:
    counts = sampled(CROWD["cm"], make_pairs(1, 2, 1), 10, seed=0)
    wider = ClickCounts.of(make_pairs(2, 2, 1), counts.patterns)
    for model in FITS:
        fit = fit_clicks(model, wider, prior=(2, 6))
        if fit.looks is not None:
            np.testing.assert_allclose(fit.model.attraction[2:], 0.25)
