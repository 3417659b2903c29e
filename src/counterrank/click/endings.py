"""What pages show below their last click: all that models that read from the top do not see for certain.

Down to a page's last click everything was examined: counts tell it all. Past it, it is not seen whether the user left
or found nothing attractive. With B_k the chance of no click from k on given that k is examined,

    B_k = (1 − a_k)·((1 − u) + u·B_{k+1}),  B beyond the end = 1,

a page whose last click is at l has the factor (1 − v_l) + v_l·B_{l+1} for what follows, and each later position was
examined with a chance that follows from the same numbers. A page without a click is all ending, and its v is 1. Endings
are gathered once, equal ones together and those of one length one after the other; every iteration of a fit goes over
them alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from counterrank.click import halves
from counterrank.click.base import Floats
from counterrank.click.counts import ClickCounts
from counterrank.click.fit import logs
from counterrank.click.read_on import Sums, far_from_none, read_on, read_through
from counterrank.compiled import njit
from counterrank.records import dataclass
from counterrank.statistics.hashing import SECRET, mix
from counterrank.statistics.patterns import Patterns
from counterrank.threads import side_by_side


class Gathered(NamedTuple):
    """Distinct endings of one length, one or more; the t-th shows the pairs items[:, t]."""

    items: Any  # (length, T) pairs
    last: Any  # (T,) the pair of the click above it; P: none
    at: Any  # (T,) the position of that click; K: none
    often: Any  # (T,) impressions


Part = list[Gathered]
Places = list[list[Any]]  # of the last click above each ending, by part and length


@dataclass(frozen=True)
class Endings:
    """The endings of all pages, in one part or, for two threads, in two; and what was seen above them."""

    parts: list[Part]
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
        pairs, half, rows = len(counts.pairs), len(patterns) // 2, len(patterns)
        if rows < halves.WORTH:
            parts = [_part(patterns, slice(0, rows), pairs)]
        else:
            ways = slice(0, half), slice(half, rows)
            parts = list(side_by_side(lambda: _part(patterns, ways[0], pairs), lambda: _part(patterns, ways[1], pairs)))
        followed, blank = np.zeros(pairs + 1), np.zeros(pairs)
        for group in (group for part in parts for group in part):
            followed += np.bincount(group.last, group.often, pairs + 1)
            none = np.flatnonzero(group.last == pairs)
            for items in group.items:
                blank += np.bincount(items[none], group.often[none], pairs)
        seen = counts.looks.to_last - blank
        stops = float(counts.looks.last.sum() - followed[:pairs].sum())
        return cls(parts, seen, seen - counts.clicks, followed[:pairs], stops)

    def places(self, of: Callable[[Gathered], Any]) -> Places:
        """One number for each ending, of all parts and lengths."""
        return [[of(group) for group in part] for part in self.parts]

    def certain(self, clicks: Floats, attraction: Floats) -> float:
        """The log-likelihood of the clicks, and of what stood above a page's last click without one."""
        return logs(clicks, attraction) + logs(self.missed, 1.0 - attraction)

    def step(self, places: Places, attraction: Floats, u: float, v: Floats, doubt: bool = False) -> tuple[float, Sums]:
        """The log-likelihood of the endings and their sums; `places` is the place of each one's last click in `v`.

        The last place is that of endings without one, and has v = 1.
        """
        size, most = len(attraction), float(attraction.max(initial=0.0))

        def run(number: int) -> tuple[float, Sums]:
            sums = Sums(np.zeros(size), np.zeros(size if doubt else 0), np.zeros((len(v), 2)), np.zeros(1))
            total = 0.0
            for group, place in zip(self.parts[number], places[number], strict=True):
                kernel = read_through if not doubt and far_from_none(len(group.items), u, most) else read_on
                total += kernel(group.items, place, group.often, attraction, u, v, sums)
            return total, sums

        if len(self.parts) == 1:
            return run(0)
        (one, sums), (other, more) = side_by_side(lambda: run(0), lambda: run(1))
        for own, added in zip(sums, more, strict=True):
            own += added
        return one + other, sums


@dataclass
class Known:
    """What a step went by: the doubt in its looks is worked out for the last one only."""

    endings: Endings
    places: Places
    given: tuple[Floats, float, Floats] | None = None

    def step(self, attraction: Floats, u: float, v: Floats) -> tuple[float, Sums]:
        """As that of the endings; `v` without the place of those that have no click above."""
        self.given = attraction.copy(), u, np.append(v, 1.0)
        return self.endings.step(self.places, *self.given)

    def doubt(self) -> Floats:
        """Of the last step."""
        assert self.given is not None  # noqa: S101 - a fit has one step or more
        found: Floats = self.endings.step(self.places, *self.given, doubt=True)[1].doubt
        return found


def _part(patterns: Patterns, rows: slice, pairs: int) -> Part:
    queries, coded, impressions = patterns.queries[rows], patterns.coded[rows], patterns.impressions[rows]
    sizes = np.zeros(3, dtype=np.int64)
    _measure(queries, coded, impressions, sizes)
    most, cells, longest = sizes.tolist()
    room = _Room(
        np.zeros(most + 1, dtype=np.int64),
        np.empty(cells, dtype=np.int32),
        np.empty(most, dtype=np.int32),
        np.empty(most, dtype=np.int32),
        np.empty(most),
    )
    table = np.full(1 << (2 * longest).bit_length(), -1, dtype=np.int32)
    many = _gather(queries, coded, impressions, pairs, table, SECRET, room)
    lengths = np.diff(room.starts[: many + 1])
    found = []
    for length in np.flatnonzero(np.bincount(lengths)).tolist():
        some = np.flatnonzero(lengths == length)
        items = np.empty((length, len(some)), dtype=np.int32)
        for i in range(length):
            items[i] = room.items[room.starts[some] + i]
        found.append(Gathered(items, room.last[some], room.at[some], room.often[some]))
    return found


class _Room(NamedTuple):
    """Endings as they come; the t-th shows the pairs items[starts[t]:starts[t+1]]."""

    starts: Any  # (T+1,)
    items: Any  # (cells,)
    last: Any  # (T,)
    at: Any  # (T,)
    often: Any  # (T,)


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
