"""Beta priors from features: what a model of (query, item) says of its attraction before any click (ebrank2023)."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from counterrank.posterior import choose_prior
from counterrank.regress.base import Matrix, Vector

BETA = 5.0  # ebrank2023's


class Seen(NamedTuple):
    """Items that were shown: features (NaN where missing), debiased clicks and looks."""

    x: Matrix
    clicks: Vector
    looks: Vector

    def shown(self) -> Seen:
        """Only items that were looked at, and that have some feature."""
        good = (
            (self.looks > 0) & ~np.isnan(self.x).all(axis=1) if self.x.shape[1] else np.zeros(len(self.x), dtype=bool)
        )
        return Seen(self.x[good], self.clicks[good], self.looks[good])


class PriorModel(Protocol):
    """α = f(x), and β. `fit` may be called again: it goes on from where it was."""

    name: ClassVar[str]
    beta: float

    def __init__(self, beta: float | None = BETA) -> None:
        """With no β, it is learnt."""

    def fit(self, seen: Seen, held: Seen | None = None) -> None:
        """Learn from these; `held` says when to stop."""

    def alpha(self, x: Matrix) -> Vector:
        """α of each row that has some feature."""

    def to_dict(self) -> dict[str, Any]:
        """The model as plain data."""

    @classmethod
    def of_dict(cls, kept: dict[str, Any]) -> PriorModel: ...


def without_features(seen: Seen, beta: float | None = None) -> tuple[float, float]:
    """The prior of an item of which nothing is known: the most likely one for all items together (cief2024)."""
    looks = seen.looks[seen.looks > 0]
    if not len(looks):
        return 1.0, beta or BETA
    clicks = np.clip(seen.clicks[seen.looks > 0], 0.0, looks)
    prior = choose_prior("fit", clicks, looks, np.array([0, len(looks)]), "global").pair
    return prior if prior is not None else (1.0, beta or BETA)


class Scale:
    """Features with mean 0 and standard deviation 1 over the rows that it was made of; 0 where missing."""

    def __init__(self, mean: Vector, scale: Vector) -> None:
        self.mean, self.scale = mean, scale

    @classmethod
    def of(cls, x: Matrix) -> Scale:
        known = ~np.isnan(x)
        count = np.maximum(known.sum(axis=0), 1)
        mean = np.where(known, x, 0.0).sum(axis=0) / count
        spread = np.sqrt((np.where(known, x - mean, 0.0) ** 2).sum(axis=0) / count)
        return cls(mean, np.where(spread > 1e-12 * np.maximum(np.abs(mean), 1e-12), spread, np.inf))

    def __call__(self, x: Matrix) -> Matrix:
        """With a column of ones in front."""
        out = np.ones((len(x), x.shape[1] + 1))
        out[:, 1:] = (x - self.mean) / self.scale
        return np.nan_to_num(out, copy=False)
