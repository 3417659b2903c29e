"""Regressions against scikit-learn, NumPy and retrained trees; folds are by query."""

import numpy as np
import pyarrow as pa
import pytest

from counterrank.errors import InputError
from counterrank.regress import REGRESSIONS, Lasso, Ridge, Tree, folds_of
from counterrank.regress.base import Training
from counterrank.regress.moments import _standardised


def rows(n: int = 600, width: int = 6, seed: int = 0, noise: float = 0.5) -> tuple:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, width)) * np.arange(1, width + 1) + 100
    x[:, 2] = 7.0  # does not vary
    y = 3 + 0.5 * x[:, 0] - 0.2 * x[:, 3] + noise * rng.normal(size=n)
    weight = rng.integers(1, 4, n).astype(float)
    return x, y, weight, rng.integers(0, 5, n)


def given(name: str, data: tuple, chunks: int = 3) -> Training:
    training = REGRESSIONS[name](data[0].shape[1], 5)
    for part in np.array_split(np.arange(len(data[1])), chunks):
        training.add(*(column[part] for column in data))
    return training


@pytest.mark.parametrize("without", [None, 2])
def test_ridge_solves_its_normal_equations(without: int | None) -> None:
    x, y, w, fold = data = rows()
    fit = given("ridge", data).fit(without)
    keep = fold != without if without is not None else np.ones(len(y), dtype=bool)
    penalty = float(fit.chosen.split()[1])
    mean, my = np.average(x[keep], axis=0, weights=w[keep]), np.average(y[keep], weights=w[keep])
    sd = np.sqrt(np.average((x[keep] - mean) ** 2, axis=0, weights=w[keep]))
    sd[2] = 1.0
    z = (x[keep] - mean) / sd
    gram = (z * w[keep][:, None]).T @ z / w[keep].sum()
    grid = np.logspace(-6, 3, 28)
    exact = grid[np.argmin(np.abs(np.log(grid / penalty)))]
    beta = np.linalg.solve(gram + exact * np.eye(6), (z * w[keep][:, None]).T @ (y[keep] - my) / w[keep].sum()) / sd
    assert np.allclose(fit.coefficients, beta, atol=1e-10)
    assert fit.intercept == pytest.approx(my - mean @ beta, abs=1e-8)
    assert np.allclose(fit.predict(x), fit.intercept + x @ fit.coefficients, atol=1e-9)


def test_lasso_equals_scikit_learn_on_the_rows() -> None:
    from sklearn.linear_model import Lasso as Theirs

    x, y, w, _ = data = rows()
    fit = given("lasso", data).fit()
    mean, sd = np.average(x, axis=0, weights=w), np.ones(6)
    varies = np.arange(6) != 2
    sd[varies] = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=w))[varies]
    training = given("lasso", data)
    alpha = training.penalties(_standardised(training.sums.sum(axis=0)))
    alpha = alpha[np.argmin(np.abs(np.log(alpha / float(fit.chosen.split()[1]))))]
    theirs = Theirs(alpha=alpha, tol=1e-12, max_iter=100_000).fit((x - mean) / sd, y, sample_weight=w)
    assert np.allclose(fit.coefficients, theirs.coef_ / sd, atol=1e-5)
    assert fit.intercept == pytest.approx(theirs.intercept_ - mean @ (theirs.coef_ / sd), abs=1e-2)


def test_where_no_column_helps_lasso_uses_none_in_any_order_of_rows() -> None:
    """At the largest penalty every coefficient is exactly 0, not what rounding leaves of it."""
    none = 0
    for seed in range(20):
        x, _, w, fold = rows(60, seed=seed)
        y = np.random.default_rng(seed).normal(size=60)
        for order in (np.arange(60), np.random.default_rng(1).permutation(60), np.arange(60)[::-1]):
            training = given("lasso", (x[order], y[order], w[order], fold[order]))
            fit = training.fit()
            largest = f"penalty {training.penalties(_standardised(training.sums.sum(axis=0)))[0]:.3g}"
            if fit.chosen == largest:
                none += 1
                assert not fit.coefficients.any()
    assert none > 10


@pytest.mark.parametrize("kind", [Ridge, Lasso])
def test_the_penalty_has_the_least_error_on_folds_not_seen(kind: type) -> None:
    """By hand: fit each penalty on four folds, test on the fifth."""
    x, y, w, fold = data = rows(120, noise=8.0)
    training = given(kind.name, data)
    penalties = training.penalties(_standardised(training.sums.sum(axis=0)))
    loss = np.zeros(len(penalties))
    for f in range(5):
        part = given(kind.name, tuple(c[fold != f] for c in data))
        about = _standardised(part.sums.sum(axis=0))
        a, b = about.unscaled(part.betas(about, penalties))
        predicted = (x[fold == f] - part.origin[1:-1]) @ b + a + part.origin[-1]
        loss += w[fold == f] @ (y[fold == f][:, None] - predicted) ** 2
    fit = training.fit()
    assert fit.chosen == f"penalty {penalties[np.argmin(loss)]:.3g}"
    plain = sum(w[fold == f] @ (y[fold == f] - np.average(y[fold != f], weights=w[fold != f])) ** 2 for f in range(5))
    assert fit.r2 == pytest.approx(1 - loss.min() / plain, abs=1e-6)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_cut_tree_is_the_tree_that_stops_there(depth: int) -> None:
    from counterrank.regress import _lightgbm
    from counterrank.regress.tree import _grown, _leaves

    rng = np.random.default_rng(1)
    x = rng.normal(size=(2000, 4)).astype(np.float32)
    y = np.sin(2 * x[:, 0]) + (x[:, 1] > 0) * x[:, 2] + 0.1 * rng.normal(size=2000)
    w = rng.integers(1, 3, 2000).astype(float)
    data = _lightgbm.dataset(x, y, w)
    booster, values = _grown(data, y, w)
    shape = {"learning_rate": 1.0, "max_depth": depth, "num_leaves": 2**depth, "min_data_in_leaf": 5,
             "min_sum_hessian_in_leaf": 0.0, "lambda_l2": 0.0}  # fmt: skip
    again = _lightgbm.load().train({**_lightgbm.PARAMETERS, **shape}, data, 1)
    assert np.allclose(values[_leaves(booster, x), depth], again.predict(x), atol=1e-5)


def test_a_tree_predicts_the_weighted_mean_of_its_leaf() -> None:
    x = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.r_[np.tile([1.0, 3.0], 25), np.tile([10.0, 20.0], 25)]
    w = np.tile([1.0, 3.0], 50)
    training = Tree(1, 5)
    training.add(x, y, w, np.arange(100) % 5)
    fit = training.fit()
    assert fit.predict(np.array([[0.0], [1.0]])) == pytest.approx([2.5, 17.5], abs=1e-5)


@pytest.mark.parametrize("name", list(REGRESSIONS))
def test_members_learn_leave_out_and_say_what_they_chose(name: str) -> None:
    x, y, w, fold = data = rows(3000)
    training = given(name, data)
    fit = training.fit()
    held = training.fit(without=1)
    assert fit.r2 is not None
    assert fit.r2 > 0.5
    assert fit.chosen.split()
    out = fold == 1
    error = np.average((y[out] - held.predict(x[out])) ** 2, weights=w[out])
    assert error < 0.6 * y[out].var()
    y[out] += 1000  # what the left-out fold says does not matter
    assert np.allclose(given(name, (x, y, w, fold)).fit(without=1).predict(x), held.predict(x), atol=1e-6)


@pytest.mark.parametrize("name", list(REGRESSIONS))
def test_constant_rewards_give_the_constant(name: str) -> None:
    x, y, w, fold = rows(100)
    fit = given(name, (x, np.full(len(y), 4.0), w, fold)).fit()
    assert np.allclose(fit.predict(x), 4.0)


@pytest.mark.parametrize("name", list(REGRESSIONS))
def test_one_fold_is_said_and_nothing_is_an_error(name: str) -> None:
    x, y, w, _ = rows(100)
    fit = given(name, (x, y, w, np.zeros(100, dtype=int))).fit()
    assert "one fold" in fit.notes[0]
    assert fit.r2 is None
    with pytest.raises(InputError, match="no rows to learn from"):
        REGRESSIONS[name](3, 5).fit()


def test_too_many_rows_are_drawn_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from counterrank.regress import rows as kept

    monkeypatch.setattr(kept, "CELLS", 6000)
    x, y, w, fold = rows(5000)
    fit = given("tree", (x, y, w, fold), chunks=10).fit()
    assert fit.notes == ["the model learnt from 1,000 of 5,000 rows, drawn at random"]


def test_folds_depend_on_the_text_alone() -> None:
    texts = [f"q{i}" for i in range(2000)]
    folds = folds_of(pa.array(texts))
    assert np.bincount(folds).min() > 300
    assert folds_of(pa.array(texts[::-1])).tolist() == folds.tolist()[::-1]


@pytest.mark.parametrize("name", ["tree", "lightgbm"])
def test_nothing_is_printed(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """LightGBM writes to standard output itself, which belongs to JSON."""
    given(name, rows(200)).fit(without=0)
    assert capfd.readouterr() == ("", "")
