"""Estimators for users who read from the top are doubted where what stands below an item matters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterrank as cr
from counterrank.comparing.choose import deciding
from counterrank.findings.below import beginning_alike
from counterrank.findings.diagnosis import Finding
from counterrank.findings.strata import Strata
from counterrank.statistics.sample import NO_DAY
from judging.user_worlds import make


@pytest.mark.parametrize(("users", "matters"), [("cascade", False), ("neighbours", True)])
def test_below(users: str, matters: bool) -> None:
    world = make(users, 2, queries=5, items=5, places=3, sharp=0.4, strength=1.5)
    found = cr.evaluate(world.log(12_000, 7), world.targets["mild"][0], estimators="rips").diagnosis.findings
    [below] = [each for each in found if each.key == "below"]
    assert below.estimators == ["rips"]
    assert (below.numbers["chance"] < 0.01) == matters
    assert matters or below.level == "trust"


def test_strata_of_beginnings() -> None:
    rows = np.array([[0, 1, 2], [0, 1, -1], [0, 2, 1], [1, 0, 2]])
    number, none = np.ones(4), np.zeros(rows.shape)
    keys, cell = np.unique(rows, return_inverse=True)
    strata = Strata(
        queries=np.zeros(4, dtype=np.int64), rows=rows, clicks=none, number=number, days=np.full(4, NO_DAY), keys=keys,
        cell=cell.reshape(rows.shape), share=1.0,
    )  # fmt: skip
    found = beginning_alike(strata)
    assert found.cell.tolist() == [[0, 2, 5], [0, 2, 8], [0, 3, 6], [1, 4, 7]]
    assert len(found.keys) == 8


def test_nobody_wins_by_a_bias() -> None:
    """A bound that is 0.02 away from 0, and a bias of 0.015 ± 0.005: that may be all there is."""
    log = {"query": ["q"] * 400, "items": [["a", "b"], ["b", "a"]] * 200, "clicks": [[1, 0], [0, 1]] * 200}
    row = cr.evaluate(log, {"q": ["a", "b"]}, estimators="ip")["ip"]
    for bias, level in ((0.015, "do not trust"), (0.005, "caution")):
        finding = Finding(
            "neighbours", "caution", "what stands beside matters", ["ip"], {"bias": bias, "stderr": 0.005}
        )
        for lower, upper in ((0.02, 0.3), (-0.3, -0.02)):
            assert deciding(finding, replace(row, lower=lower, upper=upper)).level == level
        assert deciding(finding, replace(row, lower=-0.1, upper=0.1)).level == "caution"
