"""The cascade model (cm): one click at most, found by reading from the top."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from counterrank.click.base import ClickModel, Clicks, Floats, chances, shown_values
from counterrank.ids import Codes


class Cascade(ClickModel):
    """Users read down to and including the first attractive item, click it and leave.

    P(click at k) = a_k · Π_{j<k} (1 − a_j), with a_j the attraction of the item at position j.
    Wrong for pages with several clicks.

    >>> model = Cascade([0.5, 0.2])
    >>> model.click_probabilities(np.array([0]), np.array([[0, 1]])).tolist()
    [[0.5, 0.1]]

    Reference: Craswell et al., WSDM 2008; cief2024, section 2.
    """

    assumption = "A user reads from the top, clicks the first attractive item and leaves."

    def __init__(self, attraction: ArrayLike) -> None:
        self.attraction = chances(attraction, "attraction")

    def click_probabilities(self, queries: Codes, rankings: Codes) -> Floats:
        attraction = shown_values(self.attraction, rankings)
        examined = np.ones_like(attraction)
        np.cumprod(1.0 - attraction[:, :-1], axis=1, out=examined[:, 1:])
        return attraction * examined

    def sample(self, queries: Codes, rankings: Codes, rng: np.random.Generator) -> Clicks:
        attracted = rng.random(rankings.shape) < shown_values(self.attraction, rankings)
        first = np.cumsum(attracted, axis=1, dtype=np.int32) == 1
        return np.asarray(attracted & first, dtype=np.int8)
