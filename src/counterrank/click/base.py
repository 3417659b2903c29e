"""What a click model is: how users turn a ranking into clicks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from counterrank.errors import InputError
from counterrank.ids import Codes

Floats = NDArray[np.float64]
Clicks = NDArray[np.int8]


class ClickModel(ABC):
    """How users click on a ranking: an assumption, the chance of each click, and clicks drawn from it.

    `rankings` is always (G, K) rows of `Pairs`, -1 beyond the ranking's end: nothing is clicked there.
    """

    assumption: ClassVar[str]  # in one sentence

    @abstractmethod
    def click_probabilities(self, queries: Codes, rankings: Codes) -> Floats:
        """(G, K): the chance of a click at each position, whatever happens at the others."""

    @abstractmethod
    def sample(self, queries: Codes, rankings: Codes, rng: np.random.Generator) -> Clicks:
        """(G, K): one 0/1 draw of the clicks on each ranking."""

    def value(self, queries: Codes, rankings: Codes, weights: ArrayLike) -> Floats:
        """(G,): the expected weighted clicks of each ranking, Σ_k weight_k · P(click at k)."""
        probabilities = self.click_probabilities(queries, rankings)
        theta = fit_to(np.asarray(weights, dtype=np.float64), probabilities.shape[1], "weights")
        return np.asarray(probabilities @ theta)


def chances(values: ArrayLike, what: str) -> Floats:
    """Values as a vector of probabilities; an error where one is not in [0, 1]."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InputError(f"{what} came with shape {array.shape}: give one number each, as a vector")
    wrong = ~((array >= 0) & (array <= 1))
    if wrong.any():
        raise InputError(f"{what} has {array[wrong][0]:g} at place {wrong.argmax() + 1}: give numbers from 0 to 1")
    return array


def fit_to(per_position: Floats, positions: int, what: str) -> Floats:
    """The first `positions` numbers of a per-position vector; an error where it is too short."""
    if len(per_position) < positions:
        raise InputError(
            f"{what} has {len(per_position)} positions but rankings have {positions}: give one per position"
        )
    return per_position[:positions]


def shown_values(per_pair: Floats, rankings: Codes) -> Floats:
    """(G, K): each shown pair's number, 0 beyond the ranking's end (-1 reads the appended zero)."""
    return np.append(per_pair, 0.0)[rankings]
