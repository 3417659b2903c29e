"""Logs of small worlds as terms of impressions, drawn without the house: what betting bounds are tried on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from counterrank.interval.betting import lower_bound
from counterrank.statistics.histogram import Histogram
from counterrank.statistics.terms import Units


@dataclass
class Pages:
    """Position-based users, one query, five items, three places; Plackett–Luce logging, another such target."""

    strength: float = 1.0

    def __post_init__(self) -> None:
        self.rankings = np.array(list(permutations(range(5), 3)))
        scores = np.array([0.0, 0.4, 0.8, 0.2, 0.6])
        self.logging, self.target = self._chances(scores), self._chances(self.strength * scores[::-1])
        self.attraction, self.examination = np.array([0.1, 0.5, 0.3, 0.2, 0.4]), np.array([1.0, 0.6, 0.4])
        self.click = self.attraction[self.rankings] * self.examination  # (R, K)
        self.truth = float(self.target @ self.click.sum(axis=1))
        self.logged = float(self.logging @ self.click.sum(axis=1))

    def _chances(self, scores: np.ndarray) -> np.ndarray:
        odds, chance = np.exp(scores), np.ones(len(self.rankings))
        left = np.full(len(self.rankings), odds.sum())
        for k in range(3):
            chance *= odds[self.rankings[:, k]] / left
            left -= odds[self.rankings[:, k]]
        return chance

    def marginals(self, chances: np.ndarray) -> np.ndarray:
        """(5, 3)"""
        return np.stack([np.bincount(self.rankings[:, k], chances, 5) for k in range(3)], axis=1)

    def draw(self, rng: np.random.Generator, n: int, shares: bool, less: bool) -> tuple[np.ndarray, float, float]:
        """Terms of `ip`, of the target or (`less`) of the target less the logging policy, and their range."""
        shown = rng.choice(len(self.rankings), n, p=self.logging)
        clicks = rng.random((n, 3)) < self.click[shown]
        known = np.bincount(shown, minlength=len(self.rankings)) / n if shares else self.logging
        below = self.marginals(known)
        weight = np.divide(self.marginals(self.target), below, out=np.zeros_like(below), where=below > 0) - less
        terms = np.where(clicks, weight[self.rankings[shown], np.arange(3)], 0.0).sum(axis=1)
        return terms, float(np.minimum(weight.min(axis=0), 0).sum()), float(np.maximum(weight.max(axis=0), 0).sum())


def slots(rng: np.random.Generator, n: int, positions: int, engaged: bool) -> tuple[np.ndarray, float, float]:
    """Two policies of one value: places with three equal items each, shown as 6:3:1 and as 1:3:6.

    `engaged`: one session in five clicks nearly everything, the others nothing: the clicks of a page go together.
    """
    weight = np.array([1 / 6, 1.0, 6.0]) - 1.0
    shown = rng.choice(3, (n, positions), p=[0.6, 0.3, 0.1])
    rate = np.where(rng.random((n, 1)) < 0.2, 0.8, 0.0) if engaged else np.full((n, 1), 0.16)
    terms = np.where(rng.random((n, positions)) < rate, weight[shown], 0.0).sum(axis=1)
    return terms, positions * float(weight.min()), positions * float(weight.max())


def ends(terms: np.ndarray, least: float, most: float, delta: float = 0.025) -> tuple[float, float]:
    units = Units.of(Histogram.of(terms)).within(least, most)
    return lower_bound(units, least, delta), -lower_bound(units.mirrored(), -most, delta)
