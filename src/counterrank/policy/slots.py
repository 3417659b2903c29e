"""A policy that fills each position from items of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.ids import Codes, Ids
from counterrank.policy._coded import Coded, distinct, locate
from counterrank.policy.base import Id, Policy
from counterrank.policy.product import BoundSlots
from counterrank.policy.stored import Stored
from counterrank.policy.table import TOLERANCE
from counterrank.statistics.pairs import Pairs


class Slots(Policy):
    """Rows of (query, position, item, probability): each position draws one of its own items, whatever others show.

    Assumption: the positions of a page have separate items and are filled independently. P(ranking) = Π_k μ_k(a_k),
    P(a at j, b at k) = μ_j(a)·μ_k(b). The probabilities of a (query, position) sum to 1 (they may miss it by 1e-6 and
    are divided by their sum); without any, the items of a slot are alike. Under such logging the pseudoinverse
    estimator has a closed form (swaminathan2017, example 1 and proposition 3, there for equal probabilities).

    >>> policy = Slots(["q"] * 3, [1, 1, 2], ["a", "b", "c"], [0.75, 0.25, 1.0])
    >>> policy.rank("q"), policy.probability("q", ["b", "c"])
    (['a', 'c'], 0.25)
    >>> policy.marginals("q")["c"].tolist()
    [0.0, 1.0]
    """

    kind: ClassVar[str] = "slots"

    def __init__(self, queries: Any, positions: Any, items: Any, probabilities: Any = None) -> None:
        self._queries, self._items = Coded.of(queries, "query"), Coded.of(items, "item")
        size = len(self._queries)
        if size == 0:
            raise InputError("the slots have no rows: give at least one (query, position, item) row")
        places = _numbers(positions)
        if not size == len(self._items) == len(places):
            raise InputError(
                f"{size} queries, {len(places)} positions and {len(self._items)} items came: give as many of each"
            )
        self._positions = self._checked_positions(places)
        self._reject_repeats()
        self._slots = np.unique((self._queries.codes << 32) | self._positions, return_inverse=True)[1].ravel()
        self._reject_holes()
        self._probabilities = self._checked(None if probabilities is None else _numbers(probabilities))

    @classmethod
    def from_dict(cls, slots: Mapping[Id, Sequence[Sequence[Id] | Mapping[Id, float]]]) -> Slots:
        """The items of each position of each query, maybe with their probabilities.

        >>> Slots.from_dict({"q": [["a", "b"], ["c"]]}).probability("q", ["b", "c"])
        0.5
        >>> Slots.from_dict({"q": [{"a": 0.9, "b": 0.1}, {"c": 1}]}).probability("q", ["b", "c"])
        0.1
        """
        flat = [(query, k + 1, a, of) for query, row in slots.items() for k, of in enumerate(row) for a in of]
        kinds = {isinstance(of, Mapping) for _, _, _, of in flat}
        if len(kinds) > 1:
            raise InputError("some slots have probabilities and some not: give them for all slots, or for none")
        chances = [float(of[a]) for _, _, a, of in flat if isinstance(of, Mapping)]
        return cls([row[0] for row in flat], [row[1] for row in flat], [row[2] for row in flat], chances or None)

    def rows(self) -> pa.Table:
        queries, items = self.items()
        positions, chances = pa.array(self._positions + 1), pa.array(self._probabilities)
        return pa.table({"query": queries, "position": positions, "item": items, "probability": chances})

    @classmethod
    def restored(cls, stored: Stored) -> Slots:
        stored.only("policy.parquet")
        wanted = {"query": "id", "position": "count", "item": "id", "probability": "number"}
        return cls(*stored.columns("policy.parquet", wanted).columns)

    def queries(self) -> pa.Array:
        return self._queries.texts

    def items(self) -> tuple[pa.Array, pa.Array]:
        every = np.arange(len(self._queries))
        return self._queries.take(every), self._items.take(every)

    def rankings(self) -> tuple[pa.Array, pa.Array] | None:
        lengths = np.zeros(len(self._queries.texts), dtype=np.int64)
        np.maximum.at(lengths, self._queries.codes, self._positions + 1)
        ids = Ids(self._queries.texts), Ids(self._items.texts)
        pairs = Pairs.build(*ids, self._queries.codes, self._items.codes, lengths, int(lengths.max()))
        listed = self.bind(pairs).support()
        if listed is None:
            return None
        queries, rows, _ = listed
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths[queries])]), pa.int32())
        texts = self._items.texts.take(pa.array(pairs.items[rows[rows >= 0]]))
        return self._queries.texts.take(pa.array(queries)), pa.ListArray.from_arrays(offsets, texts)

    def bind(self, pairs: Pairs) -> BoundSlots:
        kept, rows = locate(pairs, self._queries, self._items)
        return BoundSlots(pairs, rows, self._positions[kept], self._probabilities[kept])

    def __repr__(self) -> str:
        return f"Slots({len(self._items)} items of {len(self._queries.texts)} queries)"

    def _checked_positions(self, given: NDArray[np.float64]) -> Codes:
        bad = np.flatnonzero(~(np.isfinite(given) & (given >= 1) & (given == np.floor(given)) & (given < 2**31)))
        if len(bad):
            row = int(bad[0])
            raise InputError(
                f"query {self._queries.name(row)!r}, item {self._items.name(row)!r} has position {given[row]:g} "
                f"(row {row + 1}): positions are whole numbers from 1"
            )
        return given.astype(np.int64) - 1

    def _reject_repeats(self) -> None:
        once = distinct(self._queries, self._items)
        if len(once) == len(self._queries):
            return
        twice = int(np.setdiff1d(np.arange(len(self._queries)), once)[0])
        alike = (self._queries.codes == self._queries.codes[twice]) & (self._items.codes == self._items.codes[twice])
        stands = np.unique(self._positions[alike]) + 1
        which = f"query {self._queries.name(twice)!r} has item {self._items.name(twice)!r}"
        if len(stands) == 1:
            raise InputError(f"{which} more than once at position {stands[0]}: keep one row per item")
        raise InputError(
            f"{which} at positions {stands[0]} and {stands[1]}, but a page shows an item once: "
            "give it an id of its own in each slot"
        )

    def _reject_holes(self) -> None:
        keys = np.unique((self._queries.codes << 32) | self._positions)
        query, position = keys >> 32, keys & 0xFFFFFFFF
        first = np.searchsorted(query, query)
        off = np.flatnonzero(position != np.arange(len(keys)) - first)
        if len(off):
            name = self._queries.texts[int(query[off[0]])].as_py()
            hole = int(off[0] - first[off[0]]) + 1
            raise InputError(f"query {name!r} has no item for position {hole}, but has one for position "
                             f"{int(position[off[0]]) + 1}: number the slots 1, 2, … without holes")  # fmt: skip

    def _checked(self, given: NDArray[np.float64] | None) -> NDArray[np.float64]:
        values = np.ones(len(self._slots)) if given is None else given
        if len(values) != len(self._slots):
            raise InputError(f"{len(values)} probabilities for {len(self._slots)} items: give one per item")
        bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
        if len(bad):
            row = int(bad[0])
            raise InputError(
                f"query {self._queries.name(row)!r}, item {self._items.name(row)!r} has probability {values[row]} "
                f"(row {row + 1}): give a number from 0 to 1 for every item"
            )
        sums = np.bincount(self._slots, values)
        off = np.flatnonzero(np.abs(sums - 1) > TOLERANCE * (1 + 1e-9))
        if given is not None and len(off):
            row = int(np.flatnonzero(self._slots == off[0])[0])
            raise InputError(
                f"the probabilities of query {self._queries.name(row)!r} at position {self._positions[row] + 1} sum to "
                f"{sums[off[0]]:.9g}, not to 1: divide them by their sum, or leave the column out for equal ones"
            )
        return np.asarray(values / sums[self._slots])


def _numbers(given: Any) -> NDArray[np.float64]:
    array = given if isinstance(given, pa.Array | pa.ChunkedArray) else pa.array(given)
    return np.asarray(pc.fill_null(array.cast(pa.float64()), np.nan).to_numpy(), dtype=np.float64)
