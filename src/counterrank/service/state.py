"""What a worker knows: counts and beliefs of pairs, and features of items. Plain arrays and one dict per query.

A row holds what is known of one (query, item), or of an item without counts of its own: row 0 is an item of which
nothing is known. Exposure is counted in whole parts, so that workers which met the same events in another order agree
to the last bit.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.service.events import Change, Evidence
from counterrank.service.prior import Prior
from counterrank.service.scoring import UNIT, tally

Features = Mapping[str, float]
_EMPTY: dict[str, int] = {}
MOST = 1 << 62  # of what one click counts, where hardly anybody looks


class State:
    """Evidence and beliefs of a worker. `as_of`: all events up to this one are in it."""

    def __init__(self, curve: Sequence[float], prior: Prior | None = None) -> None:
        self.looks = np.array([round(each * UNIT) for each in curve], dtype=np.int64)
        self.weights = np.array([min(round(UNIT / each), MOST) for each in curve], dtype=np.int64)
        self.prior = prior or Prior()
        self.as_of = self.generation = self.loaded = 0  # `loaded`: up to here from the store, later ones as they come
        self.queries: dict[str, dict[str, int]] = {}  # query → item → row
        self.items: dict[str, int] = {}  # items with features for any query → row
        self.names: dict[str, int] = {}  # features → column
        self.counts = np.zeros((64, 4), dtype=np.int64)
        self.belief = np.zeros((64, 2))
        self.source = np.full(64, -1, dtype=np.int64)  # the row of features that a row's belief comes from
        self.owner: list[str] = [""]  # the item of each row
        self.asked: list[str | None] = [None]  # and its query
        self.features = np.zeros((0, 0))
        self._rows_of_features: dict[tuple[str | None, str], int] = {}
        self._put: dict[tuple[str | None, str], Features] = {}  # features as they came
        self._queries_of: dict[str, set[str]] = {}  # of items with features for some queries
        self._bare: dict[str, list[int]] = {}  # rows of pairs whose item has no features yet
        self._ahead: set[int] = set()  # events that are in it, beyond `as_of`
        self.belief[0] = self.prior.plain

    def __len__(self) -> int:
        return len(self.owner)

    def rows(self, query: str, items: Sequence[str]) -> NDArray[np.int64]:
        """The row of each item under this query."""
        pair, plain = self.queries.get(query, _EMPTY).get, self.items.get
        return _packed([pair(item) or plain(item, 0) for item in items])

    def load(self, evidence: Evidence) -> None:
        """The counts of a store, in place of what was known."""
        self.queries, self.items, self._bare = {}, {}, {}
        self.owner, self.asked = [""], [None]
        for query, item in self._rows_of_features:
            self._catalogued(item, query)
        rows = [
            self.queries.get(query, _EMPTY).get(item) or self._pair(query, item)
            for query, item in zip(evidence.query, evidence.item, strict=True)
        ]
        cells = np.array([evidence.position, evidence.shown, evidence.clicked], dtype=np.int64)
        tally(self.counts, np.array(rows, dtype=np.int64), cells, self.looks, self.weights)
        self.as_of, self.generation = evidence.as_of, evidence.generation
        self._ahead.clear()
        self.believe(self.prior)

    def apply(self, changes: Iterable[Change]) -> None:
        """Count what events changed, all at once."""
        rows: list[int] = []
        positions: list[int] = []
        shown: list[int] = []
        clicked: list[int] = []
        for change in changes:
            pair, query = self.queries.get(change.query, _EMPTY).get, change.query
            rows += [pair(item) or self._pair(query, item) for item in change.items]  # a page has an item once
            positions += change.positions
            shown += change.shown
            clicked += change.clicked
        if rows:
            cells = _packed(positions + shown + clicked).reshape(3, -1)
            tally(self.counts, _packed(rows), cells, self.looks, self.weights)

    def has(self, sequence: int) -> None:
        """This event of our own is in: `as_of` moves on once all before it are in too."""
        if sequence == self.as_of + 1:
            self.as_of = sequence
            while self._ahead and self.as_of + 1 in self._ahead:
                self.as_of += 1
                self._ahead.discard(self.as_of)
        elif sequence > self.as_of:
            self._ahead.add(sequence)

    def reached(self, sequence: int) -> None:
        """All events up to this one are in."""
        if sequence > self.as_of:
            self.as_of = sequence
            self._ahead = {each for each in self._ahead if each > sequence}
            if sequence + 1 in self._ahead:
                self._ahead.discard(sequence + 1)
                self.has(sequence + 1)

    def _pair(self, query: str, item: str) -> int:
        """A new row for a pair, which begins with what is known of the item."""
        row = self._row(item, query)
        self.queries.setdefault(query, {})[item] = row
        source = self._rows_of_features.get((None, item), -1)
        self.source[row] = source
        self.belief[row] = self.belief[self.items.get(item, 0)]
        if source < 0:
            self._bare.setdefault(item, []).append(row)
        return row

    def _row(self, item: str, query: str | None) -> int:
        row = len(self.owner)
        self.owner.append(item)
        self.asked.append(query)
        if row == len(self.counts):
            self.counts, self.belief = _doubled(self.counts), _doubled(self.belief)
            self.source = _doubled(self.source)
        self.source[row] = -1
        self.counts[row] = 0
        return row

    # features and what they make one believe

    def put(self, items: Iterable[tuple[str, str | None, Features]]) -> None:
        """Features of items, or of items under a query, which win over those of the item."""
        whole = set()
        changed = []
        for item, query, features in items:
            self._put[query, item] = dict(features)
            changed.append(self._feature_row(item, query))
            self._catalogued(item, query)
            if query is None:
                whole.add(item)
                changed += [self._feature_row(item, each) for each in self._queries_of.get(item, ())]
            else:
                self._queries_of.setdefault(item, set()).add(query)
        for item in whole:  # pairs that were counted before their item had features
            for row in self._bare.pop(item, ()):
                if self.source[row] < 0:
                    self.source[row] = self._rows_of_features[None, item]
        if changed:
            self._believe_rows(np.array(sorted(set(changed))))

    def _catalogued(self, item: str, query: str | None) -> None:
        """A row for an item or a pair with features."""
        source = self._rows_of_features[query, item]
        if query is None:
            row = self.items.get(item)
            row = self.items[item] = self._row(item, None) if row is None else row
        else:
            found = self.queries.get(query, _EMPTY).get(item)
            row = self._pair(query, item) if found is None else found
        self.source[row] = source

    def _feature_row(self, item: str, query: str | None) -> int:
        """The row of features of a pair, which has those of the item too where it has no others; or of the item."""
        features = self._put[query, item]
        if query is not None:
            features = {**self._put.get((None, item), {}), **features}
        for name in features:
            if name not in self.names:
                self.names[name] = len(self.names)
        row = self._rows_of_features.setdefault((query, item), len(self._rows_of_features))
        if row >= len(self.features) or len(self.names) > self.features.shape[1]:
            wider = np.full((max(len(self.features), _room(row + 1)), max(len(self.names), 1)), np.nan)
            wider[: len(self.features), : self.features.shape[1]] = self.features
            self.features = wider
        self.features[row] = np.nan
        for name, value in features.items():
            self.features[row, self.names[name]] = value
        return row

    def features_of(self, query: str, item: str) -> dict[str, float] | None:
        """What is registered for this pair, or for the item."""
        row = self._rows_of_features.get((query, item), self._rows_of_features.get((None, item)))
        if row is None:
            return None
        values = self.features[row].tolist()
        return {name: values[at] for name, at in self.names.items() if values[at] == values[at]}

    def matrix(self, query: str, items: Sequence[str], own: Sequence[Features | None], names: Sequence[str]) -> Any:
        """(M, F) these features of candidates, those of the request first; NaN where missing."""
        out = np.full((len(items), len(names)), np.nan)
        at = [self.names.get(name, -1) for name in names]
        known = [column for column in at if column >= 0]
        into = [i for i, column in enumerate(at) if column >= 0]
        find = self._rows_of_features.get
        for i, (item, given) in enumerate(zip(items, own, strict=True)):
            if given is not None:
                out[i] = [given.get(name, np.nan) for name in names]
            elif known and (row := find((query, item), find((None, item)))) is not None:
                out[i, into] = self.features[row, known]
        return out

    def believe(self, prior: Prior) -> None:
        """What another prior says of every row. All at once: no request sees half of it."""
        believed = prior.beliefs(self.features, list(self.names))
        belief = np.empty_like(self.belief)
        belief[:] = prior.plain
        there = self.source >= 0
        belief[there] = believed[self.source[there]]
        self.prior, self.belief = prior, belief

    def _believe_rows(self, changed: NDArray[np.int64]) -> None:
        believed = np.zeros((len(self.features), 2))
        believed[changed] = self.prior.beliefs(self.features[changed], list(self.names))
        touched = np.isin(self.source, changed)
        self.belief[touched] = believed[self.source[touched]]


def _packed(numbers: Sequence[int]) -> NDArray[np.int64]:
    """Whole numbers as an array, in a fraction of the time that NumPy takes to look at each."""
    return np.frombuffer(bytearray(struct.pack(f"{len(numbers)}q", *numbers)), dtype=np.int64)


def _room(rows: int) -> int:
    return max(64, 1 << (rows - 1).bit_length())


def _doubled(array: NDArray[Any]) -> NDArray[Any]:
    out = np.zeros((2 * len(array), *array.shape[1:]), dtype=array.dtype)
    out[: len(array)] = array
    return out
