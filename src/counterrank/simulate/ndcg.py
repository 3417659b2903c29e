"""How good rankings are by their labels: NDCG without a cut-off, ties and all."""

from __future__ import annotations

import numpy as np

from counterrank.learning.gate import tied_weights
from counterrank.simulate.labelled import Labelled, Vector
from counterrank.statistics.pairs import sum_by


def dcg_weights(positions: int) -> Vector:
    """λ at positions 1 to K: 1 / log2(1 + k), genspec2021's eq. 3.

    >>> dcg_weights(3).round(3).tolist()
    [1.0, 0.631, 0.5]
    """
    return np.asarray(1 / np.log2(np.arange(2, positions + 2)))


class Ndcg:
    """Mean NDCG over the queries of a data set, with linear gains, the label itself.

    A ranking is given by the position weight of each document: Σₖ λₖ·P(document at k), so that ties count as the mean
    over all ways to break them (`tied_weights`). Queries without a relevant document are left out: whatever is ranked,
    they have no NDCG.

    >>> labels = np.array([0.0, 2.0])
    >>> data = Labelled(ids=["q"], starts=np.array([0, 2]), features=np.zeros((2, 0)), names=[], labels=labels)
    >>> measure = Ndcg(data)
    >>> measure(dcg_weights(2)[::-1]), round(measure(np.full(2, dcg_weights(2).mean())), 4)
    (1.0, 0.8155)
    """

    def __init__(self, data: Labelled) -> None:
        self.data = data
        self.weights = dcg_weights(max(data.longest, 1))
        self._ideal = self._dcg(tied_weights(data.starts, data.labels, self.weights))
        self.counted = self._ideal > 0

    def _dcg(self, weight: Vector) -> Vector:
        return sum_by(self.data.queries, self.data.labels * weight, len(self.data))

    def per_query(self, weight: Vector) -> Vector:
        """(Q,), NaN for queries without a relevant document."""
        out = np.full(len(self.data), np.nan)
        out[self.counted] = self._dcg(weight)[self.counted] / self._ideal[self.counted]
        return out

    def __call__(self, weight: Vector) -> float:
        return float((self._dcg(weight)[self.counted] / self._ideal[self.counted]).mean())

    def of_scores(self, scores: Vector) -> float:
        """Of documents sorted by score."""
        return self(tied_weights(self.data.starts, scores, self.weights))
