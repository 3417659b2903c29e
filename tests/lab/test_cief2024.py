"""cief2024: the click models on short lists against enumeration, the methods against slow ones, and the findings."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

from counterrank.click import Cascade, ClickModel, DependentClick, PositionBased
from counterrank.lab.cief2024.auto import auto_table, choose
from counterrank.lab.cief2024.methods import DELTAS, Logs, by_bound, by_ips, by_item_position, by_pseudoinverse, fitted
from counterrank.lab.cief2024.pages import PATTERNS, K, Pages, by_query, in_parts
from counterrank.lab.cief2024.sweep import sweep
from counterrank.lab.cief2024.truth import MODELS, Truth, arrange, evidence
from counterrank.lab.cief2024.worlds import RARE, labelled, read_yandex, truths
from seeds import seeds

DATA = os.environ.get("COUNTERRANK_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="COUNTERRANK_DATA is not set")


def pages(seed: int = 0, items: int = 7, lists: int = 5) -> Pages:
    rng = np.random.default_rng(seed)
    drawn = np.unique(np.array([rng.permutation(items)[:K] for _ in range(lists)]), axis=0)
    return Pages("q", drawn, rng.integers(0, 6, (len(drawn), len(PATTERNS))), items)


def truth(model: str, seed: int = 0) -> Truth:
    rng = np.random.default_rng(seed + 100)
    position = np.ones(K) if model == "cm" else rng.uniform(0.1, 0.9, K)
    return Truth(model, pages(seed), rng.uniform(0.05, 0.9, 7), position)


def of_library(made: Truth) -> ClickModel:
    if made.model == "cm":
        return Cascade(made.attraction)
    if made.model == "dcm":
        return DependentClick(made.attraction, 1 - made.position)
    return PositionBased(made.attraction, made.position)


@pytest.mark.parametrize("model", MODELS)
def test_chances_sum_to_one_and_have_the_library_models_marginals(model: str) -> None:
    made = truth(model)
    chances = made.chances()
    assert np.allclose(chances.sum(axis=1), 1)
    zeros = np.zeros(len(made.pages.lists), dtype=np.int64)
    expected = of_library(made).click_probabilities(zeros, made.pages.lists)
    assert np.allclose(chances @ PATTERNS, expected, atol=1e-12)


def test_dependent_click_patterns_by_walking_down_the_list() -> None:
    made = truth("dcm", 3)
    theta, leaves = made.attraction[made.pages.lists[0]], made.position
    for row, pattern in enumerate(PATTERNS):
        total = 0.0
        for last in range(K + 1):  # the user leaves content after the click at `last`, or never
            chance = 1.0
            for k, click in enumerate(pattern):
                if k > last:
                    chance *= not click
                elif click:
                    chance *= theta[k] * (leaves[k] if k == last else 1 - leaves[k])
                else:
                    chance *= 0.0 if k == last else 1 - theta[k]
            total += chance
        assert made.chances()[0, row] == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_evidence_is_the_papers_counts(model: str) -> None:
    log = pages(4)
    clicks, looks = np.zeros(log.items), np.zeros(log.items)
    at_position, last_clicks, size = np.zeros(K), np.zeros(K), log.size
    for row in log.seen:
        for pattern, often in zip(PATTERNS, row, strict=True):
            at_position += often * pattern
            if pattern.any():
                last_clicks[np.flatnonzero(pattern)[-1]] += often
    for shown, row in zip(log.lists, log.seen, strict=True):
        for pattern, often in zip(PATTERNS, row, strict=True):
            clicked = np.flatnonzero(pattern)
            for k, item in enumerate(shown):
                if model == "pbm":
                    looks[item] += often * at_position[k] / size
                    clicks[item] += often * at_position[k] / size * pattern[k]
                    continue
                end = K - 1 if len(clicked) == 0 else clicked[0] if model == "cm" else clicked[-1]
                looks[item] += often * (k <= end)
                clicks[item] += often * (k <= end) * pattern[k]
    found = evidence(model, log, log.seen)
    assert np.allclose(found.clicks, clicks)
    assert np.allclose(found.looks, looks)
    if model == "dcm":
        assert np.allclose(found.position, (last_clicks + 1) / (at_position + 2))
    if model == "pbm":
        assert np.allclose(found.position, at_position / size)


@pytest.mark.parametrize("model", MODELS)
def test_the_best_list_is_that_of_exhaustive_search(model: str) -> None:
    for seed in range(5):
        made = truth(model, seed)
        every = np.array(list(permutations(range(7), K)))
        assert made.best() == pytest.approx(made.value(every).max(), abs=1e-12)


def test_drawn_logs_have_the_models_clicks() -> None:
    made = truth("dcm", 1)
    drawn = made.draw(1000, 400, np.random.default_rng(0))
    assert (drawn.sum(axis=(1, 2)) == 1000).all()
    expected = made.pages.shares[:, None] * made.chances()
    error = np.sqrt(expected * (1 - expected) / 400_000)
    assert (np.abs(drawn.mean(axis=0) / 1000 - expected) < 5 * error + 1e-12).all()


def logs(seed: int = 0, runs: int = 6) -> Logs:
    made = truth("dcm", seed)
    seen = made.draw(60, runs, np.random.default_rng(seed))
    return Logs(made.pages, seen, evidence("dcm", made.pages, seen), np.zeros((runs, 7)))


def test_baselines_are_the_best_by_exhaustive_search() -> None:
    drawn = logs(2)
    size = 60
    every = np.array(list(permutations(range(7), K)))
    for clip in (2.0, 10.0, np.inf):
        (assigned,) = by_item_position(drawn, np.array([clip]))
        ips = by_ips(drawn, clip)
        for run, seen in enumerate(drawn.seen):
            by_list = np.minimum(clip, size / np.maximum(seen.sum(axis=1), 1)) * (seen @ PATTERNS).sum(axis=1)
            chosen = (drawn.pages.lists == ips[run]).all(axis=1).argmax()
            assert by_list[chosen] == by_list.max()
            value = np.zeros((7, K))
            for item, k in product(range(7), range(K)):
                there = drawn.pages.lists[:, k] == item
                clicks = seen[there][:, PATTERNS[:, k] == 1].sum()
                value[item, k] = min(clip, size / max(seen[there].sum(), 1)) * clicks
            totals = value[every, np.arange(K)].sum(axis=1)
            assert value[assigned[run], np.arange(K)].sum() == pytest.approx(totals.max())


def test_pseudoinverse_weights_are_those_of_numpys_pinv() -> None:
    drawn = logs(3, runs=3)
    chosen = by_pseudoinverse(drawn)
    for run, seen in enumerate(drawn.seen):
        n = seen.sum(axis=1)
        lists = drawn.pages.places.reshape(len(n), -1)
        gamma = (lists * n[:, None]).T @ lists / n.sum()
        right = lists.T @ (seen @ PATTERNS).sum(axis=1) / n.sum()
        weights = (np.linalg.pinv(gamma, rcond=1e-10) @ right).reshape(-1, K)
        left = set(np.flatnonzero(drawn.evidence.shown[run]).tolist())
        for k in range(K):
            best = max(weights[list(left), k])
            assert weights[chosen[run, k], k] == pytest.approx(best, abs=1e-9)
            left.remove(int(chosen[run, k]))


def test_bounds_rank_by_the_quantiles_of_scipy() -> None:
    from scipy.stats import beta

    drawn = logs(5)
    found = drawn.evidence
    prior = fitted(drawn)
    for delta, chosen in zip((0.1, 0.7), by_bound(drawn, "bayes", np.array([0.1, 0.7]), prior), strict=True):
        lower = beta.ppf(delta / 2, prior[0] + found.clicks, prior[1] + found.looks - found.clicks)
        lower[~found.shown] = -np.inf
        assert (chosen == arrange(lower, found.position)).all()


def test_pages_of_parts_share_numbers_and_rare_items_go() -> None:
    queries = ["a"] * 4 + ["b"]
    items = [["x", "y", "z", "w", "v"], ["x", "y", "z", "u"], ["x", "y", "z", "w"], ["x", "y"], ["x", "y", "z", "w"]]
    clicks = [[1, 0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 0, 0], [1, 1], [0, 0, 0, 0]]
    both = in_parts(queries, items, clicks, np.array([0, 1, 1, 0, 0]), 2)
    assert [part.size for part in both[0]] == [1, 2]
    assert (both[0][0].lists == both[0][1].lists).all()
    whole = by_query(queries, items, clicks)[0]
    assert whole.size == 3
    kept = whole.common(2)
    assert kept is not None
    assert kept.size == 2
    assert kept.items == 4
    assert whole.common(9) is None


def test_lists_of_labelled_documents_prefer_what_attracts() -> None:
    attraction = np.array([0.05] * 10 + [0.95] * 4)
    rng = np.random.default_rng(0)
    made = [labelled([("q", attraction)], "cm", 1, rng)[0] for _ in range(200)]
    shown = np.mean([(each.pages.shares[:, None] * (each.pages.lists >= 10)).sum() for each in made])
    assert shown > 0.7 * K
    assert np.mean([each.logged() for each in made]) > np.mean([each.random(rng, 100) for each in made])


@needs_data
@pytest.mark.parametrize("model", seeds(list(MODELS), 1))
def test_findings_on_yandex_sample(model: str) -> None:
    """Under the paper's truth Beta(1, 1) beats MLE for δ from 0.4 to 0.7, and item-position IPS at its best clip."""
    yandex, _, _ = read_yandex(Path(DATA or ""))
    found = sweep(truths(yandex[:10], model), size=1000, runs=200, seed=1, methods=("bayes", "ip-ips"))
    middle = (DELTAS > 0.39) & (DELTAS < 0.71)
    gap, se = found.less("bayes", "mle")
    assert (gap < -2 * se)[middle].all()
    gap, se = found.less("bayes", "ip-ips", found.lowest("ip-ips"))
    assert (gap < -2 * se)[middle].all()


@needs_data
def test_empirical_bayes_on_yandex_sample_without_rare_items() -> None:
    yandex, _, _ = read_yandex(Path(DATA or ""))
    found = sweep(truths(yandex[:10], "cm", RARE), size=1000, runs=200, seed=1, methods=("empirical-bayes",))
    gap, se = found.less("empirical-bayes", "mle")
    assert (gap < -2 * se).all()


@needs_data
@pytest.mark.slow
def test_reproduce_quick(tmp_path: Path) -> None:
    from counterrank.lab.cief2024 import reproduce

    result = reproduce(Path(DATA or ""), tmp_path, quick=True)
    assert {f"figure{n}" for n in ("2.1", "2.2", "3", "4", "5", "6", "7", "8", "9")} <= {
        Path(path).stem for path in result.pictures
    }
    assert result.to_json()


def test_delta_chosen_from_drawn_logs() -> None:
    """The errors at the chosen δ are those of the sweep, and never below the least of them."""
    known = [truth("cm", seed) for seed in (1, 2)]
    known = [replace(each, pages=replace(each.pages, query=f"q{n}")) for n, each in enumerate(known)]
    found = choose("made up", known, "bayes", 300, 3, 5)
    assert found.at in DELTAS
    assert found.best.mean() <= found.fixed.mean() + 1e-12
    assert (found.auto >= 0).all()
    table = auto_table([found])
    assert table.rows[0][:3] == ["made up", "cm", "bayes"]
    assert table.rows[-1][0] == "all, summed"
