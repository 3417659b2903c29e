"""The scikit-learn estimator."""

from __future__ import annotations

import numpy as np
import pytest
from learning_worlds import made
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import counterrank as cr
from counterrank.errors import InputError
from counterrank.learning.models import MODELS


def shown(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows with page, position and five features; clicks that follow the worth."""
    examples = made(queries=150, seed=seed)
    rng = np.random.default_rng(seed)
    position = np.concatenate([rng.permutation(size) + 1 for size in examples.sizes])
    clicks = (rng.random(len(position)) < np.minimum(examples.worth / 3, 1) / position).astype(float)
    return np.column_stack([examples.queries, position, examples.features]), clicks


X, CLICKS = shown()


@parametrize_with_checks([cr.Ranker("ridge")])
def test_scikit_learns_own_checks_hold(estimator, check) -> None:
    check(estimator)


@pytest.mark.parametrize("model", MODELS)
def test_it_learns_from_columns_or_from_arguments_the_same(model: str) -> None:
    of_columns = cr.Ranker(model, qid_column=0, position_column=1).fit(X, CLICKS)
    given = cr.Ranker(model).fit(X[:, 2:], CLICKS, qid=X[:, 0], position=X[:, 1])
    np.testing.assert_array_equal(of_columns.predict(X), given.predict(X[:, 2:]))
    assert of_columns.score(X, CLICKS) == given.score(X[:, 2:], CLICKS, qid=X[:, 0], position=X[:, 1])
    assert np.corrcoef(of_columns.predict(X), X[:, 2] - 2 * X[:, 3])[0, 1] > 0.7


def test_the_order_of_rows_does_not_matter() -> None:
    order = np.random.default_rng(1).permutation(len(X))
    ranker = cr.Ranker(qid_column=0, position_column=1).fit(X, CLICKS)
    assert ranker.score(X[order], CLICKS[order]) == pytest.approx(ranker.score(X, CLICKS), rel=1e-12)


def test_the_score_is_the_debiased_value_of_a_page() -> None:
    X = np.array([[1, 1, 0.5], [1, 2, 0.9], [2, 1, 0.1], [2, 2, 0.2]])
    clicks = np.array([1, 1, 0, 1])
    ranker = cr.Ranker("ridge", qid_column=0, position_column=1).fit(X, clicks)
    assert (np.sign(ranker.predict(X)[[1, 3]] - ranker.predict(X)[[0, 2]]) == 1).all()
    assert ranker.score(X, clicks) == pytest.approx((2 + 1 / np.log2(3) + 2) / 2)


def test_it_works_in_cross_validation_and_search() -> None:
    ranker = cr.Ranker("ridge", qid_column=0, position_column=1)
    scores = cross_val_score(ranker, X, CLICKS, cv=GroupKFold(3), groups=X[:, 0])
    assert np.isfinite(scores).all()
    search = GridSearchCV(ranker, {"model": ["ridge", "linear"]}, cv=GroupKFold(2)).fit(X, CLICKS, groups=X[:, 0])
    assert search.best_score_ > 0
    assert clone(ranker).get_params() == ranker.get_params()


def test_data_frames_have_names() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    names = ["page", "place", *"abcde"]
    found = []
    for make in (lambda: pandas.DataFrame(X, columns=names), lambda: polars.DataFrame(X, schema=names)):
        ranker = cr.Ranker("ridge", qid_column="page", position_column="place").fit(make(), CLICKS)
        assert ranker.policy_.features == list("abcde")
        found.append(ranker.predict(make()))
    np.testing.assert_array_equal(*found)


def test_raw_clicks_and_clipped_weights_are_other_models() -> None:
    models = [cr.Ranker("ridge", qid_column=0, position_column=1, **more).fit(X, CLICKS).predict(X)
              for more in ({}, {"naive": True}, {"clip": 1.0}, {"clip": 1e9})]  # fmt: skip
    np.testing.assert_array_equal(models[0], models[3])
    np.testing.assert_array_equal(models[1], models[2])
    assert not np.array_equal(models[0], models[1])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "liner"}, "unknown model 'liner': did you mean 'linear'"),
        ({"qid_column": 9}, "X has 7 columns, and none is number 9"),
        ({"qid_column": "page"}, "column 'page' is a name, but X is an array"),
        ({"position_column": 2}, "no whole number from 1"),
        ({"validation_share": 1.5}, "validation_share is 1.5"),
        ({"examination": [1, 0.5], "position_column": 1}, "examination gives 2 numbers"),
        ({"top": 0}, "`top` is 0"),
    ],
)
def test_what_is_wrong_is_said(options: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        cr.Ranker(**options).fit(X, CLICKS)
    with pytest.raises(InputError, match="-1 clicks"):
        cr.Ranker().fit(X, -CLICKS)
