"""Models that read from the top: a page is left between two positions, or read on."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from counterrank.click.base import ClickModel, Clicks, Floats
from counterrank.ids import Codes


class Chain(ClickModel):
    """The first position is examined; an examined item is clicked with chance a; then the next one is examined with
    chance v after a click and u after none. The cascade, dependent-click, Bayesian and click-chain models are such.
    """

    @abstractmethod
    def steps(self, queries: Codes, rankings: Codes) -> tuple[Floats, Floats, Floats]:
        """a, u and v, each to broadcast to (G, K); a is 0 beyond a ranking's end."""

    def click_probabilities(self, queries: Codes, rankings: Codes) -> Floats:
        a, u, v = self._steps(queries, rankings)
        examined = np.ones_like(a)
        np.cumprod((a * v + (1.0 - a) * u)[:, :-1], axis=1, out=examined[:, 1:])
        return a * examined

    def conditional_probabilities(self, queries: Codes, rankings: Codes, clicks: Clicks) -> Floats:
        a, u, v = self._steps(queries, rankings)
        out = np.empty_like(a)
        examined = np.ones(len(a))  # given the clicks so far
        for k in range(a.shape[1]):
            out[:, k] = examined * a[:, k]
            missed = 1.0 - out[:, k]
            still = np.divide(examined * (1.0 - a[:, k]), missed, out=np.zeros_like(missed), where=missed > 0)
            examined = np.where(clicks[:, k] == 1, v[:, k], still * u[:, k])
        return out

    def sample(self, queries: Codes, rankings: Codes, rng: np.random.Generator) -> Clicks:
        a, u, v = self._steps(queries, rankings)
        attracted = rng.random(a.shape) < a
        go_on = np.where(attracted, v, u)
        certain = bool(((go_on == 0) | (go_on == 1)).all())  # as in the cascade: nothing to draw
        leaves = go_on == 0 if certain else rng.random(a.shape) >= go_on
        left_before = np.cumsum(leaves, axis=1, dtype=np.int32) - leaves
        return np.asarray(attracted & (left_before == 0), dtype=np.int8)

    def _steps(self, queries: Codes, rankings: Codes) -> tuple[Floats, ...]:
        return tuple(np.broadcast_to(each, rankings.shape) for each in self.steps(queries, rankings))
