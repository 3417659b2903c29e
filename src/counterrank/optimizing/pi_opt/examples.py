"""What PI-OPT learns from: φ̂ of each (query, item, position), with the item's features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.pairs import Table, sum_by

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Examples:
    """One regression example per (query, item, position) of positive weight.

    The items of query q are rows starts[q]:starts[q+1]. A weight of 0 marks what the log does not show, or an item
    without features. The weight of an example is the number of impressions that show the item there: φ̂'s variance is
    about in inverse proportion to it. Under uniform logging of as many items in every query these are the weights of
    swaminathan2017, which counts every example of an impression alike.
    """

    starts: Codes  # (Q+1,)
    features: Matrix  # (P, F)
    phi: Table  # (P, K)
    weight: Table  # (P, K)
    fold: Codes  # (Q,) queries are in disjoint folds

    @property
    def queries(self) -> Codes:
        """(P,)"""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @property
    def folds(self) -> Codes:
        """The folds that have anything to learn from."""
        return np.unique(self.fold[self.queries[self.weight.any(axis=1)]])

    @property
    def bare(self) -> NDArray[np.bool_]:
        """(Q,) which queries have no example."""
        return np.asarray(~(self.sums(self.weight) > 0).any(axis=1))

    def means(self, table: Table) -> Table:
        """(Q, K): the weighted mean of each query and position, 0 where it has no example."""
        total = self.sums(self.weight)
        return np.divide(self.sums(self.weight * table), total, out=np.zeros_like(total), where=total > 0)

    def centred(self, table: Table) -> Table:
        """Less those means: what a query's items share at a position does not matter to their order."""
        return table - self.means(table)[self.queries]

    def sums(self, table: Table) -> Table:
        """(Q, K): the sum over each query's items."""
        queries, size = self.queries, len(self.starts) - 1
        return np.stack([sum_by(queries, column, size) for column in table.T], axis=1)
