"""Models that read from the top: a page is left between two positions, or read on."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from counterrank.click.base import ClickModel, Clicks, Floats
from counterrank.compiled import njit
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
        a, u, v = (np.ascontiguousarray(each) for each in self._steps(queries, rankings))
        out = np.empty_like(a)
        _given_above(a, u, v, np.ascontiguousarray(clicks, dtype=np.int8), out)
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


@njit(nogil=True)
def _given_above(a: Any, u: Any, v: Any, clicks: Any, out: Any) -> None:
    for g in range(len(a)):
        examined = 1.0  # given the clicks so far
        for k in range(a.shape[1]):
            out[g, k] = examined * a[g, k]
            missed = 1.0 - out[g, k]
            if clicks[g, k] == 1:
                examined = v[g, k]
            else:
                examined = examined * (1.0 - a[g, k]) / missed * u[g, k] if missed > 0.0 else 0.0
