"""The features of a page: those of its slots, side by side."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from counterrank.errors import InputError, Unanswerable
from counterrank.estimate.base import Vector
from counterrank.ids import Codes
from counterrank.setting.evidence import Evidence, LogEvidence
from counterrank.statistics.pairs import Table

ENTRIES = 4 << 20  # numbers of a block of rows: 32 MB


class PageFeatures:
    """x(q, s) = f(q, s₁) … f(q, s_K): zeros beyond a ranking's end, and a 1 for each filled slot that may be empty.

    An item without features has the mean of each column over the pairs that the log shows.
    """

    def __init__(self, evidence: LogEvidence) -> None:
        if evidence.features is None or evidence.featureless is None:
            raise InputError("the features were not read")
        counts = evidence.counts
        table, gone = evidence.features, evidence.featureless
        shown = counts.cells.by_pair(counts.shown)
        known = (shown > 0) & ~gone
        if not known.any():
            raise Unanswerable(
                "none of the log's items has features: their (query, item) rows must name the log's queries and items"
            )
        filled = np.where(gone[:, None], table[known].mean(axis=0), table)
        self.values: Table = np.concatenate([filled, np.zeros((1, filled.shape[1]))])  # the row of -1 is the last
        self.positions = counts.pairs.positions
        self.may_be_empty: Codes = np.flatnonzero(counts.cells.by_position(counts.shown) < counts.total)
        self.width = self.values.shape[1] * self.positions + len(self.may_be_empty)
        self._gone, self._shown = gone, shown

    def of(self, rankings: Codes) -> Table:
        """(G, width), rankings being (G, K) rows of the run's pairs, -1 beyond the end."""
        x = self.values[rankings].reshape(len(rankings), -1)
        return np.concatenate([x, rankings[:, self.may_be_empty] >= 0], axis=1)

    def expected(self, evidence: Evidence) -> Table:
        """(Q, width): the features of the target's pages, summed over each query's impressions."""
        counts, pairs = evidence.counts, evidence.counts.pairs
        out, features = np.empty((len(counts.impressions), self.width)), self.values.shape[1]
        for first, last in pairs.blocks(ENTRIES // max(features, 1)):
            mine = slice(int(pairs.starts[first]), int(pairs.starts[last]))
            if evidence.same:
                shown = counts.cells.dense(counts.shown, mine.start, mine.stop).astype(np.float64)
            else:
                often = np.repeat(counts.impressions[first:last], pairs.sizes[first:last])
                shown = evidence.target.part(first, last) * often[:, None]
            starts = pairs.starts[first:last] - mine.start
            slots = (shown[:, :, None] * self.values[mine][:, None]).reshape(len(shown), -1)
            every = np.concatenate([slots, shown[:, self.may_be_empty]], axis=1)
            out[first:last] = np.add.reduceat(every, starts, axis=0)
        return out

    def blocks(self, rankings: Codes) -> Iterator[slice]:
        """Parts of these rankings whose features fit into memory."""
        step = max(ENTRIES // self.width, 1)
        for start in range(0, len(rankings), step):
            yield slice(start, start + step)

    def worth(self, coefficients: Vector) -> Table:
        """(P, K): what a pair at a position adds to a linear prediction."""
        features = self.values.shape[1]
        slots = coefficients[: features * self.positions].reshape(self.positions, features)
        worth = self.values[:-1] @ slots.T
        worth[:, self.may_be_empty] += coefficients[features * self.positions :]
        return np.asarray(worth)

    def without(self, evidence: Evidence) -> tuple[float, list[str]]:
        """The share of what the target shows that has no features, averaged over impressions, and words for it."""
        of_log = float(self._shown[self._gone].sum() / self._shown.sum())
        mass = evidence.target.exposure(np.ones(self.positions))
        whole = evidence.per_query(mass)
        lost = np.divide(evidence.per_query(mass * self._gone), whole, out=np.zeros_like(whole), where=whole > 0)
        of_target = evidence.mean(lost)
        if of_log == 0 and of_target == 0:
            return 0.0, []
        return of_target, [
            f"{of_log:.1%} of the items that the log shows and {of_target:.1%} of those that the target shows have no "
            "features: each column's mean stands in"
        ]
