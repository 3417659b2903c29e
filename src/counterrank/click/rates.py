"""Click rates as models: what every other model must beat."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from counterrank.click.base import ClickModel, Clicks, Floats, at_positions, by_position, chances, shown_values
from counterrank.click.counts import ClickCounts
from counterrank.click.fit import Fit, Looks, Options, squeezed
from counterrank.ids import Codes


class Rate(ClickModel):
    """A click has a chance of its own at each place, whatever was clicked above."""

    def conditional_probabilities(self, queries: Codes, rankings: Codes, clicks: Clicks) -> Floats:
        return self.click_probabilities(queries, rankings)

    def sample(self, queries: Codes, rankings: Codes, rng: np.random.Generator) -> Clicks:
        return (rng.random(rankings.shape) < self.click_probabilities(queries, rankings)).astype(np.int8)


class GlobalRate(Rate):
    """Every shown item is clicked with one and the same chance.

    >>> GlobalRate(0.2).click_probabilities(np.array([0]), np.array([[3, 1, -1]])).tolist()
    [[0.2, 0.2, 0.0]]
    """

    assumption = "Every shown item is clicked with the same chance."

    def __init__(self, rate: float) -> None:
        self.rate = float(chances([rate], "rate")[0])

    def click_probabilities(self, queries: Codes, rankings: Codes) -> Floats:
        return np.where(rankings >= 0, self.rate, 0.0)


class RankRate(Rate):
    """A click's chance depends on its position alone: (K,), or (Q, K) where each query has its own."""

    assumption = "The chance of a click depends on the position alone."

    def __init__(self, rates: ArrayLike) -> None:
        self.rates = by_position(rates, "rates")

    def click_probabilities(self, queries: Codes, rankings: Codes) -> Floats:
        return np.where(rankings >= 0, at_positions(self.rates, queries, rankings.shape[1], "rates"), 0.0)


class ItemRate(Rate):
    """A click's chance depends on the query and item alone, not on where it stands."""

    assumption = "The chance of a click depends on the query and item alone, not on the position."

    def __init__(self, attraction: ArrayLike) -> None:
        self.attraction = chances(attraction, "attraction")

    def click_probabilities(self, queries: Codes, rankings: Codes) -> Floats:
        return shown_values(self.attraction, rankings)


def fit_global_rate(counts: ClickCounts, options: Options = Options()) -> Fit:
    """Clicks per shown item."""
    return Fit(GlobalRate(float(options.other.mean(counts.clicked.sum(), counts.shown.sum()))))


def fit_rank_rate(counts: ClickCounts, options: Options = Options()) -> Fit:
    """Clicks per impression, by position."""
    clicked, shown = (options.pooled(each.astype(np.float64)) for each in (counts.clicks_at(), counts.shown_at()))
    return Fit(RankRate(squeezed(options.other.mean(clicked, shown))))


def fit_item_rate(counts: ClickCounts, options: Options = Options()) -> Fit:
    """Clicks per impression, by query and item."""
    clicks, shown = (counts.cells.by_pair(each).astype(np.float64) for each in (counts.clicked, counts.shown))
    return Fit(ItemRate(options.mean(clicks, shown)), Looks(clicks, shown))
