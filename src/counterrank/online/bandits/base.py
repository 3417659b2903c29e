"""What a ranking bandit is: `rank(state, rng)` chooses the pages, `learn(state)` takes in the clicks on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from counterrank.ids import Codes
from counterrank.online.bandits.order import sort_pages
from counterrank.online.bandits.state import State, Vector


class Bandit(ABC):
    """It ranks the items of the queries that are asked, sees what was clicked, and ranks the next page by that.

    It has settings, but no memory: all that is learnt is in the state, so that a state can be kept and taken up again.
    Queries are ranking problems of their own, and any number of them may be asked at once.
    """

    assumption: ClassVar[str]

    @abstractmethod
    def scores(self, state: State) -> Vector:
        """(P,) what items are sorted by, highest first, in the ranking it holds for the best; equal ones are tied."""

    def rank(self, state: State, rng: np.random.Generator) -> Codes:
        """(P,) the position, from 0, of each item of the queries that are asked: what is shown now.

        Unless a bandit explores in a way of its own this is the ranking it holds for the best, ties broken at random.
        """
        return shown_by(state, self.scores(state), rng)

    @abstractmethod
    def learn(self, state: State) -> None:
        """After the clicks on the pages that were asked are in the state."""

    def serve(self, state: State, attraction: Vector, often: Codes, rng: np.random.Generator) -> int:
        """Serves so many impressions of each query, (Q,), to users of this attraction, (P,); how many clicks came.

        One page of a query after the other: the clicks on it are known before the next is chosen. This is the literal
        way, turn by turn. A bandit may have a compiled one, which must be the same in law, and need not keep of the
        evidence what the bandit never looks at.
        """
        came = 0
        for turn in range(int(often.max(initial=0))):
            state.asked = np.flatnonzero(often > turn)
            self.rank(state, rng)
            rows = state.rows()
            clicked = rng.random(len(rows)) < attraction[rows] * state.examination[state.positions[rows]]
            state.see(rows, clicked)
            self.learn(state)
            came += int(clicked.sum())
        return came


def shown_by(state: State, scores: Vector, rng: np.random.Generator) -> Codes:
    """The positions of the state, with the items of the queries that are asked sorted anew; ties at random."""
    rows, keys = state.rows(), np.empty(len(scores))
    keys[rows] = rng.random(len(rows))
    sort_pages(state.starts, state.asked, scores, keys, state.positions)
    return state.positions
