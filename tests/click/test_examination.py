"""The examination curve against plain expectation–maximisation, and on logs with edges."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from scipy.optimize import nnls

from counterrank.click import fit_examination
from counterrank.click.examination import _linked, _not_negative
from counterrank.errors import InputError
from seeds import seeds


def log_likelihood(n: np.ndarray, c: np.ndarray, a: np.ndarray, e: np.ndarray) -> float:
    q, m = np.outer(a, e), n - c
    hits = c * np.log(np.where(c > 0, q, 1.0))
    return float(hits.sum() + (m * np.log1p(-np.where(m > 0, q, 0.0))).sum())


def plain_em(n: np.ndarray, c: np.ndarray, iterations: int) -> tuple[np.ndarray, float]:
    """Textbook steps from 0.5 everywhere."""
    a, e, m = np.full(n.shape[0], 0.5), np.full(n.shape[1], 0.5), n - c
    for _ in range(iterations):
        free = np.where(m > 0, 1 - np.outer(a, e), 1.0)
        attracted = c + m * np.outer(a, 1 - e) / free
        examined = c + m * np.outer(1 - a, e) / free
        a = attracted.sum(1) / np.maximum(n.sum(1), 1e-300)
        e = examined.sum(0) / np.maximum(n.sum(0), 1e-300)
    return e, log_likelihood(n, c, a, e)


def counts(seed: int, pairs: int, curve: np.ndarray, mean: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = rng.poisson(mean, (pairs, len(curve)))
    return n.astype(float), rng.binomial(n, np.outer(rng.beta(1, 4, pairs), curve)).astype(float)


def unscaled(fit) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[no-untyped-def]
    """Back inside the box: the scale drops out of the likelihood."""
    top = max(fit.examination.max(), 1.0)
    return fit.attraction * top, fit.examination / top


@pytest.mark.parametrize(
    ("pairs", "positions", "mean"), [(4, 2, 30), (5, 3, 20), (50, 5, 5), (200, 10, 1), (300, 10, 200), (60, 6, 2)]
)
@pytest.mark.parametrize("seed", seeds([1, 2], 1))
def test_reaches_the_likelihood_of_plain_em(pairs: int, positions: int, mean: float, seed: int) -> None:
    n, c = counts(seed, pairs, 1 / np.arange(1, positions + 1) ** 0.7, mean)
    fit = fit_examination(n, c)
    _, top = plain_em(n, c, 8000)
    assert fit.converged
    assert fit.log_likelihood >= top - 1e-6
    assert fit.log_likelihood == pytest.approx(log_likelihood(n, c, *unscaled(fit)), abs=1e-8)
    assert (unscaled(fit)[0] <= 1 + 1e-12).all()


@pytest.mark.parametrize(("pairs", "positions", "mean"), [(5, 3, 20), (300, 10, 200)])
def test_finds_the_curve_of_plain_em(pairs: int, positions: int, mean: float) -> None:
    n, c = counts(3, pairs, 1 / np.arange(1, positions + 1) ** 0.7, mean)
    fit = fit_examination(n, c)
    e, top = plain_em(n, c, 30_000 if pairs < 10 else 8000)
    assert fit.log_likelihood == pytest.approx(top, abs=1e-6)
    np.testing.assert_allclose(fit.examination, e / e[0], atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_no_feasible_move_raises_the_likelihood_of_sparse_logs(seed: int) -> None:
    """Plain EM can stall in rounding beside the edge at 1, below the top: check the top itself."""
    n, c = counts(seed, 400, 1 / np.arange(1, 9) ** 0.7, 0.4)
    fit = fit_examination(n, c)
    a, e = unscaled(fit)
    top = log_likelihood(n, c, a, e)
    assert top >= plain_em(n, c, 3000)[1] - 1e-6
    rng = np.random.default_rng(seed)
    for size in 10.0 ** -np.arange(1, 6):
        for _ in range(50):
            moved_e = np.minimum(e * np.exp(size * rng.normal(size=len(e))), 1)
            moved_a = np.minimum(a * np.exp(size * rng.normal(size=len(a))), 1)
            with np.errstate(divide="ignore"):
                assert log_likelihood(n, c, a, moved_e) <= top + 1e-7
                assert log_likelihood(n, c, moved_a, e) <= top + 1e-7
                assert log_likelihood(n, c, moved_a, moved_e) <= top + 1e-7


def test_edges_do_not_stop_it() -> None:
    n, c = counts(5, 40, np.array([1, 0.6, 0.4, 0.3]), 8)
    c[0] = 0  # never clicked
    c[1] = n[1]  # always clicked
    c[:, 2] = 0  # a position never clicked
    n[2, 1:] = c[2, 1:] = 0  # shown at one position only
    n[3] = c[3] = 0  # never shown
    n, c = np.insert(n, 3, 0, axis=1), np.insert(c, 3, 0, axis=1)  # a position nobody was shown
    fit = fit_examination(n, c)
    assert fit.converged
    assert fit.log_likelihood >= plain_em(n, c, 20_000)[1] - 1e-6
    assert fit.attraction[0] == 0
    assert fit.attraction[3] == 0
    assert fit.examination[2] == 0
    assert fit.examination[3] == 0
    assert np.isfinite(fit.examination).all()
    assert any("position 3 was never clicked" in note for note in fit.notes)
    assert any("nobody was shown position 4" in note for note in fit.notes)


@pytest.mark.parametrize(
    ("clicked", "expected"),
    [
        ([[10, 10], [20, 20]], [1, 1]),  # all clicked
        ([[10, 10], [20, 0]], None),  # one position clicked always by one pair, never by another
        ([[5, 10], [10, 20]], [1, 2]),  # position 2 is looked at more than position 1
    ],
)
def test_always_clicked(clicked: list[list[int]], expected: list[float] | None) -> None:
    n, c = np.array([[10, 10], [20, 20]]), np.array(clicked)
    fit = fit_examination(n, c)
    assert fit.log_likelihood >= plain_em(n.astype(float), c.astype(float), 5000)[1] - 1e-6
    if expected:
        np.testing.assert_allclose(fit.examination, expected, rtol=1e-6)


def test_positions_without_a_common_pair_keep_their_ratio_and_say_so() -> None:
    fit = fit_examination([[100, 0], [0, 100]], [[40, 0], [0, 20]])
    np.testing.assert_allclose(fit.examination, [1, 0.5], rtol=1e-6)
    assert fit.linked.tolist() == [True, False]
    assert "ratio of click-through rates" in fit.notes[0]
    assert fit.log_likelihood == pytest.approx(
        40 * np.log(0.4) + 60 * np.log(0.6) + 20 * np.log(0.2) + 80 * np.log(0.8)
    )


def test_recovers_a_simulated_curve_at_scale_in_time() -> None:
    curve = 1 / np.arange(1, 11)
    n, c = counts(11, 50_000, curve, 20)
    fit_examination(n[:10], c[:10])  # compile
    began = time.process_time()
    fit = fit_examination(n, c)
    assert time.process_time() - began < 5
    np.testing.assert_allclose(fit.examination, curve, rtol=0.03)
    assert fit.notes == ()


def test_wrong_counts_are_refused() -> None:
    with pytest.raises(InputError, match="position 1 was never shown"):
        fit_examination([[0, 5]], [[0, 2]])
    with pytest.raises(InputError, match="position 1 has no clicks"):
        fit_examination([[5, 5]], [[0, 2]])
    with pytest.raises(InputError, match="clicked ≤ shown"):
        fit_examination([[5, 5]], [[6, 2]])
    with pytest.raises(InputError, match=r"clicked \(1, 1\)"):
        fit_examination([[5, 5]], [[1]])


def test_stopped_early_says_so() -> None:
    n, c = counts(1, 50, 1 / np.arange(1, 6), 5)
    fit = fit_examination(n, c, max_iterations=1)
    assert not fit.converged
    assert "still rising" in fit.notes[-1]


@pytest.mark.parametrize("seed", range(40))
def test_what_must_not_be_negative_is_found_as_scipy_finds_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 12))
    half = rng.normal(size=(size, size)) * 10.0 ** rng.uniform(-2, 1, size)
    matrix = half.T @ half + 1e-8 * np.eye(size)
    upper = np.linalg.cholesky(matrix).T
    wanted = rng.normal(size=size) * np.diag(matrix) ** 0.5
    expected, _ = nnls(upper, np.linalg.solve(upper.T, wanted))
    assert _not_negative(matrix, upper, wanted) == pytest.approx(expected, rel=1e-6, abs=1e-9 * expected.max(initial=1))


def test_positions_are_linked_by_way_of_others() -> None:
    seen = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 1]], dtype=bool)
    assert _linked(seen).tolist() == [True, True, True, False, False]


def test_a_step_that_begins_on_the_edge_and_stays_there() -> None:
    """Found among random logs: the fit met 0/0 there, and went on with what is no number."""
    shown = [
        [0, 0, 2, 0],
        [1, 1, 0, 0],
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [1, 0, 0, 1],
        [2, 1, 0, 0],
        [0, 2, 1, 0],
        [2, 0, 2, 1],
    ]
    clicked = [[0, 0, 1, 0], [0] * 4, [1, 0, 0, 0], [0] * 4, [1, 0, 0, 0], [2, 1, 0, 0], [0, 1, 1, 0], [2, 0, 1, 0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = fit_examination(shown, clicked)
    assert np.isfinite(fit.examination).all()
    assert ((fit.examination >= 0) & (fit.examination <= 1)).all()
    assert fit.converged
