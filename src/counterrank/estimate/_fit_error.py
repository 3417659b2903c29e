"""The noise of a linear regression in the direct method's value: how far each impression moves it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from counterrank.estimate._page_features import PageFeatures
from counterrank.estimate.base import Evidence, Vector
from counterrank.ids import Codes
from counterrank.statistics.rankings import Rankings


def second_moment(
    evidence: Evidence, page: PageFeatures, fold: Codes, models: Mapping[int, Any], expected: Vector,
    chunks: Iterable[Rankings],
) -> float:  # fmt: skip
    """Σψ² of the mean over impressions of what linear models, one per fold of queries, expect of the target.

    An impression moves the models of the other folds by its residual, and adds what its own query is worth.
    """
    counts = evidence.counts
    means = page.expected(evidence)  # (Q, width), summed over impressions
    size = np.bincount(fold, counts.impressions)
    several = len(models) > 1
    worth = expected - evidence.mean(expected)
    square = 0.0
    for chunk in chunks:
        for block in page.blocks(chunk.rows):
            x, queries = page.of(chunk.rows[block]), chunk.queries[block]
            by, less = np.zeros(len(x)), -worth[queries]
            for number, model in models.items():
                at = model.inverse @ (means[fold == number].sum(axis=0) / size[number] - model.mean)
                share = np.where((fold[queries] == number) & several, 0.0, size[number] / model.weight)
                moves = share * (1 + (x - model.mean) @ at)
                by += moves
                less += moves * model.predict(x) + share * (at @ model.pull)
            n, f, f2 = chunk.impressions[block], chunk.reward[block], chunk.reward2[block]
            square += float((by**2 * f2 - 2 * by * less * f + less**2 * n).sum())
    return max(square, 0.0)
