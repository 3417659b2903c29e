"""Σ(ψ − ψ')² of two estimators is that of their difference in a pass of its own, on every engine."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import counterrank as cr
from counterrank.engine import open_engine
from counterrank.estimate import ESTIMATORS
from counterrank.judging.evaluate import finished
from counterrank.setting.need import Need
from counterrank.setting.plan import plan_for
from counterrank.setting.question import Question

NAMES = ("ip", "wip", "pbm", "item")


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
@pytest.mark.parametrize("logging", [None, "uniform"])
def test_differences(engine: str, logging: str | None) -> None:
    rng = np.random.default_rng(1)
    pages = [[("a", "b", "c", "d")[i] for i in rng.permutation(4)[: 2 + (n % 2)]] for n in range(700)]
    clicks = [[int(x) for x in rng.random(len(page)) < 0.4] for page in pages]
    log = {"query": [f"q{n % 3}" for n in range(700)], "items": pages, "clicks": clicks}
    target = {f"q{i}": ["a", "c", "b"] for i in range(3)}
    question = Question.ask(cr.read_log(log), target, logging=logging, examination=[1, 0.7, 0.4])
    run = open_engine(engine).count(question.log, plan_for(frozenset({Need.MARGINALS}), question))
    evidence = question.evidence(run, frozenset({Need.MARGINALS})).judging(question.target)
    drafts = {name: ESTIMATORS[name].estimate(evidence) for name in NAMES}
    done, joint = finished(drafts, evidence, run)
    bare = {name: draft.thin.total() for name, draft in drafts.items()}
    for a, b in itertools.product(NAMES, NAMES):
        if a == b:
            assert joint.products[a, b] + bare[a] == pytest.approx(done[a].second_moment), a
            continue
        gap = replace(drafts[a], thin=None).less(replace(drafts[b], thin=None))
        wanted = finished({"gap": gap}, evidence, run)[0]["gap"].second_moment
        assert joint.of_difference(a, b) == pytest.approx(wanted + bare[a] + bare[b], rel=1e-9, abs=1e-9), (a, b)
    assert joint.of_difference("ip", "list") is None
