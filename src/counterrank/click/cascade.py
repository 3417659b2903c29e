"""The cascade model (cm): one click at most, found by reading from the top."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from counterrank.click.base import Floats, chances, shown_values
from counterrank.click.chain import Chain
from counterrank.click.counts import ClickCounts
from counterrank.click.fit import Fit, Looks, Options
from counterrank.ids import Codes


class Cascade(Chain):
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

    def steps(self, queries: Codes, rankings: Codes) -> tuple[Floats, Floats, Floats]:
        return shown_values(self.attraction, rankings), np.ones(1), np.zeros(1)


def fit_cascade(counts: ClickCounts, options: Options = Options()) -> Fit:
    """Closed form: of the pages that showed an item no further down than their first click, those that clicked it.

    A page with no click was read to its end; clicks after the first are not looked at.
    """
    looks = Looks(counts.looks.first.astype(np.float64), counts.looks.to_first.astype(np.float64))
    return Fit(Cascade(options.mean(looks.clicks, looks.looks)), looks)
