"""PBM-PIE: the ranking by clicks over examination, and exploration at the last place."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterrank.online.bandits.base import Bandit
from counterrank.online.bandits.state import State, Vector


class PbmPie(Bandit):
    """Shows the items by θ = clicks / Σ examination, always the ranking that it holds for the best.

    PIE explores at the last place of the page, with items that are not on it. Here pages hold all items of a query, so
    that none is left to explore, and the rule comes down to showing the leaders: every item keeps being looked at, if
    seldom. An item without a click has θ = 0, like one never shown; equal ones in random order. Reference: Lagrée,
    Vernade, Cappé 2016, algorithm PBM-PIE; genspec2021, section 6.3.
    """

    assumption: ClassVar[str] = "a click is the examination of the position, which is known, times the attraction"

    def scores(self, state: State) -> Vector:
        return np.divide(state.clicks, state.exposure, out=np.zeros(len(state.clicks)), where=state.exposure > 0)

    def learn(self, state: State) -> None:
        """Clicks and exposure are all it needs, and they are in the state."""
