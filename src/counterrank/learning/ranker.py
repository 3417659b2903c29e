"""A scikit-learn estimator that learns to rank from clicks: `fit(X, clicks, qid=…, position=…)`, `predict(X)`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from counterrank.errors import InputError, unknown
from counterrank.learning.columns import Columns, columns_of
from counterrank.learning.examples import Examples, Vector
from counterrank.learning.models import MODELS
from counterrank.setting.options import check_clip, check_top, examination_curve, position_weights


class Ranker(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Learns scores of features from clicks on pages; higher is better.

    A row is an item on a page. A click is worth 1 / the chance that its position is looked at, at most `clip`; without
    positions all is taken to be looked at. model: `linear`, `lightgbm`, `ridge` or `logistic`. qid_column,
    position_column: columns of X (numbers from 0, or names in a data frame) that hold the page and the position, so
    that `cross_val_score` needs no more than X and clicks; they are no features. examination: "reciprocal" for 1/k, or
    a number for each position. weights: what a click at each position is worth, up to `top`. naive: raw clicks
    instead. validation_share: of the pages, to choose hyper-parameters by.

    Biased where examination is wrong, and where items were never shown: give positions of a log that is shuffled a
    little. After `fit`, `policy_` is what `evaluate` and `compare` take, once `policy_.scoring(features)` has features.

    >>> X = [[7, 1, 0.9], [7, 2, 0.1], [8, 1, 0.2], [8, 2, 0.8]]
    >>> ranker = Ranker("ridge", qid_column=0, position_column=1).fit(X, [1, 0, 0, 1])
    >>> ranker.predict(X).argmax()
    np.int64(0)
    """

    def __init__(
        self,
        model: str = "linear",
        *,
        qid_column: int | str | None = None,
        position_column: int | str | None = None,
        examination: Any = "reciprocal",
        weights: Any = "dcg",
        top: int | None = None,
        clip: float | None = None,
        naive: bool = False,
        validation_share: float = 0.2,
        seed: int = 0,
    ) -> None:
        self.model, self.qid_column, self.position_column = model, qid_column, position_column
        self.examination, self.weights, self.top, self.clip = examination, weights, top, clip
        self.naive, self.validation_share, self.seed = naive, validation_share, seed

    def fit(self, X: Any, y: Any, qid: Any = None, position: Any = None) -> Ranker:
        """Learn from pages. X: (N, F) features; y: (N,) clicks; qid: (N,) the page of each row; position: from 1."""
        if self.model not in MODELS:
            raise unknown("model", str(self.model), MODELS)
        if not 0 <= self.validation_share < 1:
            raise InputError(f"validation_share is {self.validation_share}: expected a number from 0 to below 1")
        columns = self._columns(X)
        if len(columns.features) == 1:
            raise InputError("X has 1 sample: there is no order to learn from one item")
        self.n_features_in_ = columns.width
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        examples, _ = self._examples(columns, y, qid, position)
        pages = np.random.default_rng(self.seed).permutation(len(examples))
        held = int(self.validation_share * len(pages))
        train, rest = examples.of(np.sort(pages[held:])), examples.of(np.sort(pages[:held]))
        found = MODELS[self.model].fit(
            train, rest if held else None, weights=self._weights(examples.longest), seed=self.seed
        )
        self.policy_, self.chosen_, self.curve_, self.notes_ = found.policy, found.chosen, found.curve, found.notes
        return self

    def predict(self, X: Any) -> Vector:
        """(N,) the score of each row."""
        check_is_fitted(self, "policy_")
        columns = self._columns(X)
        if columns.width != self.n_features_in_:
            raise InputError(
                f"X has {columns.width} features, but Ranker is expecting {self.n_features_in_} features as input"
            )
        return np.asarray(self.policy_.score(columns.features))

    def score(self, X: Any, y: Any, qid: Any = None, position: Any = None) -> float:
        """The counterfactual value of a page: Σ click / examination · λ(rank), ranked by `predict`."""
        examples, order = self._examples(self._columns(X), y, qid, position)
        return examples.value(self.predict(X)[order], self._weights(examples.longest))

    def _columns(self, X: Any) -> Columns:
        return columns_of(X, self.qid_column, self.position_column)

    def _weights(self, longest: int) -> Vector:
        weights = position_weights(self.weights)(longest)
        weights[check_top(self.top) or longest :] = 0.0
        return weights

    def _examples(self, columns: Columns, y: Any, qid: Any, position: Any) -> tuple[Examples, NDArray[np.int64]]:
        """The rows by page, and their order: pages by their ids, rows of a page as they came."""
        clicks = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y").ravel()
        page = np.asarray(qid) if qid is not None else columns.page
        position = position if position is not None else columns.position
        check_consistent_length(columns.features, clicks, page, position)
        if (clicks < 0).any():
            raise InputError(f"a row has {clicks.min():g} clicks: expected 0 or more")
        chance = np.ones(len(clicks)) if position is None else self._chance(np.asarray(position, dtype=np.float64))
        each = np.divide(1.0, chance, out=np.zeros(len(chance)), where=chance > 0)
        worth = clicks if self.naive else clicks * np.minimum(each, check_clip(self.clip))
        _, code, sizes = np.unique(
            np.zeros(len(clicks)) if page is None else page, return_inverse=True, return_counts=True
        )
        order = np.argsort(code.ravel(), kind="stable")
        found = Examples(
            starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            features=columns.features[order],
            names=columns.names,
            worth=worth[order],
            clicks=clicks[order],
            shown=np.ones(len(clicks)),
            impressions=np.ones(len(sizes)),
            propensity=chance[order],
        )
        return found, order

    def _chance(self, position: Vector) -> Vector:
        """How likely each position is looked at."""
        if not (position >= 1).all() or (position != np.floor(position)).any():
            raise InputError("a row has no position, or one that is no whole number from 1: give one for each row")
        return examination_curve(self.examination, int(position.max()))[position.astype(np.int64) - 1]
