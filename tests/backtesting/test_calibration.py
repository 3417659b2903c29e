"""Predictions beside what came of them."""

from __future__ import annotations

import numpy as np
import pytest

import counterrank as cr

# clicks of four impressions a day: query q gets 4, then 0; query r gets 2 and 2
ROWS = {
    "query": ["q"] * 8 + ["r"] * 8,
    "items": [["a"]] * 16,
    "clicks": [[1]] * 4 + [[0]] * 4 + [[1], [0]] * 4,
    "day": [1] * 4 + [2] * 4 + [1] * 4 + [2] * 4,
}


def test_by_hand() -> None:
    found = cr.backtest(ROWS, estimators="ip", problems=["all"], calibrated=("rctr", 1.0)).calibration
    assert found is not None
    # the mean of the other day is the prediction: q's day 1 is predicted 0 and gets 1, its day 2 the other way round
    assert found.predicted == pytest.approx([0.0, 0.5, 0.5, 1.0])
    assert found.observed == pytest.approx([1.0, 0.5, 0.5, 0.0])
    # a day of r has two clicks of four: variance 1/3, of its mean 1/12; the days of q have no spread of their own
    assert found.stderr == pytest.approx([0.0, np.sqrt(1 / 12), np.sqrt(1 / 12), 0.0])


def test_a_right_model_is_calibrated() -> None:
    rng = np.random.default_rng(5)
    chance = {"a": 0.8, "b": 0.5, "c": 0.1}
    queries, orders = (
        [f"q{i % 30}" for i in range(30_000)],
        [list(rng.permutation(["a", "b", "c"])) for _ in range(30_000)],
    )
    clicks = [[int(rng.random() < chance[x] / (k + 1)) for k, x in enumerate(o)] for o in orders]
    rows = {"query": queries, "items": orders, "clicks": clicks, "day": rng.integers(1, 6, 30_000).tolist()}
    found = cr.backtest(rows, estimators="pbm", problems=["all"], calibrated=("pbm", np.inf)).calibration
    assert found is not None
    assert np.all(np.diff(found.predicted) > 0)
    off = np.abs(np.array(found.predicted) - found.observed) / np.array(found.stderr)
    assert np.all(off < 4)


def test_only_what_can_be_tested() -> None:
    with pytest.raises(cr.InputError, match="cannot test 'pi'"):
        cr.backtest(ROWS, problems=["all"], calibrated=("pi", 1.0))
