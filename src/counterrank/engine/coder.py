"""Rows as codes: queries, items and pairs get numbers in the order they are met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.crew import WORTH, Crew
from counterrank.engine import kernels
from counterrank.engine.plan import Plan, WantedRankings
from counterrank.engine.records import PairSlots, ShownRows
from counterrank.engine.tables import HashedCodes, KeyCodes, PairTable, Vocabulary
from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.log.keys import IdKeys, text_key
from counterrank.log.rows import Kinds, Rows
from counterrank.records import dataclass
from counterrank.statistics.hashing import SECRET

UNCUT = 1 << 30
SEEN_BEFORE = 16  # items that a first batch shows for each pair that it has room for
EXPECTED = 1 << 20  # cells that there is room for before one was seen
MOVED = 2  # times as many items as were shown for another query than last make it worth to remember that
BEGINNING = 8  # such a part of a first batch shows most of its pairs


@dataclass(frozen=True, kw_only=True)
class CodedRows:
    """A batch as codes, 2·pair + click per position and -1 at the end, in the order of its queries."""

    coded: NDArray[np.int32]  # (n, K)
    impressions: NDArray[np.int64] | None  # None: one each
    starts: Codes  # where the rows of each query begin; empty where they are not in order
    reward: NDArray[np.float64] | None = None  # from the rewards' origin; None: clicks are counted
    day: NDArray[np.int32] | None = None  # codes of days, -1 for none; None: they are not counted
    cluster: Codes | None = None
    chances: NDArray[np.float64] | None = None  # (n, K) the propensity of each item, where they are asked for

    def __len__(self) -> int:
        return len(self.coded)

    @property
    def positions(self) -> int:
        return int(self.coded.shape[1])

    def some(self, first: int, last: int) -> NDArray[np.int32]:
        """The codes of rows first to last."""
        return self.coded[first:last]

    def taken(self, picked: Codes) -> NDArray[np.int32]:
        """The codes of these rows."""
        return self.coded[picked]

    def heads(self) -> NDArray[np.int32]:
        """The first code of each row."""
        return self.coded[:, 0]

    @property
    def nbytes(self) -> int:
        columns = (self.coded, self.impressions, self.starts, self.reward, self.day, self.cluster, self.chances)
        return sum(column.nbytes for column in columns if column is not None)


class Coder:
    """The vocabularies of a pass. `asked`: queries with a code below it were asked for; None: all were.

    `before_growth` is called before tables move that another thread may be writing to.
    """

    def __init__(self, plan: Plan, kinds: Kinds, crew: Crew, before_growth: Callable[[], None]) -> None:
        self.plan, self.crew = plan, crew
        self.top = plan.top or UNCUT
        self.queries = Vocabulary(kinds.integer_queries, kinds.native_queries)
        self.items = Vocabulary(kinds.integer_items, kinds.native_items)
        # what a cluster is called matters only where impressions are drawn by what they hold
        self.clusters = HashedCodes() if plan.by_cluster else KeyCodes(integer=False, native=False)
        self.pairs = PairTable(1)
        self.size = np.zeros(16, dtype=np.int64)
        self.size[kernels.SLOTS] = 2  # of which the first two stay free
        self.before_growth = before_growth
        self.scattered = False  # whether items are shown for one query after another
        self.asked: int | None = None
        if plan.queries is not None:
            self.queries.add(plan.queries)
            self.asked = self.queries.size
        self.wanted: NDArray[np.uint64] | None = None  # keys of rankings to count; None: no such choice
        self._wanted_depth = 0
        wanted = plan.rankings
        self._wanted = self._coded_rankings(wanted) if isinstance(wanted, WantedRankings) else None

    @property
    def used(self) -> int:
        """Pairs met so far."""
        return int(self.size[kernels.PAIRS])

    def query_codes(self, rows: Rows, insert: bool) -> Codes:
        keys = rows.query_keys
        if keys.index is None:
            return self.queries.encode(keys.known, rows.query_values, insert)
        return self.queries.encode(keys.known, rows.query_values.dictionary, insert).take(keys.index)

    def covered(self, room: int) -> NDArray[np.bool_]:
        """Which query codes were asked for."""
        return np.arange(room) < (room if self.asked is None else self.asked)

    def places(self, codes: Codes) -> tuple[Codes, Codes]:
        """Where each row goes in the order of queries, and where the rows of each query begin in it."""
        place, starts = kernels.by_query(codes, self.queries.size)
        return place, starts

    def code(self, rows: Rows, codes: Codes, place: Codes, insert: bool = True) -> NDArray[np.int32]:
        """Rows, each at its place, as pair codes and clicks, (n, K); pairs and items that are new get codes."""
        longest = int(np.diff(rows.offsets).max())
        coded = np.empty((len(rows), min(longest, self.top)), dtype=np.int32)
        clicks = rows.clicks if rows.clicks is not None and self.plan.metric == "clicks" else np.zeros(0, dtype=np.int8)
        keys = rows.item_keys if not self.scattered else IdKeys(rows.item_keys.each())
        places = keys.index if keys.index is not None else np.zeros(0, dtype=np.int32)
        shown = ShownRows(codes, rows.offsets, keys.known, places, clicks)
        self.pairs.know(self.queries.size)
        begin, first = 0, insert and not self.used
        if first:  # most pairs are met at the beginning: by query, so that those of one lie together in memory
            self._expect(min(len(rows.item_keys) // SEEN_BEFORE, EXPECTED // max(longest, 1)), coded.shape[1])
            begin = max(len(rows) // BEGINNING, min(len(rows), WORTH))
            order = placed(np.arange(len(rows)), place)
            self._new(rows, order[order < begin], shown, place, coded)
        left = self._known(shown, place, coded, begin)
        if len(left):
            if not insert:
                raise InputError("the log changed while it was read: try again when nothing writes to it")
            self._new(rows, left[np.argsort(place[left])] if first else left, shown, place, coded)
        return coded

    def _known(self, shown: ShownRows, place: Codes, coded: NDArray[np.int32], begin: int) -> Codes:
        """Code the rows from `begin` on whose pairs are known, two halves side by side; the rows that are left."""
        size, slots, every = len(place), self._slots(), self.plan.all_items
        lately = np.zeros(len(shown.keys), dtype=np.int64) if len(shown.places) else None

        def run(first: int, last: int) -> Codes:
            left = np.empty(last - first, dtype=np.int64)
            if lately is None:
                some = kernels.code_known(first, last, shown, place, self.top, every, slots, coded, left, SECRET)
                return left[:some]
            some, met = kernels.code_indexed(
                first, last, shown, place, self.top, every, slots, lately, coded, left, SECRET
            )
            if MOVED * met > shown.offsets[last] - shown.offsets[first]:
                self.scattered = True
            return left[:some]

        return np.concatenate(self.crew.halves(run, begin, size))

    def _new(self, rows: Rows, order: Codes, shown: ShownRows, place: Codes, coded: NDArray[np.int32]) -> None:
        """Code these rows; pairs and items that are new get codes."""
        longest, start = int(np.diff(shown.offsets).max()), 0
        while True:
            before = int(self.size[kernels.ITEMS])
            fresh = np.empty(len(self.items.slots) // 4 + longest + 1, dtype=np.int64)
            start = kernels.code_rows(
                start, order, shown, place, self.top, self.plan.all_items, self.size, self._slots(), fresh, coded,
                SECRET,
            )  # fmt: skip
            new = fresh[before : int(self.size[kernels.ITEMS])]
            if len(new):
                self.items.keep(rows.item_values.take(pa.array(new)))
                self.items.size = int(self.size[kernels.ITEMS])
            if start >= len(order):
                return
            self._make_room(longest)

    def _slots(self) -> PairSlots:
        table = self.pairs
        return PairSlots(table.slots, table.tables, table.query, table.item, table.place, self.items.slots)

    def code_again(self, rows: Rows, days: Codes) -> CodedRows:
        """The second reading: every query, item and pair is known."""
        codes = self.query_codes(rows, insert=False)
        if self.asked is not None:
            codes = np.where(codes < self.asked, codes, -1)
        place, starts = self.places(codes)
        coded = self.code(rows, codes, place, insert=False)
        chances, cluster = self.chances(rows, coded.shape[1]), self.clustered(rows)
        return CodedRows(
            coded=coded,
            impressions=placed(rows.impressions, place),
            starts=starts,
            day=placed(days, place).astype(np.int32) if len(days) else None,
            cluster=None if cluster is None else placed(cluster, place),
            chances=None if chances is None else placed(chances, place),
        )

    def forget(self) -> None:
        """Give back the room that ids, pairs and rankings are found in: from now on they go by their codes."""
        used = self.used
        self.queries.forget_keys()
        self.items.forget_keys()
        self.wanted, self._wanted = None, None
        self.plan = replace(self.plan, rankings="none", queries=None)  # whose texts are a copy of what policies hold
        self.pairs.slots, self.pairs.tables = self.pairs.slots[:0].copy(), self.pairs.tables[:0].copy()
        self.pairs.query, self.pairs.item = _short(self.pairs.query[:used]), _short(self.pairs.item[:used])
        self.pairs.place = self.pairs.place[:used].copy()

    def clustered(self, rows: Rows) -> Codes | None:
        """The code of each row's cluster, where they are asked for."""
        if not self.plan.clusters or rows.cluster is None:
            return None
        return self.clusters.encode(rows.cluster, rows.cluster_values)

    def chances(self, rows: Rows, positions: int) -> NDArray[np.float64] | None:
        """(n, K) the propensities of the items of each row, where they are asked for; 1 beyond its end."""
        if not self.plan.by_item or rows.item_propensities is None:
            return None
        out = np.ones((len(rows), positions))
        kernels.lay_out(rows.offsets, rows.item_propensities, out)
        return out

    def _expect(self, pairs: int, positions: int) -> None:
        """Make room for so many at once: to make it bit by bit takes as long as to fill it."""
        self.pairs.tally.grow(0, positions)
        self.pairs.grow(0, pairs)
        self.pairs.widen(int(self.size[kernels.SLOTS]), pairs)
        if pairs > len(self.items.slots) // 4:
            self.items.grow(pairs)

    def _make_room(self, longest: int) -> None:
        self.before_growth()
        self.pairs.grow(self.used, self.used + longest)
        self.pairs.widen(int(self.size[kernels.SLOTS]), longest)
        while 2 * (self.size[kernels.ITEMS] + longest) > len(self.items.slots) // 2 - 1:
            self.items.grow()

    def want(self, depth: int) -> None:
        """Know the wanted rankings down to `depth` items: how far they are cut is known after the pass only."""
        if self._wanted is None or depth <= self._wanted_depth:
            return
        queries, offsets, items = self._wanted
        self._wanted_depth = depth
        keys = np.empty(int(np.minimum(np.diff(offsets), depth).sum()), dtype=np.uint64)
        distinct = np.unique(keys[: kernels.prefix_keys(queries, offsets, items, depth, keys, SECRET)])
        self.wanted = np.zeros(power_of_two(2 * len(distinct) + 2), dtype=np.uint64)
        kernels.fill_set(distinct, self.wanted)

    def _coded_rankings(self, wanted: WantedRankings) -> tuple[Codes, Codes, Codes]:
        """Queries, offsets and items of the rankings, as codes; -1 for what the log cannot hold."""
        keys, fits = text_key(wanted.queries, self.queries.integer)
        queries = np.where(fits, self.queries.encode(keys, wanted.queries, insert=self.asked is None), -1)
        offsets = wanted.items.offsets.to_numpy().astype(np.int64)
        flat = wanted.items.values.slice(offsets[0], offsets[-1] - offsets[0])
        items = self.items.add(flat)
        self.size[kernels.ITEMS] = self.items.size
        return queries, offsets - offsets[0], items


def power_of_two(size: int) -> int:
    """The next power of two, 1,024 at least."""
    return 1 << max(10, int(size - 1).bit_length())


def _short(codes: Codes) -> Any:
    """A copy in half the room: there are fewer than 2³¹ codes."""
    return codes.astype(np.int32)


def placed(values: NDArray[Any], place: Codes) -> NDArray[Any]:
    """The values of rows, each at its place."""
    out = np.empty_like(values)
    out[place] = values
    return out
