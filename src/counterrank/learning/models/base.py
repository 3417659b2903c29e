"""What a model of features is: it learns scores from examples, and gives a policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

from counterrank.learning.examples import Examples, Matrix, Vector
from counterrank.learning.models.prepared import Prepared, prepared
from counterrank.policy.scorer import Scorer
from counterrank.records import dataclass

Progress = Callable[[int], Any]  # called with the number of epochs, or trees, just done


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """A model that has learnt.

    policy: what ranks (`Linear` or `LightGBM`). chosen: its hyper-parameters, in words. curve: how it got there, a dict
    for each step with `epoch`, `loss` and `value`, the counterfactual value on the validation queries (None without).
    setting: the hyper-parameters as the model itself takes them, where validation queries chose them.
    """

    policy: Scorer
    chosen: str
    setting: tuple[float, ...] | None = None
    curve: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def score(self, features: Matrix) -> Vector:
        """(P,) the score of each row of features (P, F)."""
        return self.policy.score(features)


@dataclass(frozen=True, kw_only=True)
class Course:
    """How a model is taught: what positions weigh, (K,), the seed of its draws, and who is told of each step.

    setting: that of a model which was fitted before (`Fitted.setting`): then nothing is chosen.
    """

    weights: Vector
    seed: int = 0
    progress: Progress | None = None
    setting: tuple[float, ...] | None = None

    def step(self) -> None:
        """One more epoch, tree or penalty is done."""
        if self.progress is not None:
            self.progress(1)


class Model(ABC):
    """A way to learn scores from debiased clicks; `assumption` says in one sentence what it takes for granted."""

    name: ClassVar[str]
    assumption: ClassVar[str]

    def fit(
        self,
        train: Examples,
        validation: Examples | None = None,
        *,
        weights: Vector,
        seed: int = 0,
        progress: Progress | None = None,
        like: Fitted | None = None,
    ) -> Fitted:
        """Learn from these queries; hyper-parameters and the end by the counterfactual value on the validation queries.

        weights: (K,) position weights λ; beyond K they are 0. The same seed gives the same model.
        like: a model that was fitted before, to other clicks; its hyper-parameters are taken, if it chose any, so that
        the two differ by what they saw and nothing else. Validation queries are then only told of.
        """
        setting = None if like is None else like.setting
        course = Course(weights=weights, seed=seed, progress=progress, setting=setting)
        return self.learn(prepared(train, validation, weights), course)

    @abstractmethod
    def learn(self, ready: Prepared, course: Course) -> Fitted:
        """Learn from queries that have something to teach; see `fit`."""
