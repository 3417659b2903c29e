"""The growing hash tables behind the kernels: vocabularies of ids, pairs and groups of rankings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.engine import kernels
from counterrank.errors import InputError
from counterrank.ids import Codes, Ids
from counterrank.log.keys import Keys, text_key
from counterrank.statistics.cell_tally import CellTally
from counterrank.statistics.hashing import SECRET, content_keys


class Vocabulary:
    """Ids in the order they were first met; a log's keys become codes without touching their text."""

    def __init__(self, integer: bool, native: bool) -> None:
        self.integer = integer
        self.native = native
        self.size = 0
        self.slots = np.zeros(2 * 1024, dtype=np.int64)
        self._texts: list[Any] = []

    def encode(self, keys: Keys, values: Any, insert: bool = True) -> Codes:
        """The code of each key; `values` are the ids behind them, kept for those that are new."""
        codes = np.empty(len(keys), dtype=np.int64)
        before, done = self.size, 0
        fresh_at: list[NDArray[np.int64]] = []
        while True:
            fresh = np.empty(len(self.slots) // 4 + 1, dtype=np.int64)
            start = self.size
            self.size, read = kernels.encode(keys[done:], self.slots, self.size, insert, codes[done:], fresh, SECRET)
            fresh_at.append(fresh[start : self.size] + done)
            done += read
            if done >= len(keys):
                break
            self.grow()
        if self.size > before:
            self.keep(None if values is None else values.take(pa.array(np.concatenate(fresh_at))))
        return codes

    def grow(self, ids: int = 0) -> None:
        """Double the room, or as often as so many ids take."""
        room = len(self.slots) * 2
        while ids > room // 4:
            room *= 2
        larger = np.zeros(room, dtype=np.int64)
        kernels.rehash(self.slots, larger, SECRET)
        self.slots = larger

    def keep(self, values: Any) -> None:
        """Remember the ids of the newest codes."""
        spelt = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        self._texts.append(spelt.cast(pa.string()))

    def add(self, texts: pa.Array) -> Codes:
        """Codes for ids given as text, -1 where the log cannot hold such an id (007 among integers)."""
        keys, fits = text_key(texts, self.integer)
        codes = np.full(len(texts), -1, dtype=np.int64)
        codes[fits] = self.encode(keys[fits], texts.filter(pa.array(fits)))
        return codes

    def ids(self) -> Ids:
        self._texts = [pa.concat_arrays(self._texts) if self._texts else pa.array([], pa.string())]
        return Ids(self._texts[0], self.native)

    def forget_texts(self) -> None:
        """Give back the room of the texts: from now on ids go by their codes."""
        self._texts = []

    def forget_keys(self) -> None:
        """Give back the room that keys are found in: none will be looked up again."""
        self.slots = self.slots[:0].copy()


class KeyCodes(Vocabulary):
    """Codes of ids whose text nobody asks for."""

    def keep(self, values: Any) -> None:
        pass


class HashedCodes(KeyCodes):
    """Codes of ids of which only a hash is asked for, the same in every run."""

    def __init__(self) -> None:
        super().__init__(integer=False, native=False)
        self._hashes: list[NDArray[np.uint64]] = []

    def keep(self, values: Any) -> None:
        self._hashes.append(content_keys(values.cast(pa.string())))

    def hashed(self) -> NDArray[np.uint64]:
        """The hash of each id, by its code."""
        return np.concatenate([np.zeros(0, dtype=np.uint64), *self._hashes])


class PairTable:
    """(query, item key) → pair, with what is counted per pair and position.

    Each query has a small table of its own among `slots`, of keys and pairs plus one, which moves when it is three
    quarters full: the pairs of one query are near each other, and those of a short list take few slots.
    """

    def __init__(self, positions: int) -> None:
        self.slots = np.zeros((4096, 2), dtype=np.int64)
        self.tables = np.zeros((0, 3), dtype=np.int64)
        self.query = np.zeros(1024, dtype=np.int64)
        self.item = np.zeros(1024, dtype=np.int64)
        self.place = np.zeros(1024, dtype=np.int32)  # among the pairs of its query
        self._by_query: tuple[Codes, NDArray[np.int32]] | None = None
        self.tally = CellTally(positions)

    def know(self, queries: int) -> None:
        """Room for so many queries; a new one is looked up in two slots that stay free."""
        if queries > len(self.tables):
            old, self.tables = self.tables, np.zeros((max(2 * len(self.tables), queries, 1024), 3), dtype=np.int64)
            self.tables[:, kernels.SHIFT_BY] = 63
            self.tables[: len(old)] = old

    def grow(self, used: int, needed: int) -> None:
        """Room for at least `needed` pairs."""
        if needed > 1 << 30:
            raise InputError("more than 2^30 (query, item) pairs: judge fewer queries at a time")
        room = len(self.query)
        while room < needed:
            room *= 2
        if room == len(self.query):
            return
        self.query = _longer(self.query, used, room)
        self.item = _longer(self.item, used, room)
        self.place = _longer(self.place, used, room)
        self.tally.grow(room)

    def largest(self) -> int:
        """How many pairs a query has at most."""
        return int(self.tables[:, kernels.TAKEN].max(initial=0))

    def by_query(self) -> tuple[Codes, NDArray[np.int32]]:
        """Where the pairs of each query begin, and these by their places."""
        used = int(self.tables[:, kernels.TAKEN].sum()) if len(self.tables) else len(self.query)
        known = self._by_query
        if known is None or len(known[1]) != used:
            query = self.query[:used]
            sizes = np.bincount(query)
            begins = np.cumsum(sizes) - sizes
            listed = np.empty(used, dtype=np.int32)
            listed[begins[query] + self.place[:used]] = np.arange(used, dtype=np.int32)
            known = self._by_query = begins, listed
        return known

    def widen(self, used: int, longest: int) -> None:
        """Slots for one more table, of a query whose list is so long or that has outgrown its own."""
        needed = used + 4 * max(longest, int(self.tables[:, kernels.TAKEN].max(initial=0)) + 1)
        if needed > len(self.slots):
            self.slots = _longer(self.slots, used, max(2 * len(self.slots), needed))


class GroupTable:
    """(query, ranking) → group, with its sums; emptied into a spill when it is full."""

    def __init__(self, positions: int, room: int) -> None:
        self.room = 1 << max(int(room).bit_length() - 1, 4)  # a power of two
        self.positions = positions
        self.clear()

    def clear(self) -> None:
        self._allocate(min(4096, self.room))

    def _allocate(self, size: int) -> None:
        self.slots = np.zeros(2 * 2 * size, dtype=np.int64)
        self.query = np.zeros(size, dtype=np.int64)
        self.rows = np.zeros((size, self.positions), dtype=np.int32)  # a new group fills its own
        self.sums = np.zeros((size, 3))
        self.propensity = np.zeros(size)

    def _columns(self) -> list[NDArray[Any]]:
        return [self.query, self.rows, self.sums, self.propensity]

    def grow(self, used: int) -> bool:
        """More room, up to four times; False where the limit is reached and the groups must go elsewhere."""
        size = len(self.query)
        if size * 2 > self.room:
            return False
        slots, old = self.slots, self._columns()
        self._allocate(size * 4 if size * 4 <= self.room else size * 2)
        kernels.rehash(slots, self.slots, SECRET)
        for new, was in zip(self._columns(), old, strict=True):
            new[:used] = was[:used]
        return True

    def widen(self, positions: int) -> None:
        if positions > self.positions:
            extra = positions - self.positions
            self.rows = np.pad(self.rows, ((0, 0), (0, extra)), constant_values=-1)
            self.positions = positions


def _longer(array: Any, used: int, room: int) -> Any:
    out = np.zeros((room, *array.shape[1:]), dtype=array.dtype)
    out[:used] = array[:used]
    return out
