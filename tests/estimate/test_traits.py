"""Laws of every estimator's traits: what it says of itself is what it does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import counterrank as cr
from counterrank.engine import open_engine
from counterrank.estimate import ESTIMATORS, ByClicks, Evidence, Linear, Need, Weighs
from counterrank.evaluate.plan import plan_for
from counterrank.evaluate.question import Question
from counterrank.policy import PlackettLuce, Scores

EVERY = frozenset(Need)


def evidence(logging: str = "log", target: str = "scores") -> Evidence:
    rng = np.random.default_rng(3)
    rows = [
        {
            "query": f"q{q}",
            "items": [f"i{i}" for i in items],
            "clicks": (rng.random(len(items)) < 0.4).astype(int).tolist(),
        }
        for q in rng.integers(3, size=300)
        for items in [rng.permutation(4)[: rng.integers(2, 4)]]
    ]
    pairs = [(f"q{q}", f"i{i}", float(s)) for q in range(3) for i, s in enumerate(rng.normal(size=4))]
    policy = PlackettLuce(Scores(*zip(*pairs, strict=True)), temperature=0.5)
    log = cr.read_log(pa.Table.from_pylist(rows))
    question = Question.ask(log, policy if target == "scores" else "logging", logging=logging)
    run = open_engine("duckdb").count(log, plan_for(EVERY, question))
    return question.evidence(run, EVERY)


@pytest.mark.parametrize("clip", [0.7, 1.5, np.inf])
@pytest.mark.parametrize("target", ["scores", "logging"])
@pytest.mark.parametrize("name", [n for n, e in ESTIMATORS.items() if Need.FEATURES not in e.needs])
def test_values_by_query_are_those_of_the_estimate(name: str, target: str, clip: float) -> None:
    on, estimator = replace(evidence(target=target), clip=clip), ESTIMATORS[name]
    np.testing.assert_allclose(estimator.by_query(on), estimator.estimate(on).per_query, rtol=1e-12)


@pytest.mark.parametrize("logging", ["log", "uniform"])
@pytest.mark.parametrize("name", [n for n, e in ESTIMATORS.items() if e.clips and Need.FEATURES not in e.needs])
def test_a_clip_at_the_largest_weight_clips_nothing(name: str, logging: str) -> None:
    on, estimator = evidence(logging), ESTIMATORS[name]
    largest = estimator.largest_weight(on)
    assert estimator.estimate(replace(on, clip=largest, memo={})).clipped == 0
    assert estimator.estimate(replace(on, clip=0.9 * largest, memo={})).clipped > 0


@pytest.mark.parametrize("name", ESTIMATORS)
def test_traits_go_together(name: str) -> None:
    estimator = ESTIMATORS[name]
    assert estimator.name == name
    assert estimator.assumption
    assert estimator.clips <= (estimator.weighs is not Weighs.NOTHING)
    assert (estimator.weighs is Weighs.NOTHING) == bool(estimator.blind)
    assert (Need.RANKINGS in estimator.needs) == (estimator.weighs is Weighs.RANKINGS)
    assert (estimator.misfits is not None) == (estimator.weighs is Weighs.ITEMS)
    assert not (estimator.self_normalised and estimator.clip_bias and estimator.clips)
    assert estimator.gives("reward") != (Need.CLICKS in estimator.needs)


def test_one_estimator_is_the_mean_of_the_log() -> None:
    assert [name for name, estimator in ESTIMATORS.items() if estimator.log_mean] == ["rctr"]


def test_positions_add_up() -> None:
    """What weighs positions is a sum over them: a backtest judges them one by one."""
    on = evidence()
    for estimator in ESTIMATORS.values():
        if estimator.weighs is Weighs.POSITIONS and isinstance(estimator, ByClicks):
            alone = [estimator.by_query(replace(on, weights=row)) for row in np.eye(len(on.weights))]
            np.testing.assert_allclose(np.sum(alone, axis=0), estimator.by_query(on), rtol=1e-12)
            assert isinstance(estimator.estimate(on), Linear)
