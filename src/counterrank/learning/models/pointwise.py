"""Models that predict the debiased click rate of each item by itself: plain baselines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from counterrank.learning.examples import Examples, Vector
from counterrank.learning.models.base import Course, Fitted, Model
from counterrank.learning.models.held import Held
from counterrank.learning.models.prepared import Prepared
from counterrank.learning.models.scaled import Scale
from counterrank.records import dataclass
from counterrank.words import counted


@dataclass(frozen=True)
class Rates:
    """Rows to regress on: features on one scale, worth per impression of the query, and how much each counts."""

    rows: NDArray[np.float32]  # (P, F)
    rate: Vector  # (P,) worth / impressions: above 1 where a click was worth more than one
    share: Vector  # (P,) impressions of the query, of sum 1

    @classmethod
    def of(cls, examples: Examples, scale: Scale) -> Rates:
        """Each impression counts the same; queries that were never shown do not count."""
        shown = np.repeat(examples.impressions, examples.sizes)
        rate = np.divide(examples.worth, shown, out=np.zeros(len(shown)), where=shown > 0)
        return cls(scale.apply(examples.features), rate, shown / shown.sum())


class Pointwise(Model):
    """A weighted sum of features that predicts rates; the penalty with the highest value on validation is taken."""

    usual: float  # the penalty where there is nothing to choose it by

    @abstractmethod
    def path(self, rates: Rates, penalties: list[float]) -> Iterator[tuple[Vector, float]]:
        """Weights and loss for each penalty in turn, the largest first."""

    penalties: tuple[float, ...]

    def remarks(self, rates: Rates) -> list[str]:
        """What to say of these rates."""
        return []

    def learn(self, ready: Prepared, course: Course) -> Fitted:
        scale = Scale.of(ready.train.features)
        rates = Rates.of(ready.train, scale)
        held = None if ready.validation is None else Held(ready.validation, scale, course.weights)
        tries = self.penalties if held is not None else (self.usual,)
        penalties = sorted(tries if course.setting is None else course.setting, reverse=True)
        best, found, chosen, curve = -np.inf, np.zeros(rates.rows.shape[1]), penalties[0], []
        for step, (tried, loss) in enumerate(self.path(rates, penalties)):
            value = None if held is None else held.value(tried)
            curve.append({"epoch": step + 1, "penalty": penalties[step], "loss": loss, "value": value})
            if value is None or value > best:
                best, found, chosen = value or 0.0, tried.copy(), penalties[step]
            course.step()
        notes = [*ready.notes, *self.remarks(rates)]
        if held is None and course.setting is None:
            notes.append(f"no validation queries: penalty {chosen:g}, nothing chosen")
        policy = scale.linear(ready.train.names, found)
        setting = course.setting if held is None else (chosen,)
        return Fitted(policy=policy, chosen=f"penalty {chosen:g}", setting=setting, curve=curve, notes=notes)


def beyond(rates: Rates) -> list[str]:
    """How many rates are above 1."""
    many = int((rates.rate > 1).sum())
    return [f"{counted(many, 'debiased click rate')} above 1 taken as 1"] if many else []
