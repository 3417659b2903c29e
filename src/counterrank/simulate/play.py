"""Bandits at work: queries come uniformly, a bandit chooses each page, users click, the bandit learns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from counterrank.online.bandits import Bandit, State
from counterrank.simulate.labelled import Vector
from counterrank.simulate.users import LoggedWorld, coming

ROUND = 64  # impressions of a query, on average, that are drawn at a time


def play(world: LoggedWorld, bandit: Bandit, clicks: Sequence[int], rng: np.random.Generator) -> Iterator[Vector]:
    """(P,) the scores of the ranking that the bandit would produce, whenever one of these numbers of clicks is reached.

    The first logged ranking is what was served before. Queries come in chunks, of which each query has its own
    impressions served one after the other.
    """
    data = world.data
    examination = 1 / np.arange(1.0, data.longest + 1)
    state = State(starts=data.starts, first=world.ranks[0], examination=examination)
    seen, rate = 0, 1 / world.clicks_per_impression
    for level in clicks:
        while seen < level:
            size = min(int(np.ceil((level - seen) * rate)), ROUND * len(data))
            seen += bandit.serve(state, world.attraction, coming(len(data), size, rng), rng)
        yield bandit.scores(state)
