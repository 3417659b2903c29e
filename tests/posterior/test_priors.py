"""Priors: the likelihood of equation 8, the paper's grid, and the best fit inside a box."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import betaln, digamma, gammaln, polygamma
from scipy.stats import beta as beta_distribution

from counterrank.errors import InputError
from counterrank.posterior import BOUNDS, choose_prior, log_likelihood, quantile, read_prior
from counterrank.posterior._gamma import bend_rise, log_rise, slope_rise

BOX = (-10 * math.log(2), 20 * math.log(2))


def plain(clicks: np.ndarray, looks: np.ndarray, alpha: float, beta: float) -> float:
    return float((betaln(alpha + clicks, beta + looks - clicks) - betaln(alpha, beta)).sum())


def best_by_scipy(clicks: np.ndarray, looks: np.ndarray) -> float:
    starts = [(0, 0), (3, 6), (-4, -4), (10, 12), (-6, 10), (13, 13), (13, -6)]
    found = [
        minimize(lambda x: -plain(clicks, looks, *np.exp(x)), start, bounds=[BOX] * 2, method="L-BFGS-B",
                 options={"ftol": 1e-15, "gtol": 1e-10}).fun
        for start in starts
    ]  # fmt: skip
    return -min(found)


@pytest.mark.parametrize("a", [2**-10, 0.5, 3.3, 9.99, 500.0])
@pytest.mark.parametrize("n", [0.0, 0.37, 1.0, 7.7, 1e6])
def test_differences_of_gamma_are_scipys(a: float, n: float) -> None:
    assert log_rise(a, n) == pytest.approx(gammaln(a + n) - gammaln(a), rel=1e-11, abs=1e-11)
    assert slope_rise(a, n) == pytest.approx(digamma(a + n) - digamma(a), rel=1e-10, abs=1e-10)
    assert bend_rise(a, n) == pytest.approx(polygamma(1, a + n) - polygamma(1, a), rel=1e-9, abs=1e-9)


def test_huge_arguments_lose_nothing() -> None:
    # log Γ(a + 3) − log Γ(a) = log a(a+1)(a+2), which SciPy's difference gets to 9 digits only
    a = 2.0**20
    assert log_rise(a, 3.0) == pytest.approx(math.log(a) + math.log(a + 1) + math.log(a + 2), rel=1e-15)


def test_the_likelihood_is_the_integral_of_equation_8() -> None:
    clicks, looks, alpha, beta = np.array([2.0, 0.0, 0.0]), np.array([5.0, 3.0, 0.0]), 1.5, 4.0
    beta_at = math.exp(betaln(alpha, beta))
    each = [
        quad(lambda z, c=c, n=n: z ** (alpha + c - 1) * (1 - z) ** (beta + n - c - 1) / beta_at, 0, 1)[0]
        for c, n in zip(clicks, looks, strict=True)
    ]
    assert log_likelihood(clicks, looks, alpha, beta) == pytest.approx(sum(map(math.log, each)), abs=1e-9)


def test_the_grid_is_searched_per_query_and_globally() -> None:
    rng = np.random.default_rng(3)
    looks = rng.integers(0, 60, 30).astype(float)
    clicks = rng.binomial(looks.astype(int), rng.beta(1, 6, 30)).astype(float)
    starts = np.array([0, 8, 8, 19, 30])
    grid = [2.0**i for i in range(10)]

    def best(rows: slice) -> tuple[float, float]:
        return max(itertools.product(grid, grid), key=lambda ab: plain(clicks[rows], looks[rows], *ab))

    found = choose_prior("grid", clicks, looks, starts)
    for q in (0, 2, 3):
        assert (found.alpha[q], found.beta[q]) == best(slice(starts[q], starts[q + 1]))
    assert found.pair is None
    assert choose_prior("grid", clicks, looks, starts, "global").pair == best(slice(None))


@pytest.mark.parametrize("fractions", [False, True])
def test_a_fit_is_the_best_there_is_and_never_worse_than_the_grid(fractions: bool) -> None:
    rng = np.random.default_rng(5)
    for truth, most in itertools.product([(1, 8), (0.2, 0.5), (50, 500)], [3, 30, 3000]):
        size = int(rng.integers(1, 25))
        looks = rng.integers(0, most, size).astype(float)
        clicks = rng.binomial(looks.astype(int), rng.beta(*truth, size)).astype(float)
        if fractions:
            looks, clicks = looks * 0.37, clicks * 0.37
        starts = np.array([0, size])
        fit, grid = (choose_prior(name, clicks, looks, starts) for name in ("fit", "grid"))
        reached = plain(clicks, looks, fit.alpha[0], fit.beta[0])
        assert reached >= best_by_scipy(clicks, looks) - 1e-6
        at_grid = log_likelihood(clicks, looks, grid.alpha[0], grid.beta[0])
        assert log_likelihood(clicks, looks, fit.alpha[0], fit.beta[0]) >= at_grid


def test_a_fit_stays_in_its_box_and_says_when_it_ends_on_an_edge() -> None:
    same = np.array([10.0, 10.0, 10.0]), np.array([100.0, 100.0, 100.0])  # equal rates: α + β rises for ever
    found = choose_prior("fit", *same, np.array([0, 3]))
    assert found.edge.tolist() == [True]
    assert max(found.alpha[0], found.beta[0]) == 2.0**20
    assert found.alpha[0] / found.beta[0] == pytest.approx(1 / 9, rel=1e-3)
    nothing = choose_prior("fit", np.zeros(2), np.array([5.0, 9.0]), np.array([0, 2]))  # no click: α falls for ever
    assert nothing.alpha[0] == 2.0**-10
    assert nothing.edge.all()
    spread = choose_prior("fit", np.array([1.0, 50.0, 90.0]), np.full(3, 100.0), np.array([0, 3]))
    assert not spread.edge.any()


def test_a_global_fit_groups_equal_items_and_changes_nothing() -> None:
    rng = np.random.default_rng(8)
    looks = rng.integers(1, 6, 500).astype(float)
    clicks = rng.binomial(looks.astype(int), rng.beta(1, 4, 500)).astype(float)
    starts = np.arange(0, 501, 10)
    shared = choose_prior("fit", clicks, looks, starts, "global")
    alone = choose_prior("fit", clicks, looks, np.array([0, 500]))
    assert shared.pair == pytest.approx((alone.alpha[0], alone.beta[0]), rel=1e-6)
    assert len(shared.alpha) == 50


def test_a_query_without_looks_has_the_uniform_prior() -> None:
    found = choose_prior("fit", np.zeros(2), np.zeros(2), np.array([0, 2]))
    assert (found.alpha[0], found.beta[0]) == (1.0, 1.0)
    assert not found.edge.any()


@pytest.mark.parametrize(("text", "hint"), [("gird", "did you mean 'grid'"), ("1", "two numbers"), ("0,1", "above 0")])
def test_priors_that_make_no_sense_are_refused(text: str, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        read_prior(text)


def test_of_equally_likely_priors_on_the_grid_the_smallest_is_taken() -> None:
    """One item clicked once, one not: αβ/(α+β)² is the same for all α = β."""
    found = choose_prior("grid", np.array([1.0, 0.0]), np.array([1.0, 1.0]), np.array([0, 2]))
    assert (found.alpha[0], found.beta[0]) == (1.0, 1.0)


def test_a_prior_is_given_for_all_for_each_query_or_for_each_item() -> None:
    rng = np.random.default_rng(9)
    starts = np.array([0, 3, 3, 10])
    looks = rng.integers(0, 50, 10).astype(float)
    clicks = rng.binomial(looks.astype(int), 0.3).astype(float)
    alpha, beta = rng.uniform(0.1, 9, 10), rng.uniform(0.1, 90, 10)
    by_item = choose_prior((alpha, beta), clicks, looks, starts)
    assert by_item.by_item
    assert by_item.pair is by_item.of_query(0) is None
    by_query = choose_prior((alpha[:3], 2.0), clicks, looks, starts)
    assert by_query.of_query(2) == (alpha[2], 2.0)
    for_all = choose_prior((1.5, 4.0), clicks, looks, starts)
    assert for_all.pair == for_all.of_query(1) == (1.5, 4.0)
    of = np.repeat([0, 1, 2], np.diff(starts))
    whole = {"item": (by_item, alpha, beta), "query": (by_query, alpha[of], np.full(10, 2.0)),
             "all": (for_all, np.full(10, 1.5), np.full(10, 4.0))}  # fmt: skip
    for prior, a, b in whole.values():
        assert [part.tolist() for part in prior.on(starts)] == [a.tolist(), b.tolist()]
        slow = beta_distribution.ppf(0.1, a + clicks, b + looks - clicks)
        np.testing.assert_allclose(BOUNDS["bayes"].lower(clicks, looks, 0.2, *prior.on(starts)), slow, rtol=1e-9)
        for level in (0.025, 0.5, 0.975):
            slow = beta_distribution.ppf(level, a + clicks, b + looks - clicks)
            np.testing.assert_allclose(quantile(clicks, looks, level, *prior.on(starts)), slow, rtol=1e-9)
        expected = float((betaln(a + clicks, b + looks - clicks) - betaln(a, b)).sum())
        assert log_likelihood(clicks, looks, *prior.on(starts)) == pytest.approx(expected, rel=1e-10)
    # an item's bound depends on its own prior alone
    other = choose_prior((np.r_[alpha[:9], 50.0], beta), clicks, looks, starts)
    before, after = (BOUNDS["bayes"].lower(clicks, looks, 0.2, *prior.on(starts)) for prior in (by_item, other))
    assert (before[:9] == after[:9]).all()
    assert before[9] < after[9]


@pytest.mark.parametrize(
    "given", [(np.ones(4), 1.0), (np.ones(3), np.ones(10)), (np.ones((10, 1)), 1.0), (0.0, 1.0), (np.nan, 1.0),
              (np.r_[np.ones(9), np.inf], 1.0), (1.0, np.r_[np.ones(9), -1.0])],
)  # fmt: skip
def test_given_priors_that_make_no_sense_are_refused(given: tuple[object, object]) -> None:
    with pytest.raises(InputError, match="α and β") as caught:
        choose_prior(given, np.zeros(10), np.zeros(10), np.array([0, 3, 3, 10]))  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
