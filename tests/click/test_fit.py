"""Fits against independent calculations: closed forms by loops, expectation–maximisation by plain enumeration."""

from __future__ import annotations

import random

import numpy as np
import pytest
from click_worlds import CROWD, CURVE, PAIRS, A, make_pairs, random_rankings, sampled

import worlds
from counterrank.click import (
    FITS,
    ClickCounts,
    ClickModel,
    DependentClick,
    Options,
    fit_clicks,
    fit_examination,
    harvest_examination,
)
from counterrank.errors import InputError
from counterrank.setting.click_counts import count_clicks


def crowd(fit: str) -> ClickModel:
    """The users that a fit is right for."""
    return CROWD[fit.removesuffix("-ml")]


def likely(users: str) -> str:
    """The fit that finds what such users are like: the counts of dcm do not."""
    return "dcm-ml" if users == "dcm" else users


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
    pooled = fit_clicks("dcm", counts, prior=(0, 0))
    assert pooled.looks.looks.tolist() == [2, 3, 1, 1, 1, 0]
    assert pooled.looks.clicks.tolist() == [1, 2, 0, 0, 1, 0]
    # clicks at 1: two, one of them last; at 2: two, both last; at 3: none, so neither prior nor evidence
    np.testing.assert_allclose(pooled.model.continuation, [0.5, 0.0, 0.5])
    own = fit_clicks("dcm", counts, prior=(1, 1), scope="query")
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


def test_position_based_without_prior_reaches_the_top_that_newton_finds() -> None:
    counts = sampled(CROWD["pbm"], PAIRS, 20_000, seed=3)
    fit = FITS["pbm"](counts, Options((0, 0), iterations=5_000, tolerance=1e-12))
    best = fit_examination(*map(counts.cells.dense, (counts.shown, counts.clicked)))
    assert fit.trace[-1] == pytest.approx(best.log_likelihood, rel=1e-7)
    np.testing.assert_allclose(fit.model.examination, best.examination, atol=2e-3)


@pytest.mark.parametrize(
    ("model", "scope"),
    [*((likely(users), "pooled") for users in CROWD), ("dcm-ml", "query"), ("pbm", "query"), ("rank-ctr", "query")],
)
def test_fits_find_the_parameters_with_an_error_that_halves_when_data_is_fourfold(model: str, scope: str) -> None:
    def error(n: int, seed: int) -> float:
        fit = fit_clicks(model, sampled(crowd(model), PAIRS, n, seed), scope=scope, iterations=300)
        queries, rankings = random_rankings(PAIRS, 200, np.random.default_rng(0))
        got, true = (each.click_probabilities(queries, rankings) for each in (fit.model, crowd(model)))
        return float(np.sqrt(np.mean((got - true) ** 2)))

    seeds = range(100 if model == "ctr" else 8)  # one number's error is noisier than the mean of many
    few, many = (np.mean([error(n, seed) for seed in seeds]) for n in (1_000, 16_000))
    assert few / many == pytest.approx(4, rel=0.4)
    assert many < 0.03


@pytest.mark.parametrize("model", ["cm", "dcm-ml", "pbm", "ubm", "dbn", "ccm", "item-ctr"])
def test_fits_find_attraction(model: str) -> None:
    few, many = (
        np.mean([np.abs(fit_clicks(model, sampled(crowd(model), PAIRS, n, seed)).model.attraction - A).mean()
                 for seed in range(4)])
        for n in (2_000, 32_000)
    )  # fmt: skip
    assert many < 0.03
    assert 2 < few / many < 8


def test_other_parameters_are_found() -> None:
    logs = {users: sampled(CROWD[users], PAIRS, 100_000, seed=1) for users in CROWD}
    fits = {users: fit_clicks(likely(users), log, iterations=300).model for users, log in logs.items()}
    np.testing.assert_allclose(fits["dcm"].continuation[:3], CROWD["dcm"].continuation[:3], atol=0.03)
    np.testing.assert_allclose(fits["pbm"].examination, CURVE, atol=0.02)
    below = np.tril_indices(4)
    np.testing.assert_allclose(fits["ubm"].examination[below], CROWD["ubm"].examination[below], atol=0.08)
    np.testing.assert_allclose(fits["dbn"].satisfaction, CROWD["dbn"].satisfaction, atol=0.1)
    assert fits["dbn"].perseverance == pytest.approx(0.85, abs=0.03)
    np.testing.assert_allclose(fits["ccm"].continuation, CROWD["ccm"].continuation, atol=0.1)
    assert fits["ctr"].rate == pytest.approx(0.3, abs=0.005)
    np.testing.assert_allclose(fits["rank-ctr"].rates, CURVE / 2, atol=0.01)


def test_the_papers_dependent_click_counts_overrate_and_the_likelihood_does_not() -> None:
    model = DependentClick(A, np.full(4, 0.8))
    counts = sampled(model, PAIRS, 60_000, seed=9)
    paper, better = (fit_clicks(name, counts, iterations=200).model for name in ("dcm", "dcm-ml"))
    assert (paper.attraction - A).mean() > 0.02
    assert abs((better.attraction - A).mean()) < 0.005
    np.testing.assert_allclose(better.continuation[:3], 0.8, atol=0.03)


def test_harvesting_finds_the_curve_of_position_based_users() -> None:
    counts = sampled(CROWD["pbm"], PAIRS, 200_000, seed=5)
    tables = map(counts.cells.dense, (counts.shown, counts.clicked))
    np.testing.assert_allclose(harvest_examination(*tables).examination, CURVE, atol=0.02)
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
        fit_clicks("dcm-ml", counts)
    with pytest.raises(InputError, match="rankings=True"):
        counts.most_logged()
    with pytest.raises(InputError, match="unknown click model 'dmc'"):
        fit_clicks("dmc", counts)
    with pytest.raises(InputError, match="prior"):
        fit_clicks("cm", counts, prior=(-1, 1))
    with pytest.raises(InputError, match="column 'clicks' is missing"):
        count_clicks({"query": ["q"], "items": [["a"]], "reward": [1.0]})
    assert set(FITS) >= {"cm", "dcm", "dcm-ml", "pbm", "pbm-paper"}


def test_unseen_pairs_get_the_prior() -> None:
    counts = sampled(CROWD["cm"], make_pairs(1, 2, 1), 10, seed=0)
    wider = ClickCounts.of(make_pairs(2, 2, 1), counts.patterns)
    for model in FITS:
        fit = fit_clicks(model, wider, prior=(2, 6))
        if fit.looks is not None:
            np.testing.assert_allclose(fit.model.attraction[2:], 0.25)
