"""How often the bounds from a fit's evidence hold: attractions are drawn from the prior, so nominal means nominal."""

from __future__ import annotations

import numpy as np
import pytest
from click_worlds import make_pairs, sampled
from scipy.stats import beta

from counterrank.click import Cascade, DependentClick, PositionBased, fit_clicks

PRIOR = (1.0, 4.0)
PAIRS = make_pairs(queries=1, items=8, positions=4)
USERS = {
    "cm": Cascade,
    "dcm": lambda a: DependentClick(a, [0.8, 0.7, 0.6, 0.0]),
    "pbm": lambda a: PositionBased(a, [1.0, 0.6, 0.4, 0.3]),
}


def coverage(users: str, fit: str, n: int, delta: float, runs: int = 150) -> float:
    held = []
    for run in range(runs):
        a = np.random.default_rng(run).beta(*PRIOR, len(PAIRS))
        found = fit_clicks(fit, sampled(USERS[users](a), PAIRS, n, 10_000 + run), prior=PRIOR, iterations=200).looks
        lower = beta.ppf(delta / 2, PRIOR[0] + found.clicks, PRIOR[1] + found.looks - found.clicks)
        held.append((lower <= a).mean())
    return float(np.mean(held))


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.1, 0.4])
@pytest.mark.parametrize("n", [50, 500, 5_000])
def test_bounds_of_likelihoods_hold_about_as_often_as_they_say(n: int, delta: float) -> None:
    assert coverage("cm", "cm", n, delta) == pytest.approx(1 - delta / 2, abs=0.03)
    assert coverage("dcm", "dcm-ml", n, delta) == pytest.approx(1 - delta / 2, abs=0.07)
    assert coverage("pbm", "pbm", n, delta) == pytest.approx(1 - delta / 2, abs=0.07)


@pytest.mark.slow
def test_bounds_of_the_papers_counts_do_not() -> None:
    assert coverage("dcm", "dcm", 5_000, 0.1) < 0.5
    assert coverage("pbm", "pbm-paper", 5_000, 0.4) > 0.95  # attraction far too low
