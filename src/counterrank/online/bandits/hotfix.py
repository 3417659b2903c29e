"""Hotfix: the first items in random order, and a ranking by which of two was clicked."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.online.bandits.base import Bandit
from counterrank.online.bandits.order import drawn, next_of
from counterrank.online.bandits.state import State, Vector
from counterrank.statistics.hashing import mix


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

    def serve(self, state: State, attraction: Vector, often: Codes, rng: np.random.Generator) -> int:
        """Compiled. Of the evidence only preferences are kept: a page is not even shuffled below where users look."""
        state.asked = np.flatnonzero(often)
        state.impressions += often
        key = rng.integers(0, 2**64, dtype=np.uint64)
        pages = state.starts, state.first, state.positions
        return int(served(pages, state.examination, attraction, often, self._top(state), state.of(self.name), key))


@njit(nogil=True)
def served(
    pages: Any, examination: Any, attraction: Any, often: Any, top: int, won: Any, key: Any
) -> Any:  # pragma: no cover
    """Serves so many impressions of each query, adds to `won` as `prefer` does, and counts the clicks.

    Places of the page are filled from the top, each with one of the items that are left, as far as a user looks.
    """
    starts, before, positions = pages
    longest = 0
    for q in range(len(starts) - 1):
        longest = max(longest, starts[q + 1] - starts[q])
    order, clicked = np.empty(longest, dtype=np.int64), np.zeros(longest, dtype=np.bool_)
    came = 0
    for q in range(len(starts) - 1):
        first, size = starts[q], starts[q + 1] - starts[q]
        shown, own, number = min(top, size), mix(key ^ mix(np.uint64(q))), 0
        for i in range(first, first + size):
            order[before[i]] = i
        for _ in range(often[q]):
            filled, lowest, hits = 0, -1, 0
            looked = next_of(examination, -1, size, drawn(own, number))
            number += 1
            while looked < size:
                while filled <= looked and filled < shown:
                    at = filled + int(drawn(own, number) * (shown - filled))
                    order[filled], order[at] = order[at], order[filled]
                    filled, number = filled + 1, number + 1
                if drawn(own, number) < attraction[order[looked]]:
                    came += 1
                    if looked < shown:
                        lowest, hits = looked, hits + 1
                        clicked[looked] = True
                    else:
                        lowest = shown - 1
                looked = next_of(examination, looked, size, drawn(own, number + 1))
                number += 2
            if hits:
                while filled <= lowest:  # a click below the top: all of the top stands above it
                    at = filled + int(drawn(own, number) * (shown - filled))
                    order[filled], order[at] = order[at], order[filled]
                    filled, number = filled + 1, number + 1
                for place in range(lowest + 1):
                    won[order[place]] += lowest + 1 - hits if clicked[place] else -hits
                    clicked[place] = False
        for place in range(size):
            positions[order[place]] = place
    return came


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
