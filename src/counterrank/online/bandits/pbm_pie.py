"""PBM-PIE: the ranking by clicks over examination, and exploration at the last place."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.online.bandits.base import Bandit
from counterrank.online.bandits.order import drawn, next_of
from counterrank.online.bandits.state import State, Vector
from counterrank.statistics.hashing import mix


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

    def serve(self, state: State, attraction: Vector, often: Codes, rng: np.random.Generator) -> int:
        """Compiled: the page before is put in order and shown again."""
        state.asked = np.flatnonzero(often)
        state.impressions += often
        key = rng.integers(0, 2**64, dtype=np.uint64)
        known = state.clicks, state.exposure
        return int(served(state.starts, known, state.positions, state.examination, attraction, often, key))


@njit(nogil=True)
def served(
    starts: Any, known: Any, positions: Any, examination: Any, attraction: Any, often: Any, key: Any
) -> Any:  # pragma: no cover
    """Serves so many impressions of each query, adds to what is known of its items, and counts the clicks.

    While a query is served what is known stands in the order of its page, so that most of a turn runs side by side.
    """
    clicks, exposure = known
    longest = 0
    for q in range(len(starts) - 1):
        longest = max(longest, starts[q + 1] - starts[q])
    order = np.empty(longest, dtype=np.int64)
    page = np.empty((4, longest))  # clicks, exposure, attraction, score
    chances, came = np.empty(longest), 0
    for q in range(len(starts) - 1):
        first, size, own, number = starts[q], starts[q + 1] - starts[q], mix(key ^ mix(np.uint64(q))), 0
        for i in range(first, first + size):
            order[positions[i]] = i
        for place in range(size):
            item = order[place]
            page[0, place], page[1, place], page[2, place] = clicks[item], exposure[item], attraction[item]
        for _ in range(often[q]):
            number = put_in_order(page, order, size, own, number)
            for place in range(size):
                chances[place] = examination[place] * page[2, place]
                page[1, place] += examination[place]
            place = -1
            while place < size:
                place = next_of(chances, place, size, drawn(own, number))
                number += 1
                if place < size:
                    page[0, place] += 1.0
                    came += 1
        for place in range(size):
            item = order[place]
            clicks[item], exposure[item], positions[item] = page[0, place], page[1, place], place
    return came


@njit(nogil=True)
def put_in_order(page: Any, order: Any, size: int, key: Any, number: int) -> int:  # pragma: no cover
    """Sorts a page by clicks over exposure, equal ones in an order of chance; the number of the next draw."""
    clicks, exposure, attraction, score = page[0], page[1], page[2], page[3]
    for place in range(size):
        score[place] = clicks[place] / exposure[place] if exposure[place] > 0.0 else 0.0
    for place in range(1, size):
        if score[place] <= score[place - 1]:
            continue
        at, moved = place, (order[place], clicks[place], exposure[place], attraction[place], score[place])
        while at > 0 and score[at - 1] < moved[4]:
            order[at], score[at] = order[at - 1], score[at - 1]
            clicks[at], exposure[at], attraction[at] = clicks[at - 1], exposure[at - 1], attraction[at - 1]
            at -= 1
        order[at], clicks[at], exposure[at], attraction[at], score[at] = moved
    begin = 0
    while begin < size - 1:
        end = begin + 1
        while end < size and score[end] == score[begin]:
            end += 1
        for place in range(begin, end - 1):  # equal ones
            at = place + int(drawn(key, number) * (end - place))
            number += 1
            order[place], order[at] = order[at], order[place]
            for each in range(3):
                page[each, place], page[each, at] = page[each, at], page[each, place]
        begin = end
    return number
