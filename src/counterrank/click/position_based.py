"""The position-based model (pbm): a position is looked at, or not, whatever is shown around it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from counterrank.click.base import ClickModel, Clicks, Floats, chances, fit_to, shown_values
from counterrank.ids import Codes


class PositionBased(ClickModel):
    """A click needs the position to be examined and the item to attract, independently of all other positions.

    P(click at k) = attraction of the item at k · examination of k.

    >>> model = PositionBased([0.5, 0.2], examination=[1.0, 0.5])
    >>> model.click_probabilities(np.array([0]), np.array([[0, 1]])).tolist()
    [[0.5, 0.1]]

    Reference: Craswell et al., WSDM 2008 (the examination hypothesis); li2018, section 3.5.
    """

    assumption = "A click at k happens when position k is examined and its item attracts, independently of the rest."

    def __init__(self, attraction: ArrayLike, examination: ArrayLike) -> None:
        self.attraction = chances(attraction, "attraction")
        self.examination = chances(examination, "examination")

    def click_probabilities(self, queries: Codes, rankings: Codes) -> Floats:
        examination = fit_to(self.examination, rankings.shape[1], "examination")
        return shown_values(self.attraction, rankings) * examination

    def sample(self, queries: Codes, rankings: Codes, rng: np.random.Generator) -> Clicks:
        return (rng.random(rankings.shape) < self.click_probabilities(queries, rankings)).astype(np.int8)
