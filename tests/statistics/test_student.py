"""Student's quantile, against SciPy's."""

from __future__ import annotations

import math

import pytest
from scipy.special import stdtrit

from counterrank.statistics.student import student_quantile


@pytest.mark.parametrize("freedom", [1.0, 1.3, 2.0, 4.0, 29.9, 99.0, 500.0, 2999.0, 3000.0, 1e5, 1e9])
@pytest.mark.parametrize("chance", [0.5, 0.51, 0.75, 0.9, 0.975, 0.9995, 1 - 1e-6, 1 - 1e-9])
def test_quantiles_are_scipys(freedom: float, chance: float) -> None:
    assert student_quantile(chance, freedom) == pytest.approx(float(stdtrit(freedom, chance)), rel=1e-9, abs=1e-12)


def test_certainty_has_no_bound() -> None:
    assert student_quantile(1.0, 5.0) == math.inf
