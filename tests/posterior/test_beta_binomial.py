"""ebrank2023's loss (eq. 13) against SciPy, exact products and differences in sixty digits, and at the edges."""

from __future__ import annotations

from decimal import Decimal, getcontext

import numpy as np
import pytest
from scipy.special import betaln

from counterrank.posterior import terms

getcontext().prec = 60
STEP = Decimal(10) ** -20


def rising(a: Decimal, n: int) -> Decimal:
    """log Γ(a + n) − log Γ(a) for whole n: a product."""
    total = Decimal(0)
    for i in range(n):
        total += (a + i).ln()
    return total


def loss(clicks: int, looks: int, log_alpha: Decimal, log_beta: Decimal) -> Decimal:
    alpha, beta = log_alpha.exp(), log_beta.exp()
    return rising(alpha + beta, looks) - rising(alpha, clicks) - rising(beta, looks - clicks)


@pytest.mark.parametrize(
    ("clicks", "looks", "alpha", "beta"),
    [(0, 7, "0.03", "5"), (3, 20, "2.5", "5"), (20, 20, "900", "0.4"), (1, 1, "1e-12", "5"), (5, 60, "1e8", "3e7")],
)
def test_slopes_are_those_of_sixty_digits(clicks: int, looks: int, alpha: str, beta: str) -> None:
    a, b = Decimal(alpha).ln(), Decimal(beta).ln()
    found = terms(clicks, looks, float(alpha), float(beta))
    by_alpha = (loss(clicks, looks, a + STEP, b) - loss(clicks, looks, a - STEP, b)) / (2 * STEP)
    by_beta = (loss(clicks, looks, a, b + STEP) - loss(clicks, looks, a, b - STEP)) / (2 * STEP)
    size = max(1.0, looks)
    assert float(found.loss) == pytest.approx(float(loss(clicks, looks, a, b)), rel=1e-9, abs=1e-9)
    assert float(found.by_alpha) == pytest.approx(float(by_alpha), rel=1e-6, abs=1e-7 * size)
    assert float(found.by_beta) == pytest.approx(float(by_beta), rel=1e-6, abs=1e-7 * size)


def test_the_loss_is_scipys_with_clicks_cut_to_looks() -> None:
    rng = np.random.default_rng(0)
    looks = rng.integers(0, 50, 500).astype(float)
    clicks = rng.uniform(0, 2, 500) * looks
    alpha, beta = rng.gamma(1.0, 4.0, 500) + 1e-3, rng.gamma(1.0, 4.0, 500) + 1e-3
    cut = np.minimum(clicks, looks)
    expected = betaln(alpha, beta) - betaln(cut + alpha, looks - cut + beta)
    assert terms(clicks, looks, alpha, beta).loss == pytest.approx(expected, abs=1e-9)


def test_no_number_breaks_it() -> None:
    """10⁶ draws, C > n + β and α = 1e-300 among them."""
    rng = np.random.default_rng(1)
    size = 1_000_000
    looks = np.floor(10 ** rng.uniform(-1, 6, size))
    clicks = looks * rng.choice([0.0, 0.3, 1.0, 1.5, 30.0], size) + rng.choice([0.0, 9.0], size)
    alpha, beta = (10 ** rng.uniform(-300, 300, size) for _ in range(2))
    alpha[:1000], beta[1000:2000] = 1e-300, 1e-300
    for each in terms(clicks, looks, alpha, beta):
        assert np.isfinite(each).all()
    assert (terms(clicks, looks, alpha, beta).information >= 0).all()


def test_where_the_mean_is_right_the_slope_is_nearly_none() -> None:
    """Eq. 25: with much evidence the best α/(α + β) is C/n."""
    alpha = 500 * 0.3 / 0.7
    found = terms(3000.0, 10000.0, alpha, 500.0)
    below, above = (terms(3000.0, 10000.0, alpha * by, 500.0).by_alpha for by in (0.8, 1.25))
    assert below < 0 < above
    assert abs(found.by_alpha) < 0.05 * min(-below, above)
