"""Expectation–maximisation against enumeration of everything that is not seen; the objective never falls."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from click_worlds import CROWD, PAIRS, sampled

from counterrank.click import FITS, ClickCounts, Options, fit_clicks
from counterrank.click.climb import Climb

Draws = list[tuple[tuple, int]]  # (parameter, outcome) of every draw of a story
BY_STEPS = ["dcm-ml", "pbm", "ubm", "dbn", "ccm"]


def stories(name: str, shown: list[int], clicks: list[int], width: int, k: int = 0, reading: bool = True):
    """Every story that ends in these clicks, as the draws that it took. A draw that tells nothing is left out."""
    if k == len(shown):
        yield []
        return
    p, click = ("a", shown[k]), clicks[k]
    end = k + 1 == len(shown)
    if name in ("pbm", "ubm"):
        last = max((j + 1 for j in range(k) if clicks[j]), default=0)
        place = ("e", k) if name == "pbm" else ("e", k, last)
        for rest in stories(name, shown, clicks, width, k + 1):
            yield [(place, 1), (p, click), *rest]
            if not click:
                yield [(place, 0), *rest]
        return
    if not reading:
        if not click:
            yield from stories(name, shown, clicks, width, k + 1, False)
        return
    draws: list[tuple[Draws, bool]] = []  # what may come next: draws, and whether the user reads on
    if end:
        draws = [([(("go", k), 0)], False)] if name == "dcm-ml" and click and len(shown) == width else [([], False)]
    elif name == "dcm-ml":
        draws = [([(("go", k), on)], bool(on)) for on in (0, 1)] if click else [([], True)]
    elif name == "dbn":
        on = [([(("s", shown[k]), 0)] * click + [(("go",), g)], bool(g)) for g in (0, 1)]
        draws = on + ([([(("s", shown[k]), 1)], False)] if click else [])
    elif name == "ccm" and click:
        draws = [([(p, z), (("go", 2 + z), g)], bool(g)) for z, g in product((0, 1), repeat=2)]
    elif name == "ccm":
        draws = [([(("go", 1), g)], bool(g)) for g in (0, 1)]
    for taken, still in draws:
        for rest in stories(name, shown, clicks, width, k + 1, still):
            yield [(p, click), *taken, *rest]


def one_step(name: str, counts: ClickCounts, parameters: dict, prior: tuple[float, float]) -> tuple[dict, float]:
    """New parameters and the log-likelihood of the old ones, by summing over stories."""
    hits, trials = Counter(), Counter()
    likelihood = 0.0
    patterns = counts.patterns
    for coded, n in zip(patterns.coded, patterns.impressions, strict=True):
        row = [int(v) for v in coded if v >= 0]
        told = list(stories(name, [v >> 1 for v in row], [v & 1 for v in row], patterns.coded.shape[1]))
        weights = [
            np.prod([parameters[which] if outcome else 1 - parameters[which] for which, outcome in draws])
            for draws in told
        ]
        likelihood += n * np.log(sum(weights))
        for draws, weight in zip(told, weights, strict=True):
            for which, outcome in draws:
                trials[which] += n * weight / sum(weights)
                hits[which] += outcome * n * weight / sum(weights)
    alpha, beta = prior
    new = {which: (hits[which] + alpha) / (trials[which] + alpha + beta) for which in parameters}
    if name in ("pbm", "ubm"):
        new[("e", 0) if name == "pbm" else ("e", 0, 0)] = 1.0
    return new, likelihood


def named(name: str, model) -> dict:
    """A model's parameters under the names that stories give them."""
    out = {("a", p): value for p, value in enumerate(model.attraction)}
    if name == "dcm-ml":
        out |= {("go", k): value for k, value in enumerate(model.continuation)}
    elif name == "pbm":
        out |= {("e", k): value for k, value in enumerate(model.examination)}
    elif name == "ubm":
        out |= {("e", k, j): model.examination[k, j] for k in range(len(model.examination)) for j in range(k + 1)}
    elif name == "dbn":
        out |= {("s", p): value for p, value in enumerate(model.satisfaction)} | {("go",): model.perseverance}
    elif name == "ccm":
        out |= {("go", i + 1): value for i, value in enumerate(model.continuation)}
    return out


@pytest.mark.parametrize("name", BY_STEPS)
def test_steps_equal_sums_over_stories(name: str) -> None:
    counts = sampled(CROWD[name.removesuffix("-ml")], PAIRS, 60, seed=4, ragged=True)
    prior = (1.0, 1.5)
    plain = [FITS[name](counts, Options(prior, iterations=i, strides=False, tolerance=-1)) for i in (1, 2, 3)]
    parameters = named(name, plain[0].model)
    for i in (1, 2):
        chances = [v for v in parameters.values() if v < 1]
        parameters, likelihood = one_step(name, counts, parameters, prior)
        assert plain[i].trace[i] == pytest.approx(likelihood + Options(prior).penalty(np.array(chances)), abs=1e-8)
        got = named(name, plain[i].model)
        assert got.keys() == parameters.keys()
        assert got == pytest.approx(parameters, abs=1e-10)


@pytest.mark.parametrize("strides", [True, False])
@pytest.mark.parametrize("prior", [(0.0, 0.0), (1.0, 1.0), (0.5, 4.0)])
@pytest.mark.parametrize("name", BY_STEPS)
def test_the_objective_never_falls(name: str, prior: tuple[float, float], strides: bool) -> None:
    for seed in range(3):
        for crowd, scope in (("pbm", "pooled"), ("ccm", "query")):  # also where the model is wrong
            counts = sampled(CROWD[crowd], PAIRS, 80, seed, ragged=True)
            fit = FITS[name](counts, Options(prior, scope, 120, strides=strides))
            assert np.diff(fit.trace).min() >= -1e-9 * abs(fit.trace[0])
            assert np.isfinite(fit.trace).all()


@pytest.mark.parametrize("name", BY_STEPS)
def test_strides_reach_the_same_top_sooner(name: str) -> None:
    counts = sampled(CROWD[name.removesuffix("-ml")], PAIRS, 3_000, seed=2)
    slow = FITS[name](counts, Options(iterations=20_000, tolerance=1e-12, strides=False))
    fast = FITS[name](counts, Options(iterations=20_000, tolerance=1e-12))
    assert fast.iterations < slow.iterations
    assert fast.trace[-1] >= slow.trace[-1] - 1e-6 * abs(slow.trace[-1])


def test_iterations_are_counted_and_a_rise_at_the_end_is_said() -> None:
    counts = sampled(CROWD["ubm"], PAIRS, 500, seed=2)
    fit = fit_clicks("ubm", counts, iterations=4)
    assert not fit.converged
    assert "still rising" in fit.notes[0]
    steps = []
    Climb(lambda: steps.append(1) or float(len(steps)), [np.full(2, 0.5)]).run(7, 1e-9)
    assert len(steps) == 7
