"""Policies that score the features of items, and so rank queries that they have never seen."""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.errors import InputError, near
from counterrank.log.features import Features, read_features
from counterrank.policy._trees import Trees
from counterrank.policy.base import BoundPolicy, Policy
from counterrank.policy.scores import Scores
from counterrank.policy.stored import Stored, checked_names, checked_numbers
from counterrank.statistics.pairs import Pairs


class Scorer(Policy):
    """Items sorted by a score of their features, highest first; ties as in `Scores`.

    It has the queries and items of the features that it is given, and none without them. What is stored is the model.
    """

    features: list[str]  # the names of what it scores
    scores_features = True
    _scores: Scores | None = None

    @abstractmethod
    def score(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(N,) the score of each row; values are (N, F), in the order of `features`."""

    def _given(self, features: Any) -> None:
        """Score these features; they may have more columns, in any order."""
        if features is None:
            return
        table = read_features(features)
        absent = [name for name in self.features if name not in table.names]
        if absent:
            raise InputError(
                f"the policy scores feature {absent[0]!r}, which is not there{near(absent[0], table.names)}: "
                f"the features have {', '.join(table.names[:20])}"
            )
        at = {name: column for column, name in enumerate(table.names)}
        with np.errstate(over="ignore", invalid="ignore"):  # Scores refuses what is not finite
            scores = self.score(table.values[:, [at[name] for name in self.features]])
        self._scores = Scores(table.query, table.item, scores)

    def queries(self) -> pa.Array:
        return self._scores.queries() if self._scores is not None else pa.array([], pa.string())

    def items(self) -> tuple[pa.Array, pa.Array]:
        none = pa.array([], pa.string())
        return self._scores.items() if self._scores is not None else (none, none)

    def rankings(self) -> tuple[pa.Array, pa.Array] | None:
        return self._scores.rankings() if self._scores is not None else None

    def rows(self) -> pa.Table | None:
        """The scores of the features that it was given."""
        return self._scores.rows() if self._scores is not None else None

    def bind(self, pairs: Pairs) -> BoundPolicy:
        if self._scores is None:
            raise InputError(f"{self!r} scores features, but was given none: give a table of features")
        return self._scores.bind(pairs)

    def rank(self, query: str | int, length: int | None = None) -> list[str]:
        if self._scores is None:
            raise InputError(f"{self!r} scores features, but was given none: give a table of features")
        return super().rank(query, length)

    def __repr__(self) -> str:
        given = "no features given" if self._scores is None else f"{len(self.queries())} queries"
        return f"{type(self).__name__}({len(self.features)} features, {given})"


class Linear(Scorer):
    """Items sorted by Σ_f weight_f · (x_f − mean_f) / scale_f, highest first; ties as in `Scores`.

    Assumption: what an item is worth is linear in its features. A feature of scale 0 does not count.

    >>> table = {"query": ["new", "new"], "item": ["a", "b"], "price": [1.0, 3.0]}
    >>> Linear(["price"], [-1.0], given=table).rank("new")
    ['a', 'b']
    """

    kind: ClassVar[str] = "linear"

    def __init__(
        self, features: list[str], weights: Any, mean: Any = None, scale: Any = None, *, given: Any = None
    ) -> None:
        size = len(features)
        self.features = checked_names(list(features))
        self.weights = np.array(checked_numbers(_listed(weights), "weights", size))
        self.mean = np.array(checked_numbers(_listed(mean, 0.0, size), "mean", size))
        self.scale = np.array(checked_numbers(_listed(scale, 1.0, size), "scale", size))
        if (self.scale < 0).any():
            raise InputError(f"an entry of scale is {self.scale.min():g}: expected no negative number")
        self._given(given)

    def score(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        steps = np.divide(values - self.mean, self.scale, out=np.zeros_like(values), where=self.scale > 0)
        return np.asarray((steps * self.weights).sum(axis=1))  # row by row: the same in any table

    def scoring(self, features: Features) -> Linear:
        return Linear(self.features, self.weights, self.mean, self.scale, given=features)

    def as_json(self) -> str:
        """The model as text: features, mean, scale and weights."""
        lists = {name: getattr(self, name).tolist() for name in ("mean", "scale", "weights")}
        return json.dumps({"features": self.features, **lists}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def of_json(cls, stored: Stored, name: str) -> Linear:
        """From the file of that name."""
        model = stored.json(name)
        if set(model) != {"features", "mean", "scale", "weights"}:
            raise InputError(f"{name} has {', '.join(model)}: expected features, mean, scale, weights")
        try:
            found = cls(checked_names(model["features"]), model["weights"], model["mean"], model["scale"])
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
        if list(stored.features) != found.features:
            raise InputError(f"{name} scores other features than policy.json names")
        return found

    def stored(self) -> Stored:
        return Stored.of(self.kind, texts={"linear.json": self.as_json()}, features=self.features)

    @classmethod
    def restored(cls, stored: Stored) -> Linear:
        stored.only("linear.json")
        return cls.of_json(stored, "linear.json")


class LightGBM(Scorer):
    """Items sorted by the score of a LightGBM model, highest first; ties as in `Scores`.

    model: LightGBM's own text (`booster.model_to_string()`), or a booster. It is read and walked by this program, so
    LightGBM need not be there, and a text from elsewhere is safe to open. features: their names, where they differ from
    the model's (which has no spaces in names).
    """

    kind: ClassVar[str] = "lightgbm"

    def __init__(self, model: Any, features: list[str] | None = None, *, given: Any = None) -> None:
        self.text: str = model if isinstance(model, str) else model.model_to_string()
        self._trees = Trees.read(self.text)
        self.features = self._trees.names if features is None else checked_names(list(features))
        if len(self.features) != len(self._trees.names):
            raise InputError(
                f"the model scores {len(self._trees.names)} features, but {len(self.features)} names came: name each"
            )
        self._given(given)

    def score(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._trees.score(values)

    def scoring(self, features: Features) -> LightGBM:
        return LightGBM(self.text, self.features, given=features)

    @classmethod
    def of_text(cls, stored: Stored, name: str) -> LightGBM:
        """From the file of that name."""
        try:
            return cls(stored.text(name), list(stored.features))
        except InputError as error:
            raise InputError(f"{name}: {error}") from None

    def stored(self) -> Stored:
        return Stored.of(self.kind, texts={"lightgbm.txt": self.text}, features=self.features)

    @classmethod
    def restored(cls, stored: Stored) -> LightGBM:
        stored.only("lightgbm.txt")
        return cls.of_text(stored, "lightgbm.txt")


def _listed(values: Any, default: float = 0.0, size: int = 0) -> Any:
    """Numbers as a list; none: so many of the default."""
    if values is None:
        return [default] * size
    return values.tolist() if isinstance(values, np.ndarray) else list(values) if isinstance(values, tuple) else values
