"""The dependent-click model (dcm): after a click users go on with a chance that depends on the position."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from counterrank.click.base import ClickModel, Clicks, Floats, chances, fit_to, shown_values
from counterrank.ids import Codes


class DependentClick(ClickModel):
    """Users read from the top, click every attractive item, and after a click at k go on with chance λ_k.

    P(click at k) = a_k · Π_{j<k} (1 − a_j (1 − λ_j)): a page is left only after a click. With λ = 0 it is the cascade.

    >>> model = DependentClick([0.5, 0.2], continuation=[0.5, 0.5])
    >>> model.click_probabilities(np.array([0]), np.array([[0, 1]])).round(3).tolist()
    [[0.5, 0.15]]

    Reference: Guo et al., WSDM 2009; cief2024, section 2.
    """

    assumption = "A user reads from the top, clicks what is attractive, and after a click at k goes on with chance λ_k."

    def __init__(self, attraction: ArrayLike, continuation: ArrayLike) -> None:
        self.attraction = chances(attraction, "attraction")
        self.continuation = chances(continuation, "continuation")

    def click_probabilities(self, queries: Codes, rankings: Codes) -> Floats:
        attraction = shown_values(self.attraction, rankings)
        leaves = attraction * (1.0 - fit_to(self.continuation, rankings.shape[1], "continuation"))
        examined = np.ones_like(attraction)
        np.cumprod(1.0 - leaves[:, :-1], axis=1, out=examined[:, 1:])
        return attraction * examined

    def sample(self, queries: Codes, rankings: Codes, rng: np.random.Generator) -> Clicks:
        continuation = fit_to(self.continuation, rankings.shape[1], "continuation")
        attracted = rng.random(rankings.shape) < shown_values(self.attraction, rankings)
        leaves = attracted & (rng.random(rankings.shape) >= continuation)
        left_before = np.cumsum(leaves, axis=1, dtype=np.int32) - leaves
        return np.asarray(attracted & (left_before == 0), dtype=np.int8)
