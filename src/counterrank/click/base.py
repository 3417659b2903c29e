"""What a click model is: how users turn a ranking into clicks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from counterrank.errors import InputError
from counterrank.ids import Codes

if TYPE_CHECKING:
    from counterrank.click.counts import ClickCounts
    from counterrank.click.fit import Fit, Options

Floats = NDArray[np.float64]
Clicks = NDArray[np.int8]


class ClickModel(ABC):
    """How users click on a ranking: an assumption, the chance of each click, and clicks drawn from it.

    `rankings` is always (G, K) rows of `Pairs`, -1 beyond the ranking's end: nothing is clicked there. `queries` is
    the query of each: it counts where position parameters are a query's own.
    """

    assumption: ClassVar[str]  # in one sentence

    @classmethod
    def fit(cls, counts: ClickCounts, options: Options) -> Fit:
        """The model with the parameters that these counts speak for: for models of one's own; ours are in `FITS`."""
        raise InputError(f"{cls.__name__} cannot be fitted: it has no `fit`")

    @abstractmethod
    def click_probabilities(self, queries: Codes, rankings: Codes) -> Floats:
        """(G, K): the chance of a click at each position, whatever happens at the others."""

    @abstractmethod
    def conditional_probabilities(self, queries: Codes, rankings: Codes, clicks: Clicks) -> Floats:
        """(G, K): the chance of a click at each position, given the clicks at those above it."""

    @abstractmethod
    def sample(self, queries: Codes, rankings: Codes, rng: np.random.Generator) -> Clicks:
        """(G, K): one 0/1 draw of the clicks on each ranking."""

    def log_likelihood(self, queries: Codes, rankings: Codes, clicks: Clicks) -> Floats:
        """(G,): the log of the chance of all clicks on each ranking; -inf where the model rules them out."""
        chance = self.conditional_probabilities(queries, rankings, clicks)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.where(clicks == 1, chance, 1.0 - chance)).sum(axis=1))

    def value(self, queries: Codes, rankings: Codes, weights: ArrayLike | None = None) -> Floats:
        """(G,): the expected weighted clicks of each ranking, Σ_k weight_k · P(click at k); without weights, clicks."""
        probabilities = self.click_probabilities(queries, rankings)
        if weights is None:
            return np.asarray(probabilities.sum(axis=1))
        theta = fit_to(np.asarray(weights, dtype=np.float64), probabilities.shape[1], "weights")
        return np.asarray(probabilities @ theta)


def chances(values: ArrayLike, what: str, dimensions: tuple[int, ...] = (1,)) -> Floats:
    """Values as a vector (or an array of other allowed dimensions) of probabilities, each in [0, 1]."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim not in dimensions:
        raise InputError(f"{what} came with shape {array.shape}: give one number each, as a vector")
    wrong = ~((array >= 0) & (array <= 1))
    if wrong.any():
        raise InputError(f"{what} has {array[wrong][0]:g} at place {wrong.argmax() + 1}: give numbers from 0 to 1")
    return array


def by_position(values: ArrayLike, what: str) -> Floats:
    """Chances of positions: (K,) for all queries, or (Q, K) for each its own."""
    return chances(values, what, (1, 2))


def at_positions(values: Floats, queries: Codes, positions: int, what: str) -> Floats:
    """(1 or G, K): the position parameters of each ranking."""
    if values.ndim == 1:
        return fit_to(values, positions, what)[None]
    return fit_to(values.T, positions, what).T[queries]


def fit_to(per_position: Floats, positions: int, what: str) -> Floats:
    """The first `positions` numbers of a per-position vector; an error where it is too short."""
    if len(per_position) < positions:
        raise InputError(
            f"{what} has {len(per_position)} positions but rankings have {positions}: give one per position"
        )
    return per_position[:positions]


def shown_values(per_pair: Floats, rankings: Codes) -> Floats:
    """(G, K): each shown pair's number, 0 beyond the ranking's end."""
    if not len(per_pair):
        return np.zeros(rankings.shape)
    out = per_pair[rankings]  # -1 reads the last one
    out[rankings < 0] = 0.0
    return out
