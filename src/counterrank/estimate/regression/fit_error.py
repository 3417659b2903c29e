"""The noise of a linear regression in the direct method's value: how far each impression moves it."""

from __future__ import annotations

import numpy as np

from counterrank.estimate.base import Vector
from counterrank.estimate.influence import Influence, Moved
from counterrank.estimate.regression.regression import Regression
from counterrank.setting.evidence import Evidence
from counterrank.statistics.rankings import Rankings


def influence_of_fit(evidence: Evidence, fit: Regression, expected: Vector) -> Influence:
    """On the mean over impressions of what linear models, one per fold of queries, expect of the target.

    An impression moves the models of the other folds by its residual, and adds what its own query is worth.
    """
    counts, page, fold, models = evidence.counts, fit.page, fit.fold, fit.models
    means = page.expected(evidence)  # (Q, width), summed over impressions
    size = np.bincount(fold, counts.impressions)
    several = len(models) > 1
    worth = expected - evidence.mean(expected)
    direction = {
        number: model.inverse @ (means[fold == number].sum(axis=0) / size[number] - model.mean)
        for number, model in models.items()
    }

    def moved(chunk: Rankings) -> Moved:
        by, less = np.zeros((2, len(chunk)))
        for block in page.blocks(chunk.rows):
            x, of = page.of(chunk.rows[block]), fold[chunk.queries[block]]
            for number, model in models.items():
                at = direction[number]
                share = np.where((of == number) & several, 0.0, size[number] / model.weight)
                moves = share * (1 + (x - model.mean) @ at)
                by[block] += moves
                less[block] += moves * model.predict(x) + share * (at @ model.pull)
        none = np.zeros(len(chunk))
        term = expected[chunk.queries] + counts.origin - by * chunk.reward / chunk.impressions
        return Moved(by, worth[chunk.queries] - less, none, none + 1, none > 0, term)

    return moved
