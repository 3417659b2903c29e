"""The logging ranker of a semi-synthetic world: a linear model that saw the labels of few queries."""

from __future__ import annotations

import math

import numpy as np

from counterrank.ids import Codes
from counterrank.learning.examples import Examples
from counterrank.learning.models import MODELS, Fitted
from counterrank.simulate.labelled import Labelled, Vector
from counterrank.simulate.ndcg import dcg_weights

SHARE = 0.01  # of the training queries


def labels_of(data: Labelled) -> Examples:
    """Labels in the place of debiased clicks, one impression a query: what a supervised model learns from."""
    return Examples(
        starts=data.starts,
        features=data.features,
        names=data.names,
        worth=data.labels,
        clicks=data.labels,
        shown=np.ones(len(data.labels)),
        impressions=np.ones(len(data)),
    )


def train_logger(data: Labelled, seed: int, share: float = SHARE) -> Fitted:
    """A linear model trained on the labels of a share of the queries, at least one, drawn at random.

    They are drawn among queries with labels of more than one kind: from others there is nothing to learn, and with one
    percent of a small data set such a query might be all there is.
    """
    rng = np.random.default_rng(seed)
    low, high = (each.reduceat(data.labels, data.starts[:-1]) for each in (np.minimum, np.maximum))
    useful = np.flatnonzero(high > low)
    count = min(max(1, math.floor(share * len(data))), len(useful))
    chosen = np.sort(rng.choice(useful, count, replace=False))
    return MODELS["linear"].fit(labels_of(data.some(chosen)), None, weights=dcg_weights(data.longest), seed=seed)


def logged_ranks(
    data: Labelled, scores: Vector, rng: np.random.Generator, rankings: int = 1, temperature: float = 0.0
) -> Codes:
    """(L, P) ranks from 0: of one ranking by score, ties broken at random; or of several drawn around it.

    With a temperature above 0 each ranking is a Plackett–Luce draw from scores / temperature.

    >>> data = Labelled(ids=["q"], starts=np.array([0, 3]), features=np.zeros((3, 0)), names=[], labels=np.zeros(3))
    >>> logged_ranks(data, np.array([0.1, 0.3, 0.2]), np.random.default_rng(0)).tolist()
    [[2, 0, 1]]
    """
    out = np.empty((rankings, len(scores)), dtype=np.int64)
    for ranks in out:
        shaken = scores / temperature + rng.gumbel(size=len(scores)) if temperature > 0 else scores
        order = np.lexsort((rng.random(len(scores)), -shaken, data.queries))
        ranks[order] = np.arange(len(scores)) - data.starts[data.queries]
    return out
