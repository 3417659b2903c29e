"""What pages show below their last click: all that models that read from the top do not see for certain.

Down to a page's last click everything was examined: counts tell it all. Past it, it is not seen whether the user left
or found nothing attractive. With B_k the chance of no click from k on given that k is examined,

    B_k = (1 − a_k)·((1 − u) + u·B_{k+1}),  B beyond the end = 1,

a page whose last click is at l has the factor (1 − v_l) + v_l·B_{l+1} for what follows, and each later position was
examined with a chance that follows from the same numbers. Endings are gathered once, equal ones together; every
iteration of a fit goes over them alone. A page without a click is all ending, and its v is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from counterrank.click import halves
from counterrank.click.base import Floats
from counterrank.click.counts import ClickCounts
from counterrank.click.fit import logs
from counterrank.compiled import njit
from counterrank.records import dataclass
from counterrank.statistics.hashing import SECRET, mix
from counterrank.statistics.patterns import Patterns
from counterrank.threads import side_by_side

LEAST = 1e-280  # added to every B: a page of a thousand positions without a click is no impossible one


class Gathered(NamedTuple):
    """Distinct endings; ending t shows the pairs items[starts[t]:starts[t+1]], one or more."""

    starts: Any  # (T+1,)
    items: Any  # (cells,) pairs
    last: Any  # (T,) the pair of the click above it; P: none
    at: Any  # (T,) the position of that click; K: none
    often: Any  # (T,) impressions


class Sums(NamedTuple):
    """What a step fills: sums over endings, each as often as it was logged."""

    looks: Any  # (P, 2) expected looks at each pair; and their doubt, Σ w(1 − w)
    after: Any  # (J, 2) by the place of the last click: 1 / ((1 − v) + v·B), and B / ((1 − v) + v·B), B = B_{l+1}
    lowest: Any  # (1,) expected looks at the last positions of pages


@dataclass(frozen=True)
class Endings:
    """The endings of all pages, in one part or, for two threads, in two; and what was seen above them."""

    parts: Sequence[Gathered]
    seen: Floats  # (P,) how often a pair stood at or above a page's last click
    missed: Floats  # (P,) of these, without a click
    followed: Floats  # (P,) last clicks with an ending below
    stops: float  # last clicks at the end of their page

    @classmethod
    def of(cls, counts: ClickCounts, model: str) -> Endings:
        """Made once for all models that are fitted to these counts."""
        patterns = counts.need_patterns(model)
        return counts.once("endings", lambda: cls._gathered(counts, patterns))

    @classmethod
    def _gathered(cls, counts: ClickCounts, patterns: Patterns) -> Endings:
        pairs, rows = len(counts.pairs), len(patterns)
        if rows < halves.WORTH:
            parts: tuple[Gathered, ...] = (_part(patterns, slice(0, rows), pairs),)
        else:
            ways = slice(0, rows // 2), slice(rows // 2, rows)
            parts = side_by_side(*(lambda rows=each: _part(patterns, rows, pairs) for each in ways))  # type: ignore[misc]
        followed, blank = np.zeros(pairs + 1), np.zeros(pairs)
        for part in parts:
            followed += np.bincount(part.last, part.often, pairs + 1)
            none = np.repeat(np.where(part.last == pairs, part.often, 0.0), np.diff(part.starts))
            blank += np.bincount(part.items, none, pairs)
        seen = counts.looks.to_last - blank
        stops = float(counts.looks.last.sum() - followed[:pairs].sum())
        return cls(parts, seen, seen - counts.clicks, followed[:pairs], stops)

    def certain(self, counts: ClickCounts, attraction: Floats) -> float:
        """The log-likelihood of the clicks, and of what stood above a page's last click without one."""
        return logs(counts.clicks, attraction) + logs(self.missed, 1.0 - attraction)

    def step(self, places: Sequence[Any], attraction: Floats, u: float, v: Floats) -> tuple[float, Sums]:
        """The log-likelihood of the endings and their sums; `places` is the place of each one's last click in `v`.

        The last place is that of endings without one, and has v = 1.
        """

        def run(number: int) -> tuple[float, Sums]:
            sums = Sums(np.zeros((len(attraction), 2)), np.zeros((len(v), 2)), np.zeros(1))
            return read_on(self.parts[number], places[number], attraction, u, v, sums), sums

        if len(self.parts) == 1:
            return run(0)
        (one, sums), (other, more) = side_by_side(lambda: run(0), lambda: run(1))
        for own, added in zip(sums, more, strict=True):
            own += added
        return one + other, sums


def _part(patterns: Patterns, rows: slice, pairs: int) -> Gathered:
    queries, coded, impressions = patterns.queries[rows], patterns.coded[rows], patterns.impressions[rows]
    sizes = np.zeros(3, dtype=np.int64)
    _measure(queries, coded, impressions, sizes)
    most, cells, longest = sizes.tolist()
    room = Gathered(
        np.zeros(most + 1, dtype=np.int64),
        np.empty(cells, dtype=np.int32),
        np.empty(most, dtype=np.int32),
        np.empty(most, dtype=np.int32),
        np.empty(most),
    )
    size = 1 << (2 * longest).bit_length()
    many = _gather(queries, coded, impressions, pairs, np.full(size, -1, dtype=np.int32), SECRET, room)
    starts = room.starts[: many + 1]
    return Gathered(starts, room.items[: starts[-1]], room.last[:many], room.at[:many], room.often[:many])


@njit(nogil=True)
def _measure(queries: Any, coded: Any, impressions: Any, sizes: Any) -> None:
    """How many rows have endings, how many items these show, and how many rows of one query follow each other."""
    run = 0
    for r in range(len(queries)):
        run = run + 1 if r > 0 and queries[r] == queries[r - 1] else 1
        sizes[2] = max(sizes[2], run)
        if impressions[r] <= 0:
            continue
        below = 0
        for k in range(coded.shape[1]):
            if coded[r, k] < 0:
                break
            below = 0 if coded[r, k] & 1 else below + 1
        sizes[0] += below > 0
        sizes[1] += below


@njit(nogil=True)
def _gather(queries: Any, coded: Any, impressions: Any, pairs: int, table: Any, secret: Any, out: Any) -> int:
    """Endings as they come, each once for rows of one query that follow each other; how many there are.

    `table` has the ending at each place, or one of an earlier query, or -1: both are as good as none.
    """
    positions = coded.shape[1]
    used, earlier = 0, 0
    mask = np.uint64(len(table) - 1)
    for r in range(len(queries)):
        if r > 0 and queries[r] != queries[r - 1]:
            earlier = used
        if impressions[r] <= 0:
            continue
        length, last = 0, -1
        while length < positions and coded[r, length] >= 0:
            if coded[r, length] & 1:
                last = length
            length += 1
        size = length - 1 - last
        if size == 0:
            continue
        begin = out.starts[used]
        key = np.uint64(last + 1)
        for i in range(size):
            pair = coded[r, last + 1 + i] >> 1
            out.items[begin + i] = pair
            key = mix(key ^ (np.uint64(pair) * secret[0]))
        above, at = (coded[r, last] >> 1, last) if last >= 0 else (pairs, positions)
        place = np.int64(mix(key ^ (np.uint64(above) * secret[1])) & mask)
        while table[place] >= earlier:
            t = table[place]
            first = out.starts[t]
            same = out.starts[t + 1] - first == size and out.last[t] == above and out.at[t] == at
            i = 0
            while same and i < size:
                same = out.items[first + i] == out.items[begin + i]
                i += 1
            if same:
                break
            place = np.int64((np.uint64(place) + np.uint64(1)) & mask)
        if table[place] >= earlier:
            out.often[table[place]] += impressions[r]
            continue
        table[place] = used
        out.last[used], out.at[used], out.often[used] = above, at, impressions[r]
        used += 1
        out.starts[used] = begin + size
    return used


@njit(nogil=True)
def read_on(endings: Any, places: Any, attraction: Any, u: float, v: Any, sums: Any) -> float:
    """The log-likelihood of endings, and their sums. `u` is the chance to go on after no click, `v` after the last."""
    starts, items, looks = endings.starts, endings.items, sums.looks
    longest = 0
    for t in range(len(places)):
        longest = max(longest, starts[t + 1] - starts[t])
    on = np.empty(longest)  # the chance that the next position is examined, if this one is
    total, lowest = 0.0, 0.0
    for t in range(len(places)):
        first, end, m, j = starts[t], starts[t + 1], endings.often[t], places[t]
        b = 1.0
        for i in range(end - 1, first - 1, -1):
            free = 1.0 - attraction[items[i]]
            on[i - first] = u * b / ((1.0 - u) + u * b)
            b = (free * (1.0 - u) + LEAST) + (free * u) * b
        rest = (1.0 - v[j]) + v[j] * b
        total += m * np.log(rest)
        sums.after[j, 0] += m / rest
        sums.after[j, 1] += m * b / rest
        w = v[j] * b / rest
        for i in range(first, end):
            p = items[i]
            looks[p, 0] += m * w
            looks[p, 1] += m * w * (1.0 - w)
            if i + 1 < end:
                w *= on[i - first]
        lowest += m * w
    sums.lowest[0] += lowest
    return total
