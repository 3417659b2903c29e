"""What ranking bandits know: queries with their items, what was shown and clicked, and the pages of this moment."""

from __future__ import annotations

from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.records import dataclass

Vector = NDArray[np.float64]


@dataclass(kw_only=True)
class State:
    """Evidence by (query, item) pair; pairs of query q are starts[q]:starts[q+1].

    first: (P,) the position, from 0, of each item in the ranking that was served before anything was learnt. It is also
    where `positions` begin, which from then on are those of each query's latest page.
    """

    starts: Codes  # (Q+1,)
    first: Codes  # (P,)
    examination: Vector  # (K,) the chance that position k is looked at
    clicks: Codes = field(init=False)  # (P,)
    exposure: Vector = field(init=False)  # (P,) the examination of all positions it was shown at, summed
    impressions: Codes = field(init=False)  # (Q,)
    asked: Codes = field(init=False)  # (A,) the queries that are asked now, each once
    positions: Codes = field(init=False)  # (P,) from 0
    clicked: NDArray[np.bool_] = field(init=False)  # (P,) on the pages of `asked`
    memory: dict[str, Vector] = field(default_factory=dict)  # (P,) what a bandit keeps beside the evidence, by its name

    def __post_init__(self) -> None:
        pairs, queries = len(self.first), len(self.starts) - 1
        self.clicks, self.exposure = np.zeros(pairs, dtype=np.int64), np.zeros(pairs)
        self.impressions, self.asked = np.zeros(queries, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self.positions, self.clicked = self.first.astype(np.int64), np.zeros(pairs, dtype=bool)

    def of(self, name: str) -> Vector:
        """(P,) what the bandit of this name keeps; zeros at first."""
        return self.memory.setdefault(name, np.zeros(len(self.first)))

    def rows(self) -> Codes:
        """The pairs of the queries that are asked."""
        sizes = np.diff(self.starts)[self.asked]
        ends = np.cumsum(sizes)
        return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes - self.starts[self.asked], sizes)

    def see(self, rows: Codes, clicked: NDArray[np.bool_]) -> None:
        """The clicks on the pages that were asked: `clicked` of the pairs `rows`."""
        self.clicked[rows] = clicked
        self.clicks[rows] += clicked
        self.exposure[rows] += self.examination[self.positions[rows]]
        self.impressions[self.asked] += 1
