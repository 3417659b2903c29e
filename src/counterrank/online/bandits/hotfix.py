"""Hotfix: the first items in random order, and a ranking by which of two was clicked."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.online.bandits.base import Bandit
from counterrank.online.bandits.state import State, Vector


class Hotfix(Bandit):
    """Shuffles the first `top` items, or all, and sorts them by preferences won less preferences lost.

    An item that is clicked is preferred to each one that stands above the last click and is not. Items below `top` stay
    where the ranking before anything was learnt has them. What is shown is random for ever; what is judged is the
    ranking that comes of it. Reference: Zoghi et al. 2016; genspec2021, section 6.3.
    """

    assumption: ClassVar[str] = "what stands above the last click was looked at, and order was random"

    def __init__(self, top: int | None = None) -> None:
        self.top = top

    @property
    def name(self) -> str:
        return "hotfix" if self.top is None else f"hotfix-{self.top}"

    def _top(self, state: State) -> int:
        return len(state.first) if self.top is None else self.top

    def scores(self, state: State) -> Vector:
        won = state.of(self.name)
        return np.where(state.first < self._top(state), won, won.min(initial=0.0) - 1.0 - state.first)

    def rank(self, state: State, rng: np.random.Generator) -> Codes:
        rows, keys = state.rows(), np.empty(len(state.first))
        keys[rows] = rng.random(len(rows))
        shuffle(state.starts, state.asked, state.first, keys, self._top(state), state.positions)
        return state.positions

    def learn(self, state: State) -> None:
        prefer(state.starts, state.asked, state.positions, state.clicked, self._top(state), state.of(self.name))


@njit(nogil=True)
def shuffle(starts: Any, asked: Any, before: Any, keys: Any, top: int, positions: Any) -> None:  # pragma: no cover
    """Positions of each asked query's items: random for those that were above `top` before, the others as before.

    Each item in turn changes places with one of those above it, which its key in [0, 1) chooses: Fisher and Yates.
    """
    longest = 0
    for q in asked:
        longest = max(longest, starts[q + 1] - starts[q])
    order = np.empty(longest, dtype=np.int64)
    for q in asked:
        size = 0
        for i in range(starts[q], starts[q + 1]):
            if before[i] < top:
                at = int(keys[i] * (size + 1))
                order[size] = order[at]
                order[at] = i
                size += 1
            else:
                positions[i] = before[i]
        for place in range(size):
            positions[order[place]] = place


@njit(nogil=True)
def prefer(starts: Any, asked: Any, positions: Any, clicked: Any, top: int, won: Any) -> None:  # pragma: no cover
    """Adds to `won`, of each item of the asked queries, how many it was preferred to less how many to it."""
    for q in asked:
        first, last = starts[q], starts[q + 1]
        lowest, hits = -1, 0
        for i in range(first, last):
            if clicked[i]:
                lowest = max(lowest, positions[i])
                hits += positions[i] < top
        lowest = min(lowest, top - 1)
        for i in range(first, last):
            if positions[i] <= lowest:
                won[i] += lowest + 1 - hits if clicked[i] else -hits
